// SPDX-License-Identifier: MIT
// Turns, limits and rates: no key waits longer than a round, and no task runs against a limit.

#include "stores.hpp"

#include <random>

namespace {

using namespace store_test;
using reason = hold::reason;

WEIR_STORE_SUITE(StoreLimits);

std::vector<std::string> keys_of(const claimed& claim) {
    std::vector<std::string> keys;
    for (const task_record& each : claim.tasks) {
        keys.push_back(each.flow_key);
    }
    return keys;
}

WEIR_STORE_TEST(StoreLimits, KeysTakeTurns) {
    co_await at.submit_many(50, "big");
    co_await at.submit_many(2, "x");
    co_await at.submit_many(2, "");
    co_await at.beat("a");
    const claimed six = co_await at.claim(6);
    std::vector<std::string> keys = keys_of(six);
    std::sort(keys.begin(), keys.begin() + 3);
    std::sort(keys.begin() + 3, keys.end());
    const std::vector<std::string> rounds = {"", "big", "x", "", "big", "x"};
    EXPECT_EQ(keys, rounds);
    // A key that is added later waits for one task of each waiting key.
    co_await at.submit_many(1, "late");
    const claimed two = co_await at.claim(2);
    keys = keys_of(two);
    EXPECT_TRUE(keys[0] == "late" || keys[1] == "late");
}

WEIR_STORE_TEST(StoreLimits, QueuesTakeTurns) {
    co_await at.submit_many(50, "", "big");
    co_await at.submit_many(2, "", "small");
    co_await at.beat("a");
    for (int i = 0; i < 2; ++i) {
        const claimed two = co_await at.claim(2);
        WEIR_ASSERT_EQ(two.tasks.size(), 2U);
        EXPECT_NE(two.tasks[0].queue, two.tasks[1].queue);
    }
    const claimed rest = co_await at.claim(100);
    EXPECT_EQ(rest.tasks.size(), 48U);
}

// Random keys are added and removed, with and without limits. A key that waits and could run sees
// at most one task of each other key before its own.
WEIR_STORE_TEST(StoreLimits, NobodyIsPassedTwice) {
    std::mt19937 random(11);
    struct key_state {
        int waiting = 0;
        int running = 0;
        std::map<std::string, int> passed_by;
    };
    co_await at.beat("a", 24h);
    for (const int most_running : {0, 1, 3}) {
        queue_limits limits;
        limits.key_max_running = static_cast<std::uint32_t>(most_running);
        const std::string queue = "queue " + std::to_string(most_running);
        co_await at.kept->limit(queue, limits);
        std::map<std::string, key_state> keys;
        std::vector<task_record> running;
        const auto could_run = [&](const key_state& state) {
            return state.waiting > 0 && (most_running == 0 || state.running < most_running);
        };
        const auto look_at_all = [&] {
            for (auto& [name, waiting_key] : keys) {
                if (!could_run(waiting_key)) {
                    waiting_key.passed_by.clear();
                }
            }
        };
        for (int round = 0; round < 80; ++round) {
            at.now += 1ms;
            std::vector<new_task> fresh;
            for (unsigned i = random() % 6; i > 0; --i) {
                const std::string key = "key " + std::to_string(random() % 12);
                for (unsigned j = random() % 8 == 0 ? 20 : 1; j > 0; --j) {
                    fresh.push_back(bench::make(key, queue));
                    ++keys[key].waiting;
                }
            }
            co_await at.kept->submit(fresh, at.now);
            const claimed claim = co_await at.claim(1 + random() % 7);
            for (const task_record& each : claim.tasks) {
                for (auto& [name, waiting_key] : keys) {
                    if (name != each.flow_key && could_run(waiting_key)) {
                        EXPECT_LE(++waiting_key.passed_by[each.flow_key], 1)
                            << name << " by " << each.flow_key << " in round " << round;
                    }
                }
                key_state& served = keys[each.flow_key];
                EXPECT_TRUE(could_run(served));
                served.passed_by.clear();
                --served.waiting;
                ++served.running;
                running.push_back(each);
                look_at_all();
            }
            std::shuffle(running.begin(), running.end(), random);
            std::vector<settlement> ended;
            for (std::size_t i = random() % (running.size() + 1); i > 0; --i) {
                --keys[running.back().flow_key].running;
                ended.push_back(bench::ending(running.back(), task_state::completed));
                running.pop_back();
            }
            co_await at.kept->settle("a", ended, at.now);
            look_at_all();
            if (round % 20 == 19) {
                // Keys that are forgotten and come again do not go first.
                co_await at.kept->purge({0s, 0s, 0s}, at.now);
            }
        }
        co_await at.complete(running);
        for (;;) {
            const claimed rest = co_await at.claim(1000);
            if (rest.tasks.empty()) {
                break;
            }
            co_await at.complete(rest.tasks);
        }
        const queue_record empty = co_await at.queue(queue);
        EXPECT_EQ(empty.count(task_state::pending), 0U);
    }
}

WEIR_STORE_TEST(StoreLimits, NoMoreRunThanMay) {
    queue_limits limits;
    limits.max_running = 5;
    limits.key_max_running = 2;
    co_await at.kept->limit("default", limits);
    std::vector<task_id> of_x = co_await at.submit_many(10, "x");
    co_await at.submit_many(10, "y");
    co_await at.beat("a");
    const claimed four = co_await at.claim(100);
    EXPECT_EQ(four.tasks.size(), 4U);
    EXPECT_FALSE(four.next_at.has_value());  // time does not help
    std::vector<reason> reasons = co_await at.why(of_x[5]);
    EXPECT_EQ(reasons, std::vector{reason::key_full});
    const std::vector<task_id> of_z = co_await at.submit_many(2, "z");
    const claimed one = co_await at.claim(100);
    WEIR_ASSERT_EQ(one.tasks.size(), 1U);
    EXPECT_EQ(one.tasks[0].id, of_z[0]);
    reasons = co_await at.why(of_z[1]);
    EXPECT_EQ(reasons, std::vector{reason::queue_full});
    reasons = co_await at.why(of_x[5]);
    const std::vector both{reason::queue_full, reason::key_full};
    EXPECT_EQ(reasons, both);
    reasons = co_await at.why(of_x[0]);
    EXPECT_EQ(reasons, std::vector{reason::running});
    // A crash frees its slots.
    co_await at.kept->retire("a");
    co_await at.kept->rescue(at.now, 3);
    co_await at.beat("b");
    const claimed five = co_await at.claim(100, "b");
    EXPECT_EQ(five.tasks.size(), 5U);
    const claimed none = co_await at.claim(100, "b");
    EXPECT_TRUE(none.tasks.empty());
    // So do all other ways to end.
    co_await at.settle(bench::ending(five.tasks[0], task_state::failed), "b");
    co_await at.settle(at.again(five.tasks[1], 1h), "b");
    co_await at.kept->cancel(five.tasks[2].id, at.now);
    co_await at.settle(bench::ending(five.tasks[2], task_state::cancelled), "b");
    const claimed three = co_await at.claim(100, "b");
    EXPECT_EQ(three.tasks.size(), 3U);
    // Limits that change hold from then on.
    limits.max_running = 0;
    limits.key_max_running = 3;
    co_await at.kept->limit("default", limits);
    const claimed more = co_await at.claim(100, "b");
    const auto ended_of_z = std::count_if(five.tasks.begin(), five.tasks.begin() + 3,
                                          [](const auto& each) { return each.flow_key == "z"; });
    EXPECT_EQ(more.tasks.size() + 5, 3U + 3U + 2U - static_cast<std::size_t>(ended_of_z));
    co_await at.kept->limit("default", {});
    const claimed all = co_await at.claim(100, "b");
    EXPECT_EQ(all.tasks.size() + more.tasks.size() + 5 + 3, 22U);
}

WEIR_STORE_TEST(StoreLimits, APausedQueueRests) {
    co_await at.kept->pause("default", true);
    const std::vector<task_id> ids = co_await at.submit_many(2);
    new_task later = bench::make();
    later.run_at = at.now + 1s;
    co_await at.submit(later);
    co_await at.submit_many(1, "", "other");
    co_await at.beat("a");
    const claimed one = co_await at.claim(10);
    WEIR_ASSERT_EQ(one.tasks.size(), 1U);
    EXPECT_EQ(one.tasks[0].queue, "other");
    EXPECT_FALSE(one.next_at.has_value());
    std::vector<reason> reasons = co_await at.why(ids[0]);
    EXPECT_EQ(reasons, std::vector{reason::paused});
    queue_record read = co_await at.queue();
    EXPECT_TRUE(read.is_paused);
    EXPECT_EQ(read.count(task_state::pending), 3U);
    EXPECT_EQ(read.due, 2U);
    co_await at.kept->pause("default", false);
    const claimed two = co_await at.claim(10);
    EXPECT_EQ(two.tasks.size(), 2U);
    EXPECT_EQ(two.next_at, at.now + 1s);
    // A queue that has not been used yet.
    co_await at.kept->pause("new", true);
    read = co_await at.queue("new");
    EXPECT_TRUE(read.is_paused);
}

// At random times: in no interval begin more than burst + rate * t, and at next_at one may, not
// before.
WEIR_STORE_TEST(StoreLimits, RatesAreExact) {
    std::mt19937 random(5);
    co_await at.beat("a", 24h);
    int queue_number = 0;
    for (const bool of_key : {false, true}) {
        for (const double rate : {3.0, 0.7, 777.7}) {
            const std::uint32_t burst = 1 + random() % 4;
            queue_limits limits;
            (of_key ? limits.key_rate : limits.rate) = rate;
            (of_key ? limits.key_burst : limits.burst) = burst;
            const std::string queue = "queue " + std::to_string(++queue_number);
            co_await at.kept->limit(queue, limits);
            const std::vector<task_id> ids = co_await at.submit_many(60, "x", queue);
            std::vector<timestamp> begun;
            const timestamp first = at.now;
            while (begun.size() < 60) {
                const claimed some = co_await at.claim(1 + random() % 5);
                begun.insert(begun.end(), some.tasks.size(), at.now);
                co_await at.complete(some.tasks);
                if (begun.size() == 60) {
                    break;
                }
                const claimed more = co_await at.claim(100);
                begun.insert(begun.end(), more.tasks.size(), at.now);
                co_await at.complete(more.tasks);
                if (begun.size() == 60) {
                    break;
                }
                WEIR_ASSERT_TRUE(more.next_at.has_value());
                WEIR_ASSERT_GT(*more.next_at, at.now);
                const auto holds = co_await at.kept->why(ids.back(), at.now);
                WEIR_ASSERT_EQ(holds.size(), 1U);
                EXPECT_EQ(holds[0].why, of_key ? reason::key_rate : reason::queue_rate);
                EXPECT_EQ(holds[0].until, *more.next_at);
                at.now = *more.next_at - 1us;
                const claimed none = co_await at.claim(100);
                EXPECT_TRUE(none.tasks.empty());
                EXPECT_EQ(none.next_at, more.next_at);
                at.now = *more.next_at;
                if (random() % 3 == 0) {  // late
                    const double late = static_cast<double>(random() % 5'000'000) / rate;
                    at.now += std::chrono::microseconds(static_cast<std::int64_t>(late));
                }
            }
            for (std::size_t i = 0; i < begun.size(); ++i) {
                for (std::size_t j = i; j < begun.size(); ++j) {
                    const double seconds =
                        std::chrono::duration<double>(begun[j] - begun[i]).count();
                    EXPECT_LE(static_cast<double>(j - i + 1), burst + rate * seconds + 1e-9);
                }
            }
            EXPECT_LT(std::chrono::duration<double>(at.now - first).count(), 300 / rate);
        }
    }
}

// A slow key does not hold up others, and many slow ones are passed over.
WEIR_STORE_TEST(StoreLimits, SlowKeysAreNoObstacle) {
    queue_limits limits;
    limits.key_rate = 1;
    co_await at.kept->limit("default", limits);
    std::vector<new_task> all;
    for (int i = 0; i < 300; ++i) {
        all.push_back(bench::make("key " + std::to_string(i)));
        all.push_back(bench::make("key " + std::to_string(i)));
    }
    co_await at.kept->submit(all, at.now);
    co_await at.beat("a", 1h);
    std::size_t count = 0;
    for (;;) {
        at.now += 1ms;
        const claimed some = co_await at.claim(7);
        count += some.tasks.size();
        if (some.tasks.size() < 7) {
            EXPECT_EQ(some.next_at, bench().now + 1s + 1ms);
            break;
        }
    }
    EXPECT_EQ(count, 300U);
    at.now += 1s;
    const claimed rest = co_await at.claim(1000);
    EXPECT_EQ(rest.tasks.size(), 300U);
    // A rate that is lifted is lifted at once.
    co_await at.submit_many(5, "key 1");
    const claimed none = co_await at.claim(1000);
    EXPECT_TRUE(none.tasks.empty());
    co_await at.kept->limit("default", {});
    const claimed five = co_await at.claim(1000);
    EXPECT_EQ(five.tasks.size(), 5U);
}

// A key that its rate holds back, while the limits change: the claim ends, and the new ones hold.
WEIR_STORE_TEST(StoreLimits, ASlowedKeyWhoseLimitsChangeWaitsByTheNewOnes) {
    co_await at.beat("a", 1h);
    queue_limits limits;
    limits.key_rate = 0.1;
    co_await at.kept->limit("default", limits);
    co_await at.submit_many(4, "x");
    const claimed first = co_await at.claim(10);
    EXPECT_EQ(first.tasks.size(), 1U);
    EXPECT_EQ(first.next_at, at.now + 10s);
    limits.key_rate = 0.2;
    co_await at.kept->limit("default", limits);
    claimed none = co_await at.claim(10);
    EXPECT_TRUE(none.tasks.empty());
    EXPECT_EQ(none.next_at, at.now + 5s);
    limits.key_rate = 0.05;
    co_await at.kept->limit("default", limits);
    none = co_await at.claim(10);
    EXPECT_TRUE(none.tasks.empty());
    EXPECT_EQ(none.next_at, at.now + 10s) << "it was counted at the former rate";
    limits.key_burst = 2;
    co_await at.kept->limit("default", limits);
    const claimed second = co_await at.claim(10);
    EXPECT_EQ(second.tasks.size(), 1U) << "a larger burst has room for one";
    limits.key_max_running = 2;
    co_await at.kept->limit("default", limits);
    none = co_await at.claim(10);
    EXPECT_TRUE(none.tasks.empty());
    EXPECT_FALSE(none.next_at.has_value()) << "time does not help";
    limits.key_max_running = 3;
    limits.key_rate = 0;
    co_await at.kept->limit("default", limits);
    const claimed third = co_await at.claim(10);
    EXPECT_EQ(third.tasks.size(), 1U);
    co_await at.kept->limit("default", {});
    const claimed last = co_await at.claim(10);
    EXPECT_EQ(last.tasks.size(), 1U);
}

}  // namespace
