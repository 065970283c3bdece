// SPDX-License-Identifier: MIT
// What polls of workers get: within all limits, which tasks for workers share with those of nodes,
// in fair turns, and at a cost that does not depend on what waits.

#include "service/store/sqlite/worker_claim.hpp"

#include "service/store/sqlite/sqlite_session.hpp"
#include "stores.hpp"
#include <support/sanitized.hpp>

#include <map>
#include <random>

namespace {

using namespace store_test;
using reason = hold::reason;

WEIR_STORE_SUITE(StoreWorkerClaim);

std::string keys_of(const std::vector<task_record>& tasks) {
    std::string all;
    for (const task_record& each : tasks) {
        all += each.flow_key;
    }
    return all;
}

std::string queues_of(const std::vector<task_record>& tasks) {
    std::string all;
    for (const task_record& each : tasks) {
        all += each.queue;
    }
    return all;
}

// ---- limits

WEIR_STORE_TEST(StoreWorkerClaim, AKeyHasOneLimitForNodesAndAllKinds) {
    queue_limits limits;
    limits.key_max_running = 2;
    co_await at.kept->limit("default", limits);
    co_await at.submit_many(3, "k");
    co_await at.submit_remote(3, "a", "k");
    co_await at.submit_remote(3, "b", "k");
    co_await at.beat("n");
    co_await at.add_worker("wa", "a");
    co_await at.add_worker("wb", "b");
    const claimed local = co_await at.claim(1, "n");
    EXPECT_EQ(local.tasks.size(), 1U);
    const worker_claim_answer first = co_await at.poll("wa", 1, 10);
    EXPECT_EQ(first.tasks.size(), 1U) << "one of the node, one of a";
    worker_claim_answer none = co_await at.poll("wb", 1, 10);
    EXPECT_TRUE(none.tasks.empty());
    EXPECT_FALSE(at.next_at.has_value());
    const claimed nothing = co_await at.claim(10, "n");
    EXPECT_TRUE(nothing.tasks.empty());
    const std::vector<task_id> waiting = co_await at.submit_remote(1, "b", "k");
    const std::vector<reason> why = co_await at.why(waiting.at(0));
    WEIR_ASSERT_FALSE(why.empty());
    EXPECT_EQ(why[0], reason::key_full);
    // Each end of a run makes room for any of them.
    co_await at.complete(local.tasks, "n");
    const worker_claim_answer other = co_await at.poll("wb", 1, 10);
    EXPECT_EQ(other.tasks.size(), 1U);
    none = co_await at.poll("wa", 2, 10);
    EXPECT_TRUE(none.tasks.empty());
    co_await at.report("wb", bench::ending(other.tasks.at(0), task_state::completed));
    const worker_claim_answer second = co_await at.poll("wa", 2, 10);
    EXPECT_EQ(second.tasks.size(), 1U);
    co_await at.report("wa", bench::ending(first.tasks.at(0), task_state::completed));
    const claimed last = co_await at.claim(10, "n");
    EXPECT_EQ(last.tasks.size(), 1U);
}

WEIR_STORE_TEST(StoreWorkerClaim, LimitsAndPausesOfTheQueueHold) {
    co_await at.submit_remote(10, "a");
    co_await at.add_worker("w", "a");
    co_await at.kept->pause("default", true);
    worker_claim_answer got = co_await at.poll("w", 1, 10);
    EXPECT_TRUE(got.tasks.empty());
    co_await at.kept->pause("default", false);
    queue_limits limits;
    limits.max_running = 3;
    co_await at.kept->limit("default", limits);
    got = co_await at.poll("w", 1, 10);
    EXPECT_EQ(got.tasks.size(), 3U);
    const worker_claim_answer full = co_await at.poll("w", 2, 10);
    EXPECT_TRUE(full.tasks.empty());
    limits.max_running = 0;
    limits.rate = 1;
    limits.burst = 2;
    co_await at.kept->limit("default", limits);
    got = co_await at.poll("w", 2, 10);
    EXPECT_EQ(got.tasks.size(), 2U);
    EXPECT_EQ(at.next_at, at.now + 1s);
    at.now += 1s;
    got = co_await at.poll("w", 3, 10);
    EXPECT_EQ(got.tasks.size(), 1U);
}

WEIR_STORE_TEST(StoreWorkerClaim, RatesAndPausesOfAKeyHold) {
    queue_limits limits;
    limits.key_rate = 1;
    co_await at.kept->limit("default", limits);
    co_await at.submit_remote(3, "a", "k");
    co_await at.submit_remote(3, "b", "k");
    co_await at.submit_remote(1, "a", "l");
    co_await at.add_worker("wa", "a");
    co_await at.add_worker("wb", "b");
    worker_claim_answer got = co_await at.poll("wa", 1, 10);
    EXPECT_EQ(keys_of(got.tasks), "kl");
    EXPECT_EQ(at.next_at, at.now + 1s);
    got = co_await at.poll("wb", 1, 10);
    EXPECT_TRUE(got.tasks.empty()) << "the rate is the key's, whatever the kind";
    WEIR_ASSERT_TRUE(at.next_at.has_value());
    EXPECT_EQ(*at.next_at, at.now + 1s);
    at.now += 1s;
    got = co_await at.poll("wb", 1, 10);
    EXPECT_EQ(got.tasks.size(), 1U);
    key_change change;
    change.is_paused = true;
    co_await at.kept->change_key("default", "k", change, at.now);
    at.now += 10s;
    got = co_await at.poll("wa", 2, 10);
    EXPECT_TRUE(got.tasks.empty());
    EXPECT_FALSE(at.next_at.has_value());
    change.is_paused = false;
    co_await at.kept->change_key("default", "k", change, at.now);
    got = co_await at.poll("wa", 2, 10);
    EXPECT_EQ(got.tasks.size(), 1U);
    got = co_await at.poll("wb", 2, 10);
    EXPECT_TRUE(got.tasks.empty());
    // A rate that is taken away while it holds tasks back holds them no longer.
    change.rate = 0;
    co_await at.kept->change_key("default", "k", change, at.now);
    got = co_await at.poll("wb", 2, 10);
    EXPECT_EQ(got.tasks.size(), 2U);
}

// A key that is full, and slow once a run has ended, is found when its time has come.
WEIR_STORE_TEST(StoreWorkerClaim, AFullKeyThatBecomesSlowIsNotForgotten) {
    queue_limits limits;
    limits.key_max_running = 1;
    limits.key_rate = 0.1;
    co_await at.kept->limit("default", limits);
    co_await at.submit_remote(1, "a", "k");
    co_await at.submit_remote(1, "b", "k");
    co_await at.add_worker("wa", "a");
    co_await at.add_worker("wb", "b");
    const worker_claim_answer first = co_await at.poll("wa", 1, 10);
    WEIR_ASSERT_EQ(first.tasks.size(), 1U);
    worker_claim_answer other = co_await at.poll("wb", 1, 10);
    EXPECT_TRUE(other.tasks.empty());
    at.now += 2s;
    co_await at.report("wa", bench::ending(first.tasks[0], task_state::completed));
    other = co_await at.poll("wb", 1, 10);
    EXPECT_TRUE(other.tasks.empty());
    EXPECT_EQ(at.next_at, at.now + 8s);
    at.now += 8s;
    other = co_await at.poll("wb", 1, 10);
    EXPECT_EQ(other.tasks.size(), 1U);
}

// ---- turns

WEIR_STORE_TEST(StoreWorkerClaim, KeysAndQueuesTakeTurns) {
    co_await at.submit_remote(100, "a", "x", "q1");
    co_await at.submit_remote(2, "a", "y", "q1");
    co_await at.submit_remote(3, "a", "z", "q2");
    co_await at.add_worker("w", "a");
    std::string keys;
    for (std::uint64_t number = 1; number <= 4; ++number) {
        const worker_claim_answer got = co_await at.poll("w", number, 2);
        keys += keys_of(got.tasks);
    }
    EXPECT_EQ(keys, "xzyzxzyx") << "queues alternate, and the keys of each queue";
}

// Claims of other kinds move no turns: however often they come, no queue and no key starves.
WEIR_STORE_TEST(StoreWorkerClaim, TurnsOfOtherKindsDelayNobody) {
    for (const char* const queue : {"q1", "q2"}) {
        co_await at.submit_remote(20, "a", "x", queue);
        co_await at.submit_remote(20, "b", "x", queue);
        co_await at.submit_many(20, "x", queue);
    }
    co_await at.beat("n");
    co_await at.add_worker("wa", "a");
    co_await at.add_worker("wb", "b", "q2");
    std::string queues;
    for (std::uint64_t number = 1; number <= 6; ++number) {
        const worker_claim_answer got = co_await at.poll("wa", number, 1);
        queues += queues_of(got.tasks);
        co_await at.poll("wb", number, 1);
        co_await at.claim(1, "n");
    }
    EXPECT_EQ(queues, "q1q2q1q2q1q2");
}

WEIR_STORE_TEST(StoreWorkerClaim, PriorityAndAgeDecideWithinAKeyOverAllKinds) {
    std::vector<task_id> order;
    const std::vector<std::pair<std::string, int>> tasks = {{"a", 0}, {"b", 5}, {"a", 5},
                                                            {"b", 0}, {"c", 9}, {"a", 7}};
    for (const auto& [kind, priority] : tasks) {
        new_task fresh = bench::make_remote(kind, "k");
        fresh.priority = priority;
        const submit_result made = co_await at.submit(fresh);
        order.push_back(made.id);
    }
    co_await at.add_worker("w", "a b");
    std::vector<task_id> got;
    for (const std::size_t free : {1U, 3U, 5U}) {
        const worker_claim_answer some = co_await at.poll("w", got.size() + 1, free);
        for (const task_record& each : some.tasks) {
            got.push_back(each.id);
        }
    }
    EXPECT_EQ(got, (std::vector<task_id>{order[5], order[1], order[2], order[0], order[3]}));
}

// A session of several kinds and one of a single kind share keys: each key gets its turn of both.
WEIR_STORE_TEST(StoreWorkerClaim, RandomSessionsServeAllKeysEvenly) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
        std::mt19937 random(seed);
        const std::string queue = "s" + std::to_string(seed);
        const std::string suffix = std::to_string(seed);
        for (const char* const key : {"x", "y", "z"}) {
            co_await at.submit_remote(60, "a", key, queue);
            co_await at.submit_remote(60, "b", key, queue);
        }
        co_await at.add_worker("wa" + suffix, "a", queue, 1h);
        co_await at.add_worker("wab" + suffix, "a b", queue, 1h);
        std::map<std::string, std::map<std::string, int>> served;  // by worker and key
        std::uint64_t number = 0;
        for (int i = 0; i < 60; ++i) {
            const std::string worker = (random() % 2 == 0 ? "wa" : "wab") + suffix;
            const worker_claim_answer got = co_await at.poll(worker, ++number, 1 + random() % 3);
            for (const task_record& each : got.tasks) {
                ++served[worker][each.flow_key];
            }
        }
        for (const auto& [worker, keys] : served) {
            EXPECT_EQ(keys.size(), 3U);
            for (const auto& [key, count] : keys) {
                const int first = keys.begin()->second;
                EXPECT_NEAR(count, first, first / 4 + 2) << worker << " " << key;
            }
        }
    }
}

// ---- other operations

WEIR_STORE_TEST(StoreWorkerClaim, ChangesOfTasksKnowTheirPool) {
    co_await at.add_worker("w", "a");
    const std::vector<task_id> ids = co_await at.submit_remote(5, "a", "k");
    task_edit edit;
    edit.payload = "7";
    edit.priority = 3;
    change_result changed = co_await at.kept->edit(ids[4], edit, at.now);
    EXPECT_EQ(changed, change_result::done);
    changed = co_await at.kept->cancel(ids[0], at.now);
    EXPECT_EQ(changed, change_result::done);
    bulk_change removal;
    removal.action = task_action::remove;
    removal.ids.push_back(ids[0]);
    const std::vector<change_result> removed = co_await at.kept->change_tasks(removal, at.now);
    EXPECT_EQ(removed.at(0), change_result::done);
    const worker_claim_answer got = co_await at.poll("w", 1, 2);
    WEIR_ASSERT_EQ(got.tasks.size(), 2U);
    EXPECT_EQ(got.tasks[0].id, ids[4]);
    EXPECT_EQ(got.tasks[0].payload, "7");
    co_await at.report("w", bench::ending(got.tasks[0], task_state::failed));
    co_await at.kept->retry(ids[4], at.now);
    const worker_claim_answer again = co_await at.poll("w", 2, 1);
    WEIR_ASSERT_EQ(again.tasks.size(), 1U);
    EXPECT_EQ(again.tasks[0].id, ids[4]);
    const worker_kind kind = co_await at.kind_of("a");
    EXPECT_EQ(kind.due, 2U);
    EXPECT_EQ(kind.running, 2U);
    const std::vector<key_record> keys = co_await at.kept->keys("default", key_query());
    WEIR_ASSERT_EQ(keys.size(), 1U);
    EXPECT_EQ(keys[0].due, 2U);
    EXPECT_EQ(keys[0].running, 2U);
    const std::vector<due_queue> due = co_await at.kept->oldest_due(at.now);
    EXPECT_EQ(due.size(), 1U);
}

WEIR_STORE_TEST(StoreWorkerClaim, AQueueIsRemovedWithItsTasksForWorkers) {
    co_await at.submit_remote(120, "a", "k", "gone");
    co_await at.submit_remote(1, "a", "k", "stays");
    co_await at.add_worker("w", "a");
    co_await at.poll("w", 1, 1);  // its turns count for the queue
    worker_claim_answer got = co_await at.poll("w", 1, 1);
    co_await at.report("w", bench::ending(got.tasks.at(0), task_state::completed));
    const queue_removal removed = co_await at.kept->remove_queue("gone", true);
    EXPECT_EQ(removed.what, queue_removal::verdict::removed);
    got = co_await at.poll("w", 2, 10);
    EXPECT_EQ(queues_of(got.tasks), "stays");
    const worker_kind kind = co_await at.kind_of("a");
    EXPECT_EQ(kind.due, 0U);
    co_await at.report("w", bench::ending(got.tasks.at(0), task_state::completed));
    at.now += 24h * 40;
    for (int i = 0; i < 5; ++i) {
        co_await at.kept->purge(retention(), at.now);
    }
    co_await at.submit_remote(1, "a", "k", "gone");
    co_await at.add_worker("v", "a");
    got = co_await at.poll("v", 1, 10);
    EXPECT_EQ(got.tasks.size(), 1U);
}

// ---- cost

// Steps of SQLite's virtual machine for a claim, which is taken back.
task<std::int64_t> steps_of(weir::sqlite::database& tables, worker_claim poll, moment now,
                            std::size_t right) {
    struct taken_back {};
    std::int64_t steps = 0;
    auto count = [](weir::sqlite::session& session) {
        return session
            .query(
                "SELECT ifnull(sum(nstep), 0) FROM sqlite_stmt WHERE sql NOT LIKE "
                "'%nstep%'")
            .one<std::int64_t>();
    };
    auto claim = [&](weir::sqlite::session& session) {
        const std::int64_t before = count(session);
        detail::event_list events(false, now.at);
        const std::vector<worker_claim> polls(1, poll);
        detail::sqlite_sql_session on(session);
        const worker_claims claims = detail::worker_claim_operation(on, now, events).run(polls);
        EXPECT_EQ(claims.answers.at(0).tasks.size(), right);
        steps = count(session) - before;
        throw taken_back();
    };
    try {
        co_await tables.write(claim);
    } catch (const taken_back&) {
    }
    co_return steps;
}

// A claim does the same work whatever waits beside it: tasks of other kinds, of nodes, more tasks
// of its own kind, and keys that are full.
TEST(StoreWorkerCost, AClaimDoesNotLookAtWhatItCannotGet) {
    const auto body = [](bench& at) -> task<> {
        queue_limits limits;
        limits.key_max_running = 1;
        co_await at.kept->limit("default", limits);
        co_await at.add_worker("w", "a b", "", 24h);
        co_await at.add_worker("v", "c", "", 24h);
        co_await at.beat("n", 24h);
        co_await at.submit_remote(20, "a", "own");
        std::vector<new_task> fresh;
        for (int i = 0; i < 8; ++i) {
            fresh.push_back(bench::make_remote("a", "free" + std::to_string(i)));
        }
        co_await at.kept->submit(fresh, at.now);
        weir::sqlite::database tables =
            co_await weir::sqlite::open((at.folder.path() / "tasks.db").string());
        const weir::sqlite::rows has_counts =
            co_await tables.query("SELECT 1 FROM pragma_module_list WHERE name = 'sqlite_stmt'");
        if (has_counts.empty()) {
            GTEST_LOG_(INFO) << "this SQLite does not count its steps";
            co_return;
        }
        worker_claim poll;
        poll.worker = "w";
        poll.free = 4;
        co_await steps_of(tables, poll, at.now, 4);  // prepares the statements
        const std::int64_t few = co_await steps_of(tables, poll, at.now, 4);
        // 10,000 keys that are full, 40,000 tasks beside.
        for (int part = 0; part < (weir_test::is_sanitized ? 2 : 10); ++part) {
            std::vector<new_task> many;
            for (int i = 0; i < 1000; ++i) {
                const std::string key = "full" + std::to_string(1000 * part + i);
                many.push_back(bench::make_remote("c", key));
                many.push_back(bench::make_remote("a", key));
                for (int j = 0; j < 2; ++j) {
                    many.push_back(bench::make_remote("d" + std::to_string(j), "d"));
                    many.push_back(bench::make("local"));
                }
            }
            co_await at.kept->submit(std::move(many), at.now);
            const worker_claim_answer got =
                co_await at.poll("v", static_cast<std::uint64_t>(part) + 1, 1000);
            EXPECT_EQ(got.tasks.size(), 1000U);
        }
        // Each full key is found once, and held, a thousand in a claim.
        int claims = 0;
        do {
            ++claims;
            const worker_claim_answer got =
                co_await at.poll("w", static_cast<std::uint64_t>(claims), 1000);
            for (const task_record& each : got.tasks) {
                co_await at.report("w", at.again(each, 0s));
            }
        } while (at.next_at == at.now && claims < 20);
        EXPECT_LE(claims, 12);
        poll.poll = 100;
        co_await steps_of(tables, poll, at.now, 4);
        const std::int64_t many = co_await steps_of(tables, poll, at.now, 4);
        EXPECT_LE(many, few + few / 4) << "steps beside 60,000 tasks, and without them";
        EXPECT_LT(few, 20'000);
        co_await tables.close();
    };
    store_kind kind = all_stores()[0];
    kind.inspect = nullptr;  // it takes long for so many
    run_on(kind, body);
}

// A poll that finds nothing writes nothing, however many tasks others wait for.
TEST(StoreWorkerCost, APollThatWaitsWritesNothing) {
    const auto body = [](bench& at) -> task<> {
        queue_limits limits;
        limits.key_max_running = 1;
        co_await at.kept->limit("default", limits);
        co_await at.submit_remote(100, "a", "full");
        co_await at.submit_remote(100, "b", "full");
        co_await at.add_worker("w", "a");
        co_await at.add_worker("v", "b");
        co_await at.poll("w", 1, 1);
        co_await at.poll("v", 1, 1);
        weir::sqlite::database watcher =
            co_await weir::sqlite::open((at.folder.path() / "tasks.db").string());
        const weir::sqlite::rows before = co_await watcher.query("PRAGMA data_version");
        for (int i = 0; i < 100; ++i) {
            at.now += 20ms;
            const worker_claim_answer none = co_await at.poll("v", 1, 1);
            EXPECT_TRUE(none.tasks.empty());
        }
        const weir::sqlite::rows after = co_await watcher.query("PRAGMA data_version");
        EXPECT_EQ(before.one<std::int64_t>(), after.one<std::int64_t>()) << "polls have written";
        co_await watcher.close();
    };
    run_on(all_stores()[0], body);
}

// A process of an older version moves tasks to their branch without offering it.
TEST(StoreWorkerOlder, BranchesThatAnOlderProcessHidesAreFound) {
    const auto body = [](bench& at) -> task<> {
        co_await at.submit_remote(2, "a", "k");
        co_await at.submit_remote(1, "a", "l");
        co_await at.add_worker("w", "a");
        weir::sqlite::database older =
            co_await weir::sqlite::open((at.folder.path() / "tasks.db").string());
        co_await older.execute("UPDATE branches SET offered = NULL");
        worker_claim_answer got = co_await at.poll("w", 1, 1);
        EXPECT_EQ(keys_of(got.tasks), "k");
        // It does not offer what its flow holds either, until a process opens the file.
        co_await older.execute("UPDATE branches SET offered = 0 WHERE due > 0");
        co_await older.execute(
            "UPDATE flows SET held_branches = (SELECT count(*) FROM branches WHERE flow = flows.id "
            "AND offered = 0)");
        co_await older.close();
        co_await at.reopen();
        got = co_await at.poll("w", 2, 10);
        EXPECT_EQ(keys_of(got.tasks), "lk");
    };
    run_on(all_stores()[0], body);
}

}  // namespace
