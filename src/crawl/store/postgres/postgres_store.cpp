// SPDX-License-Identifier: MIT
// A node is a row with a time until which it is alive, by the clock of the database. A commit locks
// `ids`, and then its node's row, in which it counts the commits: a node that is gone changes
// nothing, and a commit that is repeated, since its answer was lost, is not made twice. A poll
// removes nodes whose time is over, and their hosts are free. It counts as well: a database that
// has forgotten commits or polls of the node, as a standby may have, is noticed.
//
// A host gets the number of the poll that gave it to the node, so that a poll that is repeated
// gives the same hosts again.

#include "crawl/store/postgres/pg_crawl_database.hpp"
#include "crawl/store/postgres/pg_crawl_reader.hpp"
#include "crawl/store/row_texts.hpp"

#include <weir/crawl/memory_store.hpp>
#include <weir/crawl/postgres_store.hpp>
#include <weir/crawl/shared_crawl.hpp>
#include <weir/error.hpp>
#include <weir/time.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace weir::crawl {

namespace {

using detail::pg_number;
using detail::pg_statement;

constexpr std::int64_t most_pages = std::int64_t{1} << 60;
constexpr std::int64_t hosts_at_once = 1000;
constexpr std::size_t urls_at_once = 10'000;

std::string machine_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "node";
}

template <class... Parameters>
pg_statement statement(std::string_view sql, Parameters&&... parameters) {
    pg_statement made;
    made.sql = sql;
    made.parameters = detail::pg_parameters(std::forward<Parameters>(parameters)...);
    return made;
}

// Nodes that look for hosts share those with work equally.
constexpr std::string_view share_of_hosts =
    "SELECT ceil((SELECT count(*) FROM @hosts WHERE pending > 0)::numeric / greatest(1, (SELECT "
    "count(*) FROM @nodes WHERE wants_hosts)))::bigint - (SELECT count(*) FROM @hosts WHERE node = "
    "$1 AND pending > 0)";

class postgres_store final : public store, public shared_crawl {
public:
    explicit postgres_store(postgres_store_options options)
        : options_(std::move(options)), database_(options_) {
        if (options_.node.empty()) {
            options_.node = machine_name();
        }
    }

    task<> prepare();

    task<saved_crawl> open(std::string identity, bool accept_changes) override;
    task<saved_crawl> peek() override { return reader_.saved(options_.node); }
    task<> each_url(std::function<void(const known_url&)> visit) override {
        return reader_.each_url(std::move(visit));
    }
    task<> commit(const commit_batch& batch) override;
    task<std::vector<url_row>> pending(pending_query query) override {
        return reader_.pending(query);
    }
    task<std::vector<url_row>> pending_between(url_id first, url_id last) override {
        return reader_.pending_between(first, last);
    }
    task<hash_seed> seed() override { return reader_.seed(); }
    task<std::optional<page_record>> find(std::string url) override {
        return reader_.find(std::move(url));
    }
    task<std::optional<retry_row>> retry_of(url_id id) override { return reader_.retry_of(id); }
    task<> each_page(std::function<bool(const page_record&)> visit) override {
        return reader_.each_page(std::move(visit));
    }
    task<> each_link(std::function<bool(const link_row&)> visit) override {
        return reader_.each_link(std::move(visit));
    }
    task<> each_anchors(std::function<bool(url_id, const std::string&)> visit) override {
        return reader_.each_anchors(std::move(visit));
    }
    task<std::uint64_t> retry_failed() override;
    task<> close() override;
    shared_crawl* shared() noexcept override { return this; }

    task<saved_crawl> join(join_request request) override;
    task<poll_answer> poll(poll_request request) override;
    task<> leave() override;

private:
    // The node that writes one of the outputs; empty if the node has joined.
    task<std::string> try_join(pg::transaction& inside, const join_request& request);
    task<> check_identity_in(pg::transaction& inside, const join_request& request);
    std::vector<pg_statement> poll_statements(const poll_request& request) const;
    std::int64_t lease_time() const noexcept {
        return std::chrono::duration_cast<std::chrono::microseconds>(options_.lease).count();
    }
    [[noreturn]] void throw_lease_lost();

    postgres_store_options options_;
    detail::pg_crawl_database database_;
    detail::pg_crawl_reader reader_{database_};
    std::int64_t node_ = 0;  // 0: has not joined
    std::int64_t commits_ = 0;
    std::int64_t polls_ = 0;
    std::int64_t max_pages_ = most_pages;
    std::uint64_t max_pages_per_host_ = 0;
    counters committed_;
};

task<> postgres_store::prepare() {
    const auto make = [this](pg::transaction& inside) -> task<> {
        return detail::prepare_tables(inside, database_.names(), !options_.read_only);
    };
    co_await database_.write_once(make);
}

void postgres_store::throw_lease_lost() {
    node_ = 0;
    throw lease_lost("the node '" + options_.node +
                     "' lost its lease: it did not reach the database for so long that the others "
                     "took it for dead, or the database has lost its last commits");
}

// ---- joining and leaving

task<> postgres_store::check_identity_in(pg::transaction& inside, const join_request& request) {
    const pg::rows found = co_await inside.query(
        database_.names().sql("SELECT value FROM @crawl WHERE name = 'identity'"));
    if (found.empty()) {
        const std::string seed = detail::seed_text(hash_seed::random());
        co_await inside.execute(
            database_.names().sql("INSERT INTO @crawl VALUES ('seed', $1), ('identity', $2)"), seed,
            request.identity);
        co_return;
    }
    if (!request.accept_changes) {
        check_identity(found[0].get<std::string>(0), request.identity);
    }
    co_await inside.execute(
        database_.names().sql("UPDATE @crawl SET value = $1 WHERE name = 'identity'"),
        request.identity);
}

task<std::string> postgres_store::try_join(pg::transaction& inside, const join_request& request) {
    const detail::pg_names& names = database_.names();
    co_await database_.lock(inside);
    co_await check_identity_in(inside, request);
    const pg::rows writers = co_await inside.query(
        names.sql("SELECT o.name FROM @outputs o JOIN @nodes n ON n.id = o.writer WHERE o.node = "
                  "$1 AND o.name = ANY($2::text[]) AND o.name NOT LIKE '%:-' AND n.alive_until > "
                  "clock_timestamp()"),
        options_.node, request.outputs);
    if (!writers.empty()) {
        co_return writers[0].get<std::string>(0);
    }
    const pg::rows made = co_await inside.query(
        names.sql("WITH next AS (UPDATE @ids SET last_node = last_node + 1 RETURNING last_node) "
                  "INSERT INTO @nodes SELECT last_node, $1, clock_timestamp() + $2 * interval '1 "
                  "microsecond', 0, 0, true FROM next RETURNING id"),
        options_.node, lease_time());
    node_ = made.one<std::int64_t>();
    co_await inside.execute(
        names.sql("INSERT INTO @outputs SELECT $1, name, '', $2 FROM unnest($3::text[]) AS name ON "
                  "CONFLICT (node, name) DO UPDATE SET writer = excluded.writer"),
        options_.node, node_, request.outputs);
    co_return std::string();
}

task<saved_crawl> postgres_store::join(join_request request) {
    co_await leave();
    const pg::rows before =
        co_await database_.read("SELECT count(*) FROM @crawl WHERE name = 'identity'");
    const clock::time_point until = now() + options_.lease + std::chrono::seconds(1);
    for (;;) {
        std::string writer;
        const auto attempt = [&](pg::transaction& inside) -> task<> {
            writer = co_await try_join(inside, request);
        };
        co_await database_.write(attempt);
        if (writer.empty()) {
            break;
        }
        if (now() >= until) {
            throw store_error("the output '" + writer + "' is written by a node '" + options_.node +
                              "' that is running: give this one another output, or another name "
                              "(--node)");
        }
        co_await sleep(std::chrono::milliseconds(100));
    }
    commits_ = 0;
    polls_ = 0;
    max_pages_ = static_cast<std::int64_t>(
        std::min<std::uint64_t>(request.max_pages, static_cast<std::uint64_t>(most_pages)));
    max_pages_per_host_ = request.max_pages_per_host;
    saved_crawl saved = co_await reader_.saved_without_hosts(options_.node);
    saved.is_new = before.one<std::int64_t>() == 0;
    committed_ = saved.totals;
    co_return saved;
}

task<> postgres_store::leave() {
    if (node_ == 0) {
        co_return;
    }
    const std::int64_t node = std::exchange(node_, 0);
    const auto go = [&](pg::transaction& inside) -> task<> {
        co_await database_.lock(inside);
        std::vector<pg_statement> steps;
        steps.push_back(statement("UPDATE @hosts SET node = 0 WHERE node = $1", node));
        steps.push_back(statement("DELETE FROM @nodes WHERE id = $1", node));
        co_await database_.run_all(inside, std::move(steps));
    };
    co_await database_.write(go);
}

task<saved_crawl> postgres_store::open(std::string identity, bool accept_changes) {
    join_request request;
    request.identity = std::move(identity);
    request.accept_changes = accept_changes;
    request.max_pages = request.max_pages_per_host = std::numeric_limits<std::uint64_t>::max();
    saved_crawl saved = co_await join(std::move(request));
    const bool is_new = saved.is_new;
    saved = co_await peek();
    saved.is_new = is_new;
    co_return saved;
}

// ---- the run

task<> postgres_store::commit(const commit_batch& batch) {
    if (node_ == 0) {
        throw lease_lost("the node '" + options_.node + "' has not joined the crawl");
    }
    const std::int64_t number = commits_ + 1;
    bool is_lost = false;
    const auto write = [&](pg::transaction& inside) -> task<> {
        co_await database_.lock(inside);
        const pg::rows fence = co_await inside.query(
            database_.names().sql("UPDATE @nodes SET commits = $2, alive_until = clock_timestamp() "
                                  "+ $3 * interval '1 microsecond' WHERE id = $1 AND commits >= "
                                  "$2 - 1 RETURNING (SELECT commits FROM @nodes o WHERE o.id = "
                                  "$1)"),
            node_, number, lease_time());
        is_lost = fence.empty();
        if (is_lost || fence.one<std::int64_t>() == number) {
            co_return;  // nothing is changed; or it was made already, and the answer was lost
        }
        std::vector<pg_statement> steps = detail::statements_of(batch, node_, max_pages_per_host_);
        steps.push_back(detail::statement_of_counters(committed_, batch.totals));
        if (!batch.positions.empty()) {
            steps.push_back(detail::statement_of_outputs(batch.positions, options_.node, node_));
        }
        co_await database_.run_all(inside, std::move(steps));
    };
    co_await database_.write(write);
    if (is_lost) {
        throw_lease_lost();
    }
    commits_ = number;
    committed_ = batch.totals;
}

std::vector<pg_statement> postgres_store::poll_statements(const poll_request& request) const {
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> times;
    for (const returned_host& each : request.returned) {
        ids.push_back(each.id);
        times.push_back(detail::pg_time(each.not_before));
    }
    std::vector<pg_statement> steps;
    steps.push_back(
        statement("WITH dead AS (DELETE FROM @nodes WHERE alive_until < clock_timestamp() "
                  "RETURNING id) UPDATE @hosts SET node = 0 WHERE node <> 0 AND node IN (SELECT id "
                  "FROM dead)"));
    steps.push_back(
        statement("UPDATE @hosts h SET node = 0, not_before = greatest(h.not_before, t.not_before) "
                  "FROM unnest($2::bigint[], $3::bigint[]) AS t(id, not_before) WHERE h.id = t.id "
                  "AND h.node = $1 AND h.got_in < $4",
                  node_, ids, times, polls_));
    steps.push_back(statement(
        "UPDATE @hosts SET node = $1, got_in = $2 WHERE id IN (SELECT id FROM @hosts WHERE node = "
        "0 AND pending > 0 AND NOT (id = ANY($3::bigint[])) ORDER BY id LIMIT (SELECT "
        "greatest(0, least($4::bigint, (" +
            std::string(share_of_hosts) + ")))))",
        node_, polls_, ids, request.wants_hosts ? hosts_at_once : 0));
    steps.push_back(statement("SELECT name, value FROM @counters"));
    steps.push_back(statement("SELECT last_id FROM @ids"));
    steps.push_back(statement(
        std::string(detail::pg_host_columns) + "WHERE node = $1 AND got_in = $2", node_, polls_));
    steps.push_back(statement(
        std::string(detail::pg_url_columns) +
            "JOIN @hosts h ON h.id = p.host WHERE p.id > $2 AND p.id <= $3 + (SELECT value FROM "
            "@counters WHERE name = 'unrequested') AND h.node = $1 AND h.got_in < $4 ORDER BY p.id "
            "LIMIT $5",
        node_, pg_number(request.after), max_pages_, polls_, urls_at_once));
    steps.push_back(statement("SELECT greatest(0, -(" + std::string(share_of_hosts) + "))", node_));
    return steps;
}

task<poll_answer> postgres_store::poll(poll_request request) {
    if (node_ == 0) {
        throw lease_lost("the node '" + options_.node + "' has not joined the crawl");
    }
    ++polls_;
    const std::int64_t commits = commits_;
    bool is_lost = false;
    std::vector<pg::rows> found;
    const auto ask = [&](pg::transaction& inside) -> task<> {
        co_await database_.lock(inside);
        const std::uint64_t renewed = co_await inside.execute(
            database_.names().sql("UPDATE @nodes SET alive_until = clock_timestamp() + $2 * "
                                  "interval '1 microsecond', wants_hosts = $3, polls = $4 WHERE id "
                                  "= $1 AND polls >= $4 - 1 AND commits >= $5"),
            node_, lease_time(), request.wants_hosts, polls_, commits);
        is_lost = renewed == 0;
        if (!is_lost) {
            found = co_await database_.run_all(inside, poll_statements(request));
        }
    };
    co_await database_.write(ask);
    if (is_lost) {
        throw_lease_lost();
    }
    poll_answer answer;
    answer.totals = detail::pg_counters_of(found[3]);
    const auto last = found[4].one<std::int64_t>();
    const std::int64_t limit = max_pages_ + pg_number(answer.totals.unrequested);
    answer.admitted = static_cast<url_id>(std::min(last, limit));
    answer.is_over = answer.totals.settled() >= answer.admitted;
    for (const pg::row row : found[5]) {
        answer.got.push_back(detail::pg_host_of(row));
    }
    for (const pg::row row : found[6]) {
        answer.urls.push_back(detail::pg_url_of(row));
    }
    if (answer.urls.size() == urls_at_once) {
        answer.admitted = answer.urls.back().id;
        answer.is_over = false;
    }
    answer.surplus = found[7].one<std::size_t>();
    co_return answer;
}

task<std::uint64_t> postgres_store::retry_failed() {
    std::uint64_t count = 0;
    const auto reset = [&](pg::transaction& inside) -> task<> {
        co_await database_.lock(inside);
        const pg::rows running = co_await inside.query(
            database_.names().sql("SELECT name FROM @nodes WHERE id <> $1 AND alive_until > "
                                  "clock_timestamp() ORDER BY id LIMIT 1"),
            node_);
        if (!running.empty()) {
            throw store_error("the node '" + running[0].get<std::string>(0) +
                              "' works on the crawl: stop it first, or wait until its lease is "
                              "over");
        }
        std::vector<pg_statement> steps;
        steps.push_back(statement(
            "UPDATE @counters c SET value = c.value - t.n FROM (SELECT CASE state WHEN 'failed' "
            "THEN 'failed' ELSE 'skipped' END AS name, count(*) AS n FROM @pages WHERE state <> "
            "'done' GROUP BY 1 UNION ALL SELECT 'unrequested', count(*) FROM @pages p JOIN @urls u "
            "ON "
            "u.id = p.id WHERE p.state <> 'done' AND (p.attempts = 0 OR u.found_as = "
            "'sitemap_file')) t WHERE c.name = t.name"));
        steps.push_back(statement(
            "INSERT INTO @pending(id, host, priority) SELECT u.id, u.host, u.priority FROM @pages "
            "p JOIN @urls u ON u.id = p.id WHERE p.state <> 'done'"));
        steps.push_back(statement("DELETE FROM @pages WHERE state <> 'done'"));
        steps.push_back(
            statement("UPDATE @pending SET attempts = 0, due = 0, reason = '' WHERE attempts > 0"));
        steps.push_back(statement(
            "UPDATE @hosts h SET given_up = '', given_up_kind = 'none', failures = 0, trips = 0, "
            "robots_failures = 0, pending = (SELECT count(*) FROM @pending p WHERE p.host = "
            "h.id)"));
        const std::vector<pg::rows> done = co_await database_.run_all(inside, std::move(steps));
        count = done[2].affected();
    };
    co_await database_.write(reset);
    co_return count;
}

task<> postgres_store::close() {
    co_await leave();
    co_await database_.close();
}

}  // namespace

task<std::unique_ptr<store>> open_postgres_store(postgres_store_options options) {
    using namespace std::chrono_literals;
    if (options.lease < 1s || options.lease > 1h) {
        throw invalid_argument("postgres_store_options: lease must be from a second to an hour");
    }
    auto made = std::make_unique<postgres_store>(std::move(options));
    co_await made->prepare();
    co_return made;
}

bool is_postgres_url(std::string_view text) noexcept {
    return text.starts_with("postgres://") || text.starts_with("postgresql://");
}

}  // namespace weir::crawl
