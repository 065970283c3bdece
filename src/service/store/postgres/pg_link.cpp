// SPDX-License-Identifier: MIT
// Statements whose result nobody needs are spawned as tasks of the loop, which runs when the next
// result is needed: then all of them go out in one packet. One that fails makes the transaction
// fail, so its error is reported with the next result, in place of the errors that follow from it.
// Rows wait until another statement comes, and go out before it.

#include "service/store/postgres/pg_link.hpp"

#include "service/store/postgres/pg_timeline.hpp"

#include <weir/error.hpp>
#include <weir/spawn.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace weir::service::detail {

namespace {

// Types of PostgreSQL, by their OID.
constexpr std::uint32_t type_bool = 16;
constexpr std::uint32_t type_int8 = 20;
constexpr std::uint32_t type_int2 = 21;
constexpr std::uint32_t type_int4 = 23;
constexpr std::uint32_t type_float4 = 700;
constexpr std::uint32_t type_float8 = 701;
constexpr std::uint32_t type_numeric = 1700;

sqlite::value to_value(const pg::value& from) {
    if (from.is_null()) {
        return {};
    }
    const std::string_view text = from.text();
    switch (from.type()) {
        case type_bool:
            return text == "t";
        case type_int8:
        case type_int2:
        case type_int4:
        case type_numeric: {  // sums
            std::int64_t number = 0;
            std::from_chars(text.data(), text.data() + text.size(), number);
            return number;
        }
        case type_float4:
        case type_float8:
            return from.as<double>();
        default:
            return text;
    }
}

// Without the first columns, if these are not wanted.
sqlite::rows to_rows(const pg::rows& from, std::size_t first = 0) {
    std::vector<std::string> columns = from.columns();
    columns.erase(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(first));
    const std::size_t end = columns.size() + first;
    sqlite::rows all(std::move(columns));
    all.reserve(from.size());
    for (const pg::row each : from) {
        for (std::size_t i = first; i < end; ++i) {
            all.add(to_value(each[i]));
        }
    }
    return all;
}

std::vector<pg::parameter> to_parameters(const sql_values& values) {
    std::vector<pg::parameter> all;
    all.reserve(values.size());
    for (const sqlite::value& each : values) {
        all.push_back(to_parameter(each));
    }
    return all;
}

loop_options own_loop() {
    loop_options options;
    options.driver = driver_kind::epoll;
    options.signals = signal_handling::none;
    return options;
}

std::string milliseconds(std::chrono::milliseconds time) {
    return std::to_string(time.count());
}

// Plans go by indexes, whatever the statistics say: tables of queues change faster than they are
// analysed.
std::string session_settings(const postgres_store_options& options, bool is_local) {
    const std::pair<const char*, std::string> all[] = {
        {"statement_timeout", milliseconds(options.statement_timeout)},
        {"lock_timeout", milliseconds(options.lock_timeout)},
        {"idle_in_transaction_session_timeout", milliseconds(options.statement_timeout)},
        {"client_min_messages", "warning"},
        {"jit", "off"},
        {"enable_seqscan", "off"},
        {"enable_bitmapscan", "off"},
        {"enable_hashjoin", "off"},
        {"enable_mergejoin", "off"},
        {"plan_cache_mode", "force_generic_plan"},
    };
    std::string sql = "SELECT ";
    for (const auto& [name, value] : all) {
        sql += sql.size() > 7 ? ", " : "";
        sql += "pg_catalog.set_config('" + std::string(name) + "', '" + value + "', " +
               (is_local ? "true)" : "false)");
    }
    // Where the default is 'off' or 'local', a submit would be acknowledged before the disk, or the
    // standby, has it. What a database waits for beyond that, such as remote_apply, is left to it.
    constexpr std::string_view commits = "pg_catalog.current_setting('synchronous_commit')";
    sql += ", pg_catalog.set_config('synchronous_commit', CASE WHEN " + std::string(commits) +
           " IN ('off', 'local') THEN 'on' ELSE " + std::string(commits) + " END, " +
           (is_local ? "true)" : "false)");
    return sql;
}

}  // namespace

pg_link::pg_link(const pg_settings& settings, std::string_view role)
    : settings_(settings), role_(role), dialect_(settings.options.schema), loop_(own_loop()) {}

pg_link::~pg_link() {
    close();
    try {
        loop_.shutdown();
    } catch (const std::exception&) {
        // tasks that failed with the connection
    }
}

bool pg_link::is_open() const noexcept {
    return connection_.has_value() && connection_->is_open();
}

void pg_link::close() noexcept {
    if (connection_.has_value()) {
        connection_->close();
        connection_.reset();
    }
    sent_.clear();
    sent_error_ = nullptr;
    waiting_.clear();
    waiting_bytes_ = 0;
}

void pg_link::call::interrupt() {
    link_.loop_.post([&link = link_, number = number_] {
        if (link.call_number_ != number) {
            return;
        }
        link.is_interrupted_ = true;
        if (!link.is_flushing_) {
            link.loop_.stop();
        }
    });
}

template <class Work>
decltype(auto) pg_link::run_loop(Work&& work) {
    if (!is_interrupted_) {  // as it may be since something was sent
        try {
            return loop_.run_until(std::forward<Work>(work));
        } catch (const stopped_early&) {
            // the same, while it ran
        }
    }
    if (connection_.has_value()) {
        connection_->close();
    }
    throw pg::connection_error("pg: the call was stopped", db::retry_advice::if_harmless);
}

void pg_link::open() {
    if (is_open() && generation_ == settings_.servers->generation()) {
        return;
    }
    close();
    try {
        const auto find = settings_.uses_standby ? &find_standby : &find_primary;
        pg_primary found =
            run_loop(find(*settings_.servers, settings_.options.connect_timeout, "weir " + role_));
        set_up(std::move(found));
    } catch (...) {
        close();
        throw;
    }
}

void pg_link::set_up(pg_primary&& found) {
    connection_.emplace(std::move(found.connection));
    history_ = found.is.history;
    generation_ = found.generation;
    is_pooled_ = found.is.process != connection_->server_process();
    if (!is_pooled_) {
        ask(session_settings(settings_.options, false));
        check_for_lost_clients();
    }
    pg_servers& servers = *settings_.servers;
    if (history_.is_known() && servers.has_tables() && !servers.is_noted(history_)) {
        note_history(*this, settings_.options);
        servers.set_noted(history_);
    }
}

// A statement whose node has gone ends, with its locks, before the lease does. Servers before
// version 14 cannot do that, nor can some systems.
void pg_link::check_for_lost_clients() {
    try {
        ask("SELECT pg_catalog.set_config('client_connection_check_interval', '2s', false)");
    } catch (const pg::connection_error&) {
        throw;
    } catch (const pg::error&) {
        // As without it: the server notices when it sends the answer.
    }
}

void pg_link::check_server_of_pooler() {
    send({session_settings(settings_.options, true), {}});
    const pg::rows found = ask(identity_sql(history_.is_known()));
    const pg_identity other = read_identity(found[0]);
    if (other.is_standby || other.history != history_) {
        settings_.servers->lose(generation_);
        connection_->close();
        throw pg::connection_error("pg: the pooler has another server now", db::retry_advice::yes);
    }
}

// A lost connection may be the first that is seen of a failover; 25006 is the answer of a server
// that was demoted, 57P0x that of one that ends.
void pg_link::note_loss(const db::error& error, std::uint64_t generation) {
    const auto* const of_server = dynamic_cast<const pg::error*>(&error);
    if (of_server == nullptr) {
        return;
    }
    const std::string_view state = of_server->sqlstate();
    if (dynamic_cast<const pg::connection_error*>(&error) != nullptr || state == "25006" ||
        state.starts_with("57P") || state.starts_with("08")) {
        settings_.servers->lose(generation);
    }
}

// ---- statements

task<> pg_link::perform(pg_link& link, std::uint64_t generation, request made,
                        std::shared_ptr<answer> to) {
    try {
        pg::rows rows =
            co_await link.connection_->query(std::move(made.sql), std::move(made.parameters));
        if (to != nullptr) {
            to->rows = std::move(rows);
        }
    } catch (const db::error& error) {  // of the server, or a parameter that cannot be sent
        link.note_loss(error, generation);
        if (to != nullptr) {
            to->error = std::current_exception();
        } else if (link.sent_error_ == nullptr) {
            link.sent_error_ = std::current_exception();
        }
    }
}

// Closes the connection when the time is over: statements in flight fail.
template <class Work>
void pg_link::run_limited(Work&& work, clock::duration more) {
    // The server ends statements that take too long; this is for a server that does not answer.
    const clock::duration limit =
        settings_.options.statement_timeout + std::chrono::seconds(1) + more;
    callback_handle end = loop_.call_later(limit, [this] { connection_->close(); });
    try {
        run_loop(std::forward<Work>(work));
    } catch (...) {
        end.cancel();
        throw;
    }
    end.cancel();
}

void pg_link::rethrow_sent() {
    sent_.clear();
    if (const std::exception_ptr error = std::exchange(sent_error_, nullptr)) {
        std::rethrow_exception(error);
    }
}

void pg_link::send(request made) {
    if (!is_open()) {
        throw pg::connection_error("pg: the connection is lost", db::retry_advice::yes);
    }
    sent_.push_back(loop_.spawn(perform(*this, generation_, std::move(made), nullptr)));
}

pg::rows pg_link::await(request made) {
    if (!is_open()) {
        throw pg::connection_error("pg: the connection is lost", db::retry_advice::yes);
    }
    const auto result = std::make_shared<answer>();
    run_limited(perform(*this, generation_, std::move(made), result));
    rethrow_sent();
    if (result->error != nullptr) {
        std::rethrow_exception(result->error);
    }
    return std::move(result->rows);
}

class pg_link::sent_answer final : public sql_answer {
public:
    sent_answer(pg_link& link, std::shared_ptr<answer> to, handle<void> sent)
        : link_(&link), answer_(std::move(to)), sent_(std::move(sent)) {}
    sent_answer(sent_answer&& other) noexcept
        : link_(other.link_), answer_(std::move(other.answer_)), sent_(std::move(other.sent_)) {}

    sqlite::rows take() override { return to_rows(receive()); }
    const pg::rows& receive() {
        link_->run_limited(sent_);
        if (link_->sent_error_ != nullptr) {
            std::rethrow_exception(link_->sent_error_);
        }
        if (answer_->error != nullptr) {
            std::rethrow_exception(answer_->error);
        }
        return answer_->rows;
    }

private:
    pg_link* link_;
    std::shared_ptr<answer> answer_;
    handle<void> sent_;
};

// For several sets, each row begins with the number of its set, from 1.
class pg_link::sent_groups final : public sql_group_answer {
public:
    sent_groups(sent_answer&& sent, std::size_t sets) : sent_(std::move(sent)), groups_(sets) {}

    sql_groups take() override {
        const pg::rows& found = sent_.receive();
        std::vector<sqlite::rows> parts;
        if (groups_.size() == 1) {
            groups_.front().size = found.size();
            parts.push_back(to_rows(found));
        } else {
            for (std::size_t i = 0; i < found.size(); ++i) {
                sql_groups::group& in = groups_.at(found[i].get<std::size_t>(0) - 1);
                in.first = in.size == 0 ? i : in.first;
                ++in.size;
            }
            parts.push_back(to_rows(found, 1));
        }
        return {std::move(parts), std::move(groups_)};
    }

private:
    sent_answer sent_;
    std::vector<sql_groups::group> groups_;
};

class pg_link::sent_changes final : public sql_changes {
public:
    explicit sent_changes(sent_answer&& sent) : sent_(std::move(sent)) {}

    std::vector<sqlite::rows> take() override {
        std::vector<sqlite::rows> changed;
        changed.push_back(sent_.take());
        return changed;
    }

private:
    sent_answer sent_;
};

pg_link::sent_answer pg_link::send_query(request made) {
    if (!is_open()) {
        throw pg::connection_error("pg: the connection is lost", db::retry_advice::yes);
    }
    const auto to = std::make_shared<answer>();
    return {*this, to, loop_.spawn(perform(*this, generation_, std::move(made), to))};
}

std::unique_ptr<sql_answer> pg_link::start(std::string_view sql, sql_values parameters) {
    perform_rows();
    return std::make_unique<sent_answer>(send_query(for_one(sql, parameters)));
}

void pg_link::run(std::string_view sql, sql_values parameters) {
    perform_rows();
    send(for_one(sql, parameters));
}

std::int64_t pg_link::change(std::string_view sql, sql_values parameters) {
    perform_rows();
    return static_cast<std::int64_t>(await(for_one(sql, parameters)).affected());
}

sqlite::rows pg_link::fetch(std::string_view sql, sql_values parameters) {
    perform_rows();
    return to_rows(await(for_one(sql, parameters)));
}

pg_link::request pg_link::for_one(std::string_view sql, const sql_values& parameters) {
    return {dialect_.statement(sql), to_parameters(parameters)};
}

// One statement for all of them.
pg_link::request pg_link::for_each(std::string_view sql, std::span<const sql_values> sets) {
    return sets.size() == 1 ? for_one(sql, sets.front()) : many_rows(sql).make(sets);
}

// The server gets what was sent, and works on it while the caller goes on.
void pg_link::flush() {
    is_flushing_ = true;
    while (loop_.poll()) {
    }
    is_flushing_ = false;
}

// ---- many rows

pg_many_rows& pg_link::many_rows(std::string_view sql) {
    const std::string& statement = dialect_.statement(sql);
    return many_rows_.try_emplace(statement, statement).first->second;
}

void pg_link::run_row(std::string_view sql, sql_values parameters) {
    constexpr std::size_t most_bytes = std::size_t{4} << 20;
    for (const sqlite::value& each : parameters) {
        waiting_bytes_ += each.text() != nullptr ? each.text()->size() : 0;
    }
    auto batch = std::ranges::find(waiting_, sql, &row_batch::sql);
    if (batch == waiting_.end()) {
        waiting_.push_back({std::string(sql), {}});
        batch = std::prev(waiting_.end());
    }
    batch->rows.push_back(std::move(parameters));
    if (batch->rows.size() >= rows_together || waiting_bytes_ >= most_bytes) {
        perform_rows();
        flush();
    }
}

void pg_link::perform_rows() {
    if (waiting_.empty()) {
        return;
    }
    waiting_bytes_ = 0;
    for (const row_batch& each : std::exchange(waiting_, {})) {
        send(for_each(each.sql, each.rows));
    }
}

std::unique_ptr<sql_group_answer> pg_link::ask_each(std::string_view sql,
                                                    std::vector<sql_values> sets) {
    if (sets.empty()) {
        return sql_session::ask_each(sql, std::move(sets));
    }
    perform_rows();
    auto sent = std::make_unique<sent_groups>(send_query(for_each(sql, sets)), sets.size());
    flush();
    return sent;
}

std::unique_ptr<sql_changes> pg_link::change_each(std::string_view sql,
                                                  std::vector<sql_values> sets) {
    perform_rows();
    auto sent = std::make_unique<sent_changes>(send_query(for_each(sql, sets)));
    flush();
    return sent;
}

void pg_link::script(std::string sql, clock::duration time) {
    run_limited(connection_->script(std::move(sql)), time);
}

pg::rows pg_link::ask(std::string sql) {
    return await({std::move(sql), {}});
}

void pg_link::wait_briefly_for_locks() {
    send({"SET LOCAL lock_timeout = '200ms'", {}});
}

std::optional<timestamp> pg_link::server_time() {
    if (!settings_.options.uses_server_clock) {
        return std::nullopt;
    }
    // A store that a service has moved here keeps the clock that its times are on.
    const pg::rows found = ask(
        "SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::pg_catalog.int8 + "
        "coalesce((SELECT value FROM " +
        dialect_.schema() + ".meta WHERE name = 'clock_shift'), 0)");
    return timestamp(std::chrono::microseconds(found.one<std::int64_t>()));
}

std::optional<timestamp> pg_link::server_calendar() {
    if (!settings_.options.uses_server_clock) {
        return std::nullopt;
    }
    const pg::rows found =
        ask("SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::pg_catalog.int8");
    return timestamp(std::chrono::microseconds(found.one<std::int64_t>()));
}

pg_standby pg_link::ask_standby() {
    const pg::rows found =
        ask("SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN (extract(epoch FROM "
            "pg_catalog.clock_timestamp() - pg_catalog.pg_last_xact_replay_timestamp()) * "
            "1000000)::pg_catalog.int8 END");
    pg_standby standby;
    standby.system = history_.system;
    if (const auto lag = found.one<std::optional<std::int64_t>>()) {
        standby.lag = std::chrono::microseconds(std::max<std::int64_t>(0, *lag));
    }
    return standby;
}

// Without the rights of pg_read_all_stats, those of the same user.
std::optional<old_transaction> pg_link::oldest_transaction() {
    const pg::rows found = ask(
        "SELECT pid::pg_catalog.int8, coalesce(application_name, ''), extract(epoch FROM "
        "pg_catalog.clock_timestamp() - xact_start)::pg_catalog.int8 FROM "
        "pg_catalog.pg_stat_activity WHERE datname = pg_catalog.current_database() AND "
        "(backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND xact_start IS NOT NULL AND pid "
        "<> pg_catalog.pg_backend_pid() ORDER BY xact_start LIMIT 1");
    if (found.empty()) {
        return std::nullopt;
    }
    old_transaction oldest;
    oldest.process = found[0].get<std::int64_t>(0);
    oldest.application = found[0].get<std::string>(1);
    oldest.age = std::chrono::seconds(std::max<std::int64_t>(0, found[0].get<std::int64_t>(2)));
    return oldest;
}

// ---- transactions

void pg_link::begin_writing() {
    send({"BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE", {}});
    if (is_pooled_) {
        check_server_of_pooler();
    }
}

void pg_link::begin_reading() {
    send({"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", {}});
    if (is_pooled_) {
        check_server_of_pooler();
    }
}

void pg_link::commit(bool is_synced) {
    perform_rows();
    if (!is_synced) {
        send({"SET LOCAL synchronous_commit = local", {}});
    }
    try {
        await({"COMMIT", {}});
    } catch (const pg::connection_error& error) {
        throw commit_unknown(error.what(), db::retry_advice::if_harmless);
    } catch (const pg::error& error) {
        if (error.sqlstate().empty()) {  // committed, and maybe not on a standby
            throw commit_unknown(error.what(), db::retry_advice::if_harmless);
        }
        throw;
    }
    if (history_.is_before(settings_.servers->newest())) {
        throw commit_unknown("pg: the server is not the primary any more",
                             db::retry_advice::if_harmless);
    }
}

void pg_link::roll_back() noexcept {
    if (!is_open()) {
        close();
        return;
    }
    waiting_.clear();
    waiting_bytes_ = 0;
    try {
        sent_error_ = nullptr;
        await({"ROLLBACK", {}});
    } catch (const std::exception&) {
        // Statements before it may have failed. The transaction is over, unless the connection is.
    }
    sent_.clear();
    sent_error_ = nullptr;
}

}  // namespace weir::service::detail
