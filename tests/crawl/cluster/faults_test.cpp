// SPDX-License-Identifier: MIT
// Nodes that die, nodes that are taken for dead, and a server that goes away: nothing is lost, and
// nothing is stored twice.

#include "cluster.hpp"

#include <weir/spawn.hpp>

#include <set>

namespace cluster_faults_test {

using namespace crawl_cluster_test;

constexpr int hosts = 5;
constexpr int pages = 40;

// A file in memory: what was flushed stays, and is cut to the position at the next start.
class kept_lines final : public sink {
public:
    std::string_view name() const noexcept override { return "lines"; }
    task<> open(std::string position) override {
        buffer_.clear();
        lines.resize(position.empty() ? 0 : std::stoul(position));
        co_return;
    }
    void write(const page& settled) override { buffer_.push_back(settled.url); }
    std::size_t buffered() const noexcept override { return buffer_.size(); }
    task<std::string> flush() override {
        const std::vector<std::string> taken = std::exchange(buffer_, {});
        lines.insert(lines.end(), taken.begin(), taken.end());
        co_return std::to_string(lines.size());
    }
    task<> close(bool) override { co_return; }

    std::vector<std::string> lines;

private:
    std::vector<std::string> buffer_;
};

task<> expect_complete(store& of) {
    const std::map<std::string, page_record> all = co_await pages_of(of);
    EXPECT_EQ(all.size(), std::size_t{hosts * pages});
    for (const auto& [url, each] : all) {
        EXPECT_EQ(each.state, page_state::done) << url;
    }
    const saved_crawl saved = co_await of.peek();
    EXPECT_EQ(saved.totals.done, std::uint64_t{hosts * pages});
    EXPECT_EQ(saved.totals.discovered, std::uint64_t{hosts * pages});
    EXPECT_EQ(saved.totals.pending(), 0u);
}

void expect_written_once(const std::vector<std::string>& lines, std::size_t count) {
    const std::set<std::string> written(lines.begin(), lines.end());
    EXPECT_EQ(written.size(), lines.size());
    EXPECT_EQ(lines.size(), count);
}

postgres_store_options short_lease(const std::string& schema, const std::string& name) {
    postgres_store_options options = node_options(schema, name);
    options.lease = 3s;
    return options;
}

// T13, T14 on several machines. The node that was killed is started again, and continues its
// output where that is acknowledged.
TEST(CrawlNodeFaults, T14_the_hosts_of_a_killed_node_are_continued_by_others) {
    simulated_web web;
    add_hosts(web, hosts, pages, 30ms);
    kept_lines first_lines;
    kept_lines second_lines;
    const auto body = [&]() -> task<> {
        const crawl_options options = cluster_options(hosts);
        const std::string schema = fresh_schema();
        auto first = co_await make_node(options, web, short_lease(schema, "first"));
        auto second = co_await make_node(options, web, short_lease(schema, "second"));
        first->work->add_sink(first_lines);
        second->work->add_sink(second_lines);
        auto dying = weir::spawn(first->work->run());
        auto running = weir::spawn(second->work->run());
        co_await weir::sleep(500ms);
        dying.cancel();  // as a kill: it gives nothing back
        co_await dying.wait();
        EXPECT_TRUE(dying.cancelled());
        first = co_await make_node(options, web, short_lease(schema, "first"));
        first->work->add_sink(first_lines);
        co_await first->work->run();
        co_await running;
        co_await expect_complete(*second->state);
        co_await first->state->close();
        co_await second->state->close();
    };
    weir::run(body());
    std::vector<std::string> lines = first_lines.lines;
    lines.insert(lines.end(), second_lines.lines.begin(), second_lines.lines.end());
    expect_written_once(lines, std::size_t{hosts * pages});
    int refetched = 0;
    for (const auto& [url, count] : web.counts()) {
        refetched += count - 1;
    }
    // In flight, and not yet committed, at the one kill.
    EXPECT_LE(refetched, hosts * 2 + 60);
}

// A node that hangs until the others took its hosts: all that it does then is refused.
TEST(CrawlNodeFaults, ANodePresumedDeadCannotChangeAnythingWhenItReturns) {
    const auto body = []() -> task<> {
        const std::string schema = fresh_schema();
        const auto hung = co_await open_postgres_store(short_lease(schema, "hung"));
        const auto other = co_await open_postgres_store(node_options(schema, "other"));
        join_request request;
        request.identity = "scope host\n";
        request.max_pages = request.max_pages_per_host = 1000;
        co_await hung->shared()->join(request);
        co_await other->shared()->join(request);
        commit_batch batch;
        batch.hosts.emplace_back().origin = "http://a";
        url_row& row = batch.urls.emplace_back();
        row.url = "http://a/";
        row.fingerprint = 7;
        co_await hung->commit(batch);
        poll_answer answer = co_await hung->shared()->poll({});
        EXPECT_EQ(answer.got.size(), 1u);
        answer = co_await other->shared()->poll({});
        EXPECT_TRUE(answer.got.empty());
        for (int i = 0; i < 400 && answer.got.empty(); ++i) {
            co_await weir::sleep(50ms);
            answer = co_await other->shared()->poll({});
        }
        EXPECT_EQ(answer.got.size(), 1u);
        batch = commit_batch();
        page_record& settled = batch.pages.emplace_back();
        settled.id = 1;
        settled.state = page_state::done;
        batch.totals.done = 1;
        bool is_refused = false;
        try {
            co_await hung->commit(batch);
        } catch (const lease_lost&) {
            is_refused = true;
        }
        EXPECT_TRUE(is_refused);
        is_refused = false;
        try {
            co_await hung->shared()->poll({});
        } catch (const lease_lost&) {
            is_refused = true;
        }
        EXPECT_TRUE(is_refused);
        saved_crawl saved = co_await other->peek();
        EXPECT_EQ(saved.totals.done, 0u);
        co_await other->commit(batch);
        saved = co_await other->peek();
        EXPECT_EQ(saved.totals.done, 1u);
        co_await hung->close();
        co_await other->close();
    };
    weir::run(body());
}

// A standby that has become the primary, and had not got the last commits.
TEST(CrawlNodeFaults, ADatabaseThatHasForgottenCommitsIsNoticed) {
    for (const std::string column : {"commits", "polls"}) {
        const auto body = [&]() -> task<> {
            const std::string schema = fresh_schema();
            const auto state = co_await open_postgres_store(node_options(schema, "one"));
            join_request request;
            request.identity = "scope host\n";
            request.max_pages = request.max_pages_per_host = 1000;
            co_await state->shared()->join(request);
            co_await state->commit(commit_batch());
            co_await state->shared()->poll({});
            weir::pg::connect_options server;
            const std::string url = weir_test::shared_postgres().url();
            server.url = url;
            weir::pg::connection other = co_await weir::pg::connect(server);
            co_await other.execute("UPDATE " + schema + ".nodes SET " + column + " = 0");
            bool is_noticed = false;
            try {
                co_await state->shared()->poll({});
            } catch (const lease_lost&) {
                is_noticed = true;
            }
            EXPECT_TRUE(is_noticed) << column;
            co_await state->close();
        };
        weir::run(body());
    }
}

// As if the answer to the COMMIT had been lost: the store repeats a commit that the database has.
TEST(CrawlNodeFaults, ACommitWhoseAnswerWasLostIsMadeOnce) {
    const auto body = []() -> task<> {
        const std::string schema = fresh_schema();
        const auto state = co_await open_postgres_store(node_options(schema, "one"));
        co_await state->open("scope host\n", false);
        weir::pg::connect_options server;
        const std::string url = weir_test::shared_postgres().url();
        server.url = url;
        weir::pg::connection other = co_await weir::pg::connect(server);
        co_await other.execute("UPDATE " + schema + ".nodes SET commits = 1");
        commit_batch batch;
        batch.totals.redirects = 5;
        co_await state->commit(batch);
        saved_crawl saved = co_await state->peek();
        EXPECT_EQ(saved.totals.redirects, 0u);
        batch.totals.redirects = 7;
        co_await state->commit(batch);
        saved = co_await state->peek();
        EXPECT_EQ(saved.totals.redirects, 2u);
        co_await state->close();
    };
    weir::run(body());
}

// Connections are cut again and again: a commit whose answer is lost is made once.
TEST(CrawlNodeFaults, CutConnectionsLoseNothingAndStoreNothingTwice) {
    simulated_web web;
    add_hosts(web, hosts, pages, 30ms);
    kept_lines lines;
    int cuts = 0;
    const auto body = [&]() -> task<> {
        const crawl_options options = cluster_options(hosts);
        const std::string schema = fresh_schema();
        auto one = co_await make_node(options, web, node_options(schema, "one"));
        one->work->add_sink(lines);
        auto running = weir::spawn(one->work->run());
        weir::pg::connect_options server;
        const std::string url = weir_test::shared_postgres().url();
        server.url = url;
        weir::pg::connection knife = co_await weir::pg::connect(server);
        for (int i = 0; i < 15 && !running.done(); ++i) {  // a slow machine has to get on, too
            co_await weir::sleep(70ms);
            cuts += static_cast<int>(co_await knife.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
                "'weir crawl'"));
        }
        co_await running;
        co_await expect_complete(*one->state);
        co_await one->state->close();
    };
    weir::run(body());
    EXPECT_GT(cuts, 3);
    expect_each_once(web);
    expect_written_once(lines.lines, std::size_t{hosts * pages});
}

// The server dies under two nodes, and comes back.
TEST(CrawlNodeFaults, ACrashOfTheServerIsSurvived) {
    weir_test::postgres_options durable;
    durable.durable = true;
    weir_test::postgres server(durable);
    simulated_web web;
    add_hosts(web, hosts, pages, 30ms);
    const auto body = [&]() -> task<> {
        const crawl_options options = cluster_options(hosts);
        postgres_store_options how;
        how.url = server.url();
        how.node = "one";
        auto one = co_await make_node(options, web, how);
        how.node = "two";
        auto two = co_await make_node(options, web, how);
        auto first = weir::spawn(one->work->run());
        auto second = weir::spawn(two->work->run());
        co_await weir::sleep(400ms);
        server.kill();
        server.start();
        co_await first;
        co_await second;
        co_await expect_complete(*one->state);
        co_await one->state->close();
        co_await two->state->close();
    };
    weir::run(body());
    expect_each_once(web);
}

}  // namespace cluster_faults_test
