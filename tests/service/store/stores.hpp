// SPDX-License-Identifier: MIT
// The requirements for every store: tests with WEIR_STORE_TEST run on all stores listed here. Times
// are simulated, so tests do not wait. At the end of each test, the counts of the store must match
// its contents.
#pragma once

#include <support/peers/pgbouncer.hpp>
#include <support/peers/postgres.hpp>
#include <support/peers/program.hpp>

#include <weir/db/pg/connection.hpp>
#include <weir/db/sqlite/database.hpp>
#include <weir/run.hpp>
#include <weir/service/memory_store.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/service/sqlite_store.hpp>
#include <weir/testing/testing.hpp>
#include <weir/timeout.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace store_test {

using namespace std::chrono_literals;
using namespace weir::service;
using weir::task;

struct store_kind {
    const char* name;
    // Opens the store in a folder of its own. If is_lasting, opening it again finds the same tasks.
    task<std::unique_ptr<store>> (*open)(std::string folder);
    bool is_lasting = false;
    // Checks the tables of the store after it was closed.
    task<> (*inspect)(std::string folder) = nullptr;
};

inline void PrintTo(const store_kind& kind, std::ostream* to) {
    *to << kind.name;
}

inline task<std::unique_ptr<store>> open_sqlite(std::string folder) {
    sqlite_store_options options;
    options.is_durable = false;
    std::unique_ptr<store> opened = co_await open_sqlite_store(folder + "/tasks.db", options);
    co_return opened;
}

// Compares the counts in SQLite's tables with their rows.
inline task<> inspect_sqlite(std::string folder) {
    weir::sqlite::database tables = co_await weir::sqlite::open(folder + "/tasks.db");
    const char* const checks[] = {
        "SELECT 'queue ' || name FROM queues WHERE "
        "pending != (SELECT count(*) FROM tasks WHERE queue = queues.id AND state = 0) OR "
        "running != (SELECT count(*) FROM tasks WHERE queue = queues.id AND state = 1) OR "
        "completed != (SELECT count(*) FROM tasks WHERE queue = queues.id AND state = 2) OR "
        "failed != (SELECT count(*) FROM tasks WHERE queue = queues.id AND state = 3) OR "
        "cancelled != (SELECT count(*) FROM tasks WHERE queue = queues.id AND state = 4) OR "
        "due != (SELECT count(*) FROM tasks WHERE queue = queues.id AND state = 0 AND line % 8 "
        "NOT IN (1, 5, 7))",
        "SELECT 'settings of ' || name FROM queues WHERE keys_set != (SELECT count(*) FROM flows "
        "WHERE queue = queues.id AND has_settings)",
        "SELECT 'flow ' || key FROM flows WHERE "
        "has_settings != (is_paused OR coalesce(own_max_running, own_rate, own_burst) IS NOT NULL) "
        "OR (is_paused AND place NOT IN (0, 4)) OR (place = 4 AND NOT is_paused) OR "
        "tasks != (SELECT count(*) FROM tasks WHERE flow = flows.id) OR "
        "due != (SELECT count(*) FROM tasks WHERE flow = flows.id AND state = 0 AND line % 8 = 0) "
        "OR "
        "running != (SELECT count(*) FROM tasks WHERE flow = flows.id AND state = 1) OR "
        "ready_branches != (SELECT count(*) FROM branches WHERE flow = flows.id AND place = 1) OR "
        "(due = 0 AND ready_branches = 0) != (place = 0)",
        "SELECT 'branch ' || id FROM branches WHERE "
        "tasks != (SELECT count(*) FROM tasks WHERE branch = branches.id) OR "
        "due != (SELECT count(*) FROM tasks WHERE line = 8 * branches.id + 4) OR "
        "(due = 0) != (place = 0) OR flow NOT IN (SELECT id FROM flows) OR "
        "(place = 1 AND (rank, head) != (SELECT rank, id FROM tasks WHERE line = 8 * branches.id + "
        "4 ORDER BY rank, id LIMIT 1))",
        "SELECT 'pool of branch ' || branches.id FROM branches JOIN destinations ON "
        "destinations.id "
        "= destination JOIN flows ON flows.id = flow JOIN queues ON queues.id = queue WHERE "
        "(pool IS NULL) != (destinations.name != '') OR (pool != destination) OR "
        "(pool IS NOT NULL AND (branches.place = 1 OR (branches.due = 0) != (offered IS NULL))) OR "
        "(pool IS NULL AND offered IS NOT NULL) OR (offered > 0 AND offered != queue) OR "
        "(branches.free_at > 0 AND offered != 0) OR "
        "(offered = 0 AND branches.free_at = 0 AND NOT flows.is_paused AND NOT "
        "(coalesce(own_max_running, key_max_running) > 0 AND flows.running >= "
        "coalesce(own_max_running, key_max_running)))",
        "SELECT 'head of flow ' || key FROM flows WHERE head_rank IS NOT NULL AND EXISTS(SELECT 1 "
        "FROM tasks WHERE line = 8 * flows.id AND (tasks.rank, tasks.id) < (head_rank, head_id))",
        "SELECT 'branches held by ' || key FROM flows WHERE held_branches != (SELECT count(*) FROM "
        "branches WHERE flow = flows.id AND offered = 0)",
        "SELECT 'session ' || node FROM workers WHERE node NOT IN (SELECT number FROM nodes)",
        "SELECT 'destination ' || name FROM destinations WHERE "
        "branches != (SELECT count(*) FROM branches WHERE destination = destinations.id) OR "
        "parked != (SELECT count(*) FROM branches WHERE destination = destinations.id AND place = "
        "2) OR (parked = 0) != (place = 0) OR "
        "due != (SELECT ifnull(sum(due), 0) FROM branches WHERE destination = destinations.id) OR "
        "running != (SELECT count(*) FROM tasks JOIN branches ON branches.id = branch WHERE "
        "destination = destinations.id AND state = 1)",
        "SELECT 'task ' || id FROM tasks WHERE flow NOT IN (SELECT id FROM flows WHERE queue = "
        "tasks.queue) OR (state = 1 AND node NOT IN (SELECT number FROM nodes)) OR "
        "(state >= 2) != (finished_at IS NOT NULL) OR (is_cancelling AND state != 1) OR "
        "(branch IS NOT NULL AND branch NOT IN (SELECT id FROM branches WHERE flow = tasks.flow)) "
        "OR "
        "line != CASE state WHEN 0 THEN CASE line % 8 WHEN 1 THEN 8 * queue + 1 WHEN 5 THEN 8 * "
        "queue + 5 WHEN 7 THEN 8 * queue + 7 ELSE ifnull(8 * branch + 4, 8 * flow) END WHEN 1 THEN "
        "8 * node + 2 ELSE 8 * "
        "state + 3 END OR (payload IS NULL) != (id IN (SELECT task FROM "
        "payloads))",
        "SELECT 'payload ' || task FROM payloads WHERE task NOT IN (SELECT id FROM tasks)",
        "SELECT 'tag ' || tag FROM tags WHERE task NOT IN (SELECT id FROM tasks)",
        "SELECT 'unique key ' || key FROM unique_keys WHERE task NOT IN (SELECT id FROM tasks)",
        "SELECT 'follow-up of ' || task FROM follow_ups WHERE task NOT IN (SELECT id FROM tasks)",
        "SELECT 'step of ' || task FROM steps WHERE task NOT IN (SELECT id FROM tasks)",
        "SELECT 'steps of ' || id FROM tasks WHERE coalesce(steps, 0) != (SELECT count(*) FROM "
        "steps WHERE task = tasks.id) OR coalesce(step_bytes, 0) != (SELECT ifnull(sum(length(CAST("
        "result AS BLOB))), 0) FROM steps WHERE task = tasks.id)",
        "SELECT 'waiting ' || id FROM tasks WHERE state = 0 AND (coalesce(waits, 0) != (SELECT "
        "count(*) FROM edges WHERE child = tasks.id AND (outcome IS NULL OR (outcome IN (2, 3) AND "
        "policy = 2) OR (outcome = 4 AND policy != 1))) OR (coalesce(waits, 0) > 0) != (line % 8 = "
        "7))",
        "SELECT 'edge of ' || child FROM edges WHERE child NOT IN (SELECT id FROM tasks) OR "
        "(parent IN (SELECT id FROM tasks) AND NOT EXISTS(SELECT 1 FROM tasks WHERE id = parent "
        "AND "
        "has_children)) OR (outcome IS NULL AND NOT EXISTS(SELECT 1 FROM tasks WHERE id = parent "
        "AND state <= 1) AND NOT EXISTS(SELECT 1 FROM ripples))",
        "SELECT 'group ' || id FROM task_groups WHERE open != (SELECT count(*) FROM tasks WHERE "
        "in_group = task_groups.id AND is_detached IS NULL AND state <= 1) OR open + failed + "
        "cancelled > total OR (state >= 2) != (finished_at IS NOT NULL) OR (state >= 2 AND open > "
        "0) OR (state < 2 AND is_sealed AND open = 0 AND NOT (on_failure = 2 AND state = 0 AND "
        "failed + cancelled > 0) AND NOT EXISTS(SELECT 1 FROM ripples))",
        "SELECT 'expiry of ' || task FROM expiries WHERE task NOT IN (SELECT id FROM tasks)",
        "SELECT 'no expiry of ' || id FROM tasks WHERE expires_at IS NOT NULL AND state = 0 AND "
        "run = 0 AND NOT EXISTS(SELECT 1 FROM expiries WHERE task = tasks.id AND at = "
        "expires_at)",
        "SELECT 'attempt of ' || task FROM attempts WHERE task NOT IN (SELECT id FROM tasks)",
        "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check != 'ok'",
    };
    // For the checks alone: without these, thousands of flows are counted in a square of the time.
    co_await tables.execute("CREATE INDEX inspected_flow ON tasks(flow, state)");
    co_await tables.execute("CREATE INDEX inspected_branch ON tasks(branch, state)");
    for (const char* const each : checks) {
        const weir::sqlite::rows wrong = co_await tables.query(each);
        for (const auto& what : wrong.as<std::string>()) {
            ADD_FAILURE() << "wrong: " << what << ", by " << each;
        }
    }
    co_await tables.execute("DROP INDEX inspected_flow");
    co_await tables.execute("DROP INDEX inspected_branch");
    co_await tables.close();
}

inline task<std::unique_ptr<store>> open_memory(std::string) {
    std::unique_ptr<store> opened = std::make_unique<memory_store>();
    co_return opened;
}

// A schema of a server that all tests share; its name is that of the folder.
inline std::string schema_of(const std::string& folder) {
    std::string name = "test_";
    for (const unsigned char each : std::filesystem::path(folder).filename().string()) {
        constexpr char digits[] = "0123456789abcdef";
        name += digits[each / 16];
        name += digits[each % 16];
    }
    return name;
}
// Of the server that all tests share, with settings for its connections where there are any; of a
// pooler in front of it where all are to go through one.
inline std::string postgres_url() {
    if (const char* const settings = std::getenv("WEIR_TEST_POSTGRES_SETTINGS")) {
        return weir_test::shared_postgres().url() + "?options=" + settings;
    }
    if (std::getenv("WEIR_TEST_BEHIND_POOLER") == nullptr) {
        return weir_test::shared_postgres().url();
    }
    constexpr int connections = 20;
    static weir_test::pgbouncer pooler(weir_test::shared_postgres(), connections);
    return pooler.url();
}
inline task<std::unique_ptr<store>> open_postgres(std::string folder) {
    postgres_store_options options;
    options.schema = schema_of(folder);
    options.readers = 1;
    options.uses_server_clock = false;
    std::unique_ptr<store> opened = co_await open_postgres_store(postgres_url(), options);
    co_return opened;
}
// Copies the tables of PostgreSQL into those of a SQLite store, and compares the counts there.
inline task<> inspect_tables(std::string folder, std::string url, std::string schema_name) {
    const std::unique_ptr<store> tables = co_await open_sqlite(folder);
    co_await tables->close();
    weir::sqlite::database copy = co_await weir::sqlite::open(folder + "/tasks.db");
    weir::pg::connection server = co_await weir::pg::connect({.url = url});
    const std::string schema = "\"" + schema_name + "\"";
    const weir::sqlite::rows names = co_await copy.query(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'meta'");
    for (const auto& name : names.as<std::string>()) {
        const weir::pg::rows found = co_await server.query("SELECT * FROM " + schema + "." + name);
        std::string columns;
        std::string places;
        for (const std::string& each : found.columns()) {
            columns += (columns.empty() ? "\"" : ", \"") + each + "\"";
            places += places.empty() ? "?" : ", ?";
        }
        const std::string sql = "INSERT INTO " + name + "(" + columns + ") VALUES (" + places + ")";
        auto insert = [&](weir::sqlite::session& session) {
            for (const weir::pg::row row : found) {
                std::vector<weir::sqlite::value> values;
                for (std::size_t i = 0; i < row.size(); ++i) {
                    const weir::pg::value value = row[i];
                    constexpr std::uint32_t bigint = 20;
                    if (value.is_null()) {
                        values.emplace_back();
                    } else if (value.type() == bigint) {
                        values.emplace_back(value.as<std::int64_t>());
                    } else {
                        values.emplace_back(value.text());
                    }
                }
                session.run(sql, values);
            }
        };
        co_await copy.write(insert);
    }
    co_await copy.close();
    co_await server.script("DROP SCHEMA " + schema + " CASCADE");
    co_await inspect_sqlite(folder);
}
inline task<> inspect_postgres(std::string folder) {
    return inspect_tables(folder, weir_test::shared_postgres().url(), schema_of(folder));
}

inline std::vector<store_kind> all_stores() {
    return {{"sqlite", &open_sqlite, true, &inspect_sqlite},
            {"memory", &open_memory},
            {"postgres", &open_postgres, true, &inspect_postgres}};
}

// A store, a clock, and short ways to use them.
class bench {
public:
    weir_test::temporary_folder folder;
    const store_kind* kind = nullptr;
    std::unique_ptr<store> kept;
    timestamp now = std::chrono::sys_days(std::chrono::year(2026) / 5 / 17) + 12h;

    static new_task make(std::string key = "", std::string queue = "default") {
        new_task fresh("work");
        fresh.queue = std::move(queue);
        fresh.flow_key = std::move(key);
        return fresh;
    }
    static new_task make_for(std::string destination, std::string key = "",
                             std::string queue = "default") {
        new_task fresh = make(std::move(key), std::move(queue));
        fresh.destination = std::move(destination);
        return fresh;
    }
    task<submit_result> submit(new_task fresh) {
        std::vector<new_task> all;
        all.push_back(std::move(fresh));
        const std::vector<submit_result> answers = co_await kept->submit(std::move(all), now);
        co_return answers.at(0);
    }
    // That many.
    task<std::vector<task_id>> submit_many(std::size_t count, std::string key = "",
                                           std::string queue = "default") {
        std::vector<new_task> all(count, make(key, queue));
        const std::vector<submit_result> answers = co_await kept->submit(std::move(all), now);
        std::vector<task_id> ids;
        for (const submit_result& each : answers) {
            EXPECT_EQ(each.what, submit_result::verdict::made);
            ids.push_back(each.id);
        }
        co_return ids;
    }
    static node_record node(std::string id, timestamp until) {
        node_record record;
        record.id = std::move(id);
        record.host = "here";
        record.pid = 7;
        record.expires_at = until;
        return record;
    }
    task<heartbeat_answer> beat(std::string id, std::chrono::microseconds lease = 10s) {
        heartbeat_answer answer = co_await kept->heartbeat(node(std::move(id), now + lease), now);
        co_return answer;
    }
    task<claimed> claim(std::size_t limit, std::string node = "a") {
        claim_request request;
        request.node = node;
        request.now = now;
        request.limit = limit;
        claimed claim = co_await kept->claim(request);
        co_return claim;
    }
    static settlement ending(const task_record& run, task_state state) {
        settlement result;
        result.key = {run.id, run.run};
        result.state = state;
        result.failures = run.failures;
        if (state == task_state::completed) {
            result.result = "1";
        } else if (state == task_state::failed) {
            result.failures = run.failures + 1;
            result.error = "it broke";
            result.attempt = attempt_end::failed;
        }
        return result;
    }
    settlement again(const task_record& run, std::chrono::microseconds later,
                     std::string error = "it broke") const {
        settlement built = ending(run, task_state::pending);
        built.due_at = now + later;
        built.failures = run.failures + 1;
        built.error = std::move(error);
        built.attempt = attempt_end::failed;
        return built;
    }
    task<bool> settle(settlement ended, std::string node_id = "a") {
        std::vector<settlement> all;
        all.push_back(std::move(ended));
        const std::vector<bool> answers = co_await kept->settle(node_id, std::move(all), now);
        co_return answers.at(0);
    }
    task<> complete(const std::vector<task_record>& runs, std::string node_id = "a") {
        std::vector<settlement> all;
        for (const task_record& each : runs) {
            all.push_back(ending(each, task_state::completed));
        }
        const std::vector<bool> answers = co_await kept->settle(node_id, std::move(all), now);
        for (const bool each : answers) {
            EXPECT_TRUE(each);
        }
    }
    task<task_record> look(task_id id) {
        const std::optional<task_detail> found = co_await kept->find(id);
        EXPECT_TRUE(found.has_value());
        co_return found.has_value() ? found->task : task_record();
    }
    task<queue_record> queue(std::string name = "default") {
        const std::vector<queue_record> all = co_await kept->queues();
        for (const queue_record& each : all) {
            if (each.name == name) {
                co_return each;
            }
        }
        co_return queue_record();
    }
    // ---- workers

    static new_task make_remote(std::string kind, std::string key = "",
                                std::string queue = "default") {
        new_task fresh(std::move(kind));
        fresh.queue = std::move(queue);
        fresh.flow_key = std::move(key);
        fresh.is_remote = true;
        return fresh;
    }
    // That many, of one kind.
    task<std::vector<task_id>> submit_remote(std::size_t count, std::string work_kind,
                                             std::string key = "", std::string queue = "default") {
        std::vector<new_task> all(count, make_remote(work_kind, key, queue));
        const std::vector<submit_result> answers = co_await kept->submit(std::move(all), now);
        std::vector<task_id> ids;
        for (const submit_result& each : answers) {
            EXPECT_EQ(each.what, submit_result::verdict::made);
            ids.push_back(each.id);
        }
        co_return ids;
    }
    static std::vector<std::string> names(const std::string& list) {
        std::vector<std::string> all;
        std::istringstream in(list);
        for (std::string each; std::getline(in, each, ' ');) {
            all.push_back(each);
        }
        return all;
    }
    // Kinds and queues are separated by blanks.
    task<bool> add_worker(std::string id, std::string kinds, std::string queues = "",
                          std::chrono::microseconds lease = 30s) {
        worker_record worker;
        worker.id = std::move(id);
        worker.name = worker.id + "'s name";
        worker.kinds = names(kinds);
        worker.queues = names(queues);
        worker.sdk = "test/1";
        worker.started_at = now;
        worker.expires_at = now + lease;
        const bool is_added = co_await kept->add_worker(std::move(worker), now);
        co_return is_added;
    }
    task<worker_claim_answer> poll(std::string worker, std::uint64_t number, std::size_t free) {
        std::vector<worker_claim> polls(1);
        polls[0].worker = std::move(worker);
        polls[0].poll = number;
        polls[0].free = free;
        worker_claims claims = co_await kept->claim_for_workers(std::move(polls), now);
        next_at = claims.next_at;
        co_return std::move(claims.answers.at(0));
    }
    std::optional<timestamp> next_at;  // of the last poll
    // A heartbeat that lists these runs.
    task<worker_answer> beat_worker(std::string worker, std::vector<task_record> running,
                                    std::size_t free = 0,
                                    std::optional<std::uint64_t> answered_poll = {}) {
        std::vector<worker_beat> beats(1);
        beats[0].worker = std::move(worker);
        beats[0].expires_at = now + 30s;
        beats[0].free = free;
        beats[0].answered_poll = answered_poll;
        for (const task_record& each : running) {
            beats[0].running.push_back({each.id, each.run});
        }
        std::vector<worker_answer> answers = co_await kept->renew_workers(std::move(beats), now);
        co_return std::move(answers.at(0));
    }
    static std::vector<task_record> no_runs() { return {}; }
    static std::vector<task_record> only(const task_record& run) { return {run}; }
    task<settle_answer> report(std::string worker, settlement ended) {
        std::vector<settlement> all;
        all.push_back(std::move(ended));
        const std::vector<settle_answer> answers =
            co_await kept->settle_for_worker(worker, std::move(all), now);
        co_return answers.at(0);
    }
    task<worker_kind> kind_of(std::string name) {
        const std::vector<worker_kind> kinds = co_await kept->worker_kinds(now);
        for (const worker_kind& each : kinds) {
            if (each.kind == name) {
                co_return each;
            }
        }
        co_return worker_kind();
    }

    // By reason, in their order.
    task<std::vector<hold::reason>> why(task_id id) {
        const std::vector<hold> holds = co_await kept->why(id, now);
        std::vector<hold::reason> reasons;
        for (const hold& each : holds) {
            reasons.push_back(each.why);
        }
        co_return reasons;
    }
    task<> reopen() {
        co_await kept->close();
        kept = nullptr;
        kept = co_await kind->open(folder.path().string());
    }

    // Counts of queues against a list of all tasks.
    task<> check_counts() {
        task_filter all;
        all.limit = 10'000;
        all.is_brief = true;
        std::map<std::string, std::array<std::uint64_t, 5>> counted;
        for (;;) {
            const task_page tasks = co_await kept->list(all, now);
            if (tasks.empty()) {
                break;
            }
            for (const task_record& each : tasks) {
                ++counted[each.queue][static_cast<std::size_t>(each.state)];
            }
            all.before = tasks.back().id;
        }
        const std::vector<queue_record> queues = co_await kept->queues();
        for (const queue_record& each : queues) {
            EXPECT_EQ(each.counts, counted[each.name]) << "of queue " << each.name;
            EXPECT_LE(each.due, each.count(task_state::pending));
            counted.erase(each.name);
        }
        EXPECT_TRUE(counted.empty()) << "queues are missing";
    }
};

inline task<> with_bench(const store_kind& kind, task<> (*body)(bench&)) {
    bench at;
    at.kind = &kind;
    at.kept = co_await kind.open(at.folder.path().string());
    co_await body(at);
    co_await at.check_counts();
    co_await at.kept->close();
    at.kept = nullptr;
    if (kind.inspect != nullptr) {
        co_await kind.inspect(at.folder.path().string());
    }
}

inline task<> within_limits(const store_kind& kind, task<> (*body)(bench&)) {
    co_await weir::timeout(100s, with_bench(kind, body));  // sanitizers are slow
}

inline void run_on(const store_kind& kind, task<> (*body)(bench&)) {
    weir::run(within_limits(kind, body));
}

class StoreTest : public testing::TestWithParam<store_kind> {};

}  // namespace store_test

// Suites are instantiated for all stores by WEIR_STORE_SUITE, once in each file.
#define WEIR_STORE_SUITE(suite)                                                               \
    class suite : public store_test::StoreTest {};                                            \
    INSTANTIATE_TEST_SUITE_P(On, suite, testing::ValuesIn(store_test::all_stores()),          \
                             [](const testing::TestParamInfo<store_test::store_kind>& info) { \
                                 return std::string(info.param.name);                         \
                             })
#define WEIR_STORE_TEST(suite, name)                               \
    static weir::task<> suite##_##name##_body(store_test::bench&); \
    TEST_P(suite, name) {                                          \
        store_test::run_on(GetParam(), &suite##_##name##_body);    \
    }                                                              \
    static weir::task<> suite##_##name##_body([[maybe_unused]] store_test::bench& at)
