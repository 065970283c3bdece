// SPDX-License-Identifier: MIT
// The requirements for every store: tests with WEIR_STORE_TEST run on all stores listed here. Times
// are simulated, so tests do not wait. At the end of each test, the counts of the store must match
// its contents.
#pragma once

#include <support/peers/program.hpp>

#include <weir/db/sqlite/database.hpp>
#include <weir/run.hpp>
#include <weir/service/memory_store.hpp>
#include <weir/service/sqlite_store.hpp>
#include <weir/testing/testing.hpp>
#include <weir/timeout.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
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
        "NOT IN (1, 5))",
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
        "queue + 5 ELSE ifnull(8 * branch + 4, 8 * flow) END WHEN 1 THEN 8 * node + 2 ELSE 8 * "
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

inline std::vector<store_kind> all_stores() {
    return {{"sqlite", &open_sqlite, true, &inspect_sqlite}, {"memory", &open_memory}};
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
        all.limit = 1'000'000;
        const std::vector<task_record> tasks = co_await kept->list(all, now);
        std::map<std::string, std::array<std::uint64_t, 5>> counted;
        for (const task_record& each : tasks) {
            ++counted[each.queue][static_cast<std::size_t>(each.state)];
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
