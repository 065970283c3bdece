// SPDX-License-Identifier: MIT
// Destinations gate the claim: a task whose destination takes none is not claimed, and holds up no
// other.

#include "stores.hpp"
#include <support/sanitized.hpp>

#include <random>
#include <set>

namespace {

using namespace store_test;
using reason = hold::reason;
using outcome = destination_outcome;

WEIR_STORE_SUITE(StoreDestination);

task<> submit_for(bench& at, std::string destination, std::size_t count, std::string key = "",
                  std::string queue = "default") {
    std::vector<new_task> all(count, bench::make_for(destination, key, queue));
    const std::vector<submit_result> answers = co_await at.kept->submit(std::move(all), at.now);
    for (const submit_result& each : answers) {
        EXPECT_EQ(each.what, submit_result::verdict::made);
    }
}

task<std::vector<std::string>> claim_names(bench& at, std::size_t limit) {
    const claimed claim = co_await at.claim(limit);
    std::vector<std::string> names;
    for (const task_record& each : claim.tasks) {
        names.push_back(each.destination);
    }
    co_return names;
}

// Ends a run, and says what it has learnt.
task<> end(bench& at, const task_record& run, outcome how, timestamp not_before = {}) {
    settlement ended =
        bench::ending(run, how == outcome::answered ? task_state::completed : task_state::failed);
    ended.learnt = {how, not_before};
    const bool is_written = co_await at.settle(ended);
    EXPECT_TRUE(is_written);
}

std::vector<std::string> names(std::initializer_list<const char*> all) {
    return {all.begin(), all.end()};
}

WEIR_STORE_TEST(StoreDestination, ConcurrencyHoldsBackTheRestAndNobodyElse) {
    co_await at.beat("a", 1h);
    co_await at.kept->limit_destinations("work", {.max_running = 2});
    co_await submit_for(at, "slow", 50);
    co_await submit_for(at, "fast", 3);
    co_await at.submit(bench::make());
    const claimed first = co_await at.claim(100);
    WEIR_ASSERT_EQ(first.tasks.size(), 5U);  // two each, and the one without a destination
    EXPECT_EQ(first.tasks[0].destination, "slow");
    EXPECT_EQ(first.next_at, std::nullopt);
    const claimed nothing = co_await at.claim(100);
    EXPECT_TRUE(nothing.tasks.empty());
    co_await end(at, first.tasks[0], outcome::answered);
    const claimed next = co_await at.claim(100);
    WEIR_ASSERT_EQ(next.tasks.size(), 1U);
    EXPECT_EQ(next.tasks[0].destination, "slow");
    const task_record read = co_await at.look(next.tasks[0].id);
    EXPECT_EQ(read.destination, "slow");
    const queue_record queue = co_await at.queue();
    EXPECT_EQ(queue.count(task_state::pending), 48U);
    EXPECT_EQ(queue.due, 48U);
    const std::vector<destination_record> all = co_await at.kept->destinations(10, at.now);
    WEIR_ASSERT_EQ(all.size(), 2U);
    const destination_record& slow = all[all[0].name == "slow" ? 0 : 1];
    EXPECT_EQ(slow.kind, "work");
    EXPECT_EQ(slow.running, 2U);
    EXPECT_EQ(slow.due, 47U);
}

// Priority and age decide within a key, as without destinations.
WEIR_STORE_TEST(StoreDestination, PriorityAndAgeDecide) {
    co_await at.beat("a", 1h);
    co_await at.kept->limit_destinations("work", {.max_running = 1});
    const char* const order[] = {"a", "", "b", "c", "a", ""};
    for (const char* const each : order) {
        co_await at.submit(bench::make_for(each));
    }
    new_task urgent = bench::make_for("d");
    urgent.priority = 5;
    co_await at.submit(urgent);
    const auto claimed = co_await claim_names(at, 10);
    EXPECT_EQ(claimed, names({"d", "a", "", "b", "c", ""}));
}

WEIR_STORE_TEST(StoreDestination, ARateSpacesStarts) {
    co_await at.beat("a", 1h);
    co_await at.kept->limit_destinations("work", {.rate = 2, .burst = 3});
    co_await submit_for(at, "host", 10);
    claimed claim = co_await at.claim(100);
    WEIR_ASSERT_EQ(claim.tasks.size(), 3U);
    WEIR_ASSERT_TRUE(claim.next_at.has_value());
    EXPECT_EQ(*claim.next_at, at.now + 500ms);
    const task_id waiting = claim.tasks[2].id;
    for (int i = 0; i < 3; ++i) {
        at.now = *claim.next_at;
        claim = co_await at.claim(100);
        EXPECT_EQ(claim.tasks.size(), 1U);
    }
    const auto running = co_await at.why(waiting);
    EXPECT_EQ(running, std::vector{reason::running});
}

WEIR_STORE_TEST(StoreDestination, AnOpenCircuitLetsOneTrialThrough) {
    co_await at.beat("a", 1h);
    co_await at.kept->limit_destinations("work",
                                         {.max_running = 3, .open_after = 3, .open_for = 10s});
    co_await submit_for(at, "down", 20);
    const claimed first = co_await at.claim(100);
    WEIR_ASSERT_EQ(first.tasks.size(), 3U);
    for (const task_record& each : first.tasks) {
        co_await end(at, each, outcome::failed);
    }
    claimed nothing = co_await at.claim(100);
    EXPECT_TRUE(nothing.tasks.empty());
    EXPECT_EQ(nothing.next_at, at.now + 10s);
    task_filter pending;
    pending.state = task_state::pending;
    const std::vector<task_record> waiting = co_await at.kept->list(pending, at.now);
    WEIR_ASSERT_EQ(waiting.size(), 17U);
    EXPECT_EQ(waiting[0].run, 0U);
    const std::vector<hold> holds = co_await at.kept->why(waiting[0].id, at.now);
    WEIR_ASSERT_EQ(holds.size(), 1U);
    EXPECT_EQ(holds[0].why, reason::destination_circuit);
    EXPECT_EQ(holds[0].until, at.now + 10s);
    EXPECT_EQ(holds[0].detail, "down");
    const std::vector<destination_record> all = co_await at.kept->destinations(10, at.now);
    EXPECT_EQ(all.at(0).circuit, weir::circuit_state::open);
    EXPECT_EQ(all.at(0).free_at, at.now + 10s);
    if (at.kind->is_lasting) {
        co_await at.reopen();  // a circuit survives the process
    }
    at.now += 10s;
    claimed trial = co_await at.claim(100);
    WEIR_ASSERT_EQ(trial.tasks.size(), 1U);
    nothing = co_await at.claim(100);
    EXPECT_TRUE(nothing.tasks.empty());
    co_await end(at, trial.tasks[0], outcome::failed);
    nothing = co_await at.claim(100);
    EXPECT_TRUE(nothing.tasks.empty());
    at.now += 10s;
    trial = co_await at.claim(100);
    WEIR_ASSERT_EQ(trial.tasks.size(), 1U);
    co_await end(at, trial.tasks[0], outcome::answered);
    const claimed all_again = co_await at.claim(100);
    EXPECT_EQ(all_again.tasks.size(), 3U);
}

// Those that hold tasks back come first; a pause without tasks holds none back.
WEIR_STORE_TEST(StoreDestination, ListsThoseThatHoldTasksBackFirst) {
    co_await at.beat("a", 1h);
    co_await at.kept->limit_destinations("work", {.max_running = 1});
    for (const char* const each : {"c", "b", "d", "a"}) {
        co_await submit_for(at, each, 1);
    }
    const claimed first = co_await at.claim(100);
    for (const task_record& each : first.tasks) {
        const bool is_paused = each.destination == "c" || each.destination == "d";
        co_await end(at, each, outcome::answered, is_paused ? at.now + 1h : timestamp{});
    }
    for (const char* const each : {"d", "b", "a"}) {
        co_await submit_for(at, each, 1);
    }
    const std::vector<destination_record> all = co_await at.kept->destinations(10, at.now);
    std::vector<std::string> listed;
    for (const destination_record& each : all) {
        listed.push_back(each.name);
    }
    EXPECT_EQ(listed, names({"d", "a", "b", "c"}));
}

WEIR_STORE_TEST(StoreDestination, APauseHoldsAllItsTasks) {
    co_await at.beat("a", 1h);
    co_await submit_for(at, "limited", 5);
    co_await submit_for(at, "other", 1);
    const claimed first = co_await at.claim(1);
    co_await end(at, first.tasks.at(0), outcome::answered, at.now + 30s);
    const auto rest = co_await claim_names(at, 100);
    EXPECT_EQ(rest, names({"other"}));
    const claimed nothing = co_await at.claim(100);
    EXPECT_EQ(nothing.next_at, at.now + 30s);
    co_await submit_for(at, "limited", 1);
    const claimed still = co_await at.claim(100);
    EXPECT_TRUE(still.tasks.empty());
    at.now += 30s;
    const auto later = co_await claim_names(at, 100);
    EXPECT_EQ(later.size(), 5U);
}

// Kinds have destinations of their own, and limits.
WEIR_STORE_TEST(StoreDestination, KindsAreApart) {
    co_await at.beat("a", 1h);
    co_await at.kept->limit_destinations("work", {.max_running = 1});
    for (const char* const kind : {"work", "work", "other", "other"}) {
        new_task fresh = bench::make_for("host");
        fresh.kind = kind;
        co_await at.submit(fresh);
    }
    const auto claimed = co_await claim_names(at, 100);
    EXPECT_EQ(claimed.size(), 3U);
}

WEIR_STORE_TEST(StoreDestination, LimitsMayChangeWhileTheyHold) {
    co_await at.beat("a", 1h);
    co_await at.kept->limit_destinations("work", {.max_running = 1});
    co_await submit_for(at, "host", 10);
    auto claimed = co_await claim_names(at, 100);
    EXPECT_EQ(claimed.size(), 1U);
    claimed = co_await claim_names(at, 100);
    EXPECT_EQ(claimed.size(), 0U);
    co_await at.kept->limit_destinations("work", {.max_running = 4});
    claimed = co_await claim_names(at, 100);
    EXPECT_EQ(claimed.size(), 3U);
    co_await at.kept->limit_destinations("work", {.max_running = 2});
    claimed = co_await claim_names(at, 100);
    EXPECT_EQ(claimed.size(), 0U);
    co_await at.kept->limit_destinations("work", {.rate = 1});
    claimed = co_await claim_names(at, 100);
    EXPECT_EQ(claimed.size(), 1U);
    co_await at.kept->limit_destinations("work", {});
    claimed = co_await claim_names(at, 100);
    EXPECT_EQ(claimed.size(), 5U);
}

// A crash leaks no place, cancelled tasks leave the line.
WEIR_STORE_TEST(StoreDestination, EveryEndFreesThePlace) {
    co_await at.kept->limit_destinations("work", {.max_running = 1});
    co_await submit_for(at, "host", 4);
    co_await at.beat("a");
    claimed run = co_await at.claim(100);
    WEIR_ASSERT_EQ(run.tasks.size(), 1U);
    at.now += 20s;
    co_await at.kept->rescue(at.now, 3);
    co_await at.beat("b", 1h);
    run = co_await at.claim(100, "b");
    WEIR_ASSERT_EQ(run.tasks.size(), 1U);
    EXPECT_EQ(run.tasks[0].crashes, 1U);
    co_await at.kept->cancel(run.tasks[0].id, at.now);
    const bool is_settled =
        co_await at.settle(bench::ending(run.tasks[0], task_state::cancelled), "b");
    EXPECT_TRUE(is_settled);
    run = co_await at.claim(100, "b");
    WEIR_ASSERT_EQ(run.tasks.size(), 1U);
    co_await at.settle(at.again(run.tasks[0], 5s), "b");
    run = co_await at.claim(100, "b");
    WEIR_ASSERT_EQ(run.tasks.size(), 1U);
    task_filter pending;
    pending.state = task_state::pending;
    const std::vector<task_record> waiting = co_await at.kept->list(pending, at.now);
    WEIR_ASSERT_EQ(waiting.size(), 2U);
    for (const task_record& each : waiting) {
        const change_result done = co_await at.kept->cancel(each.id, at.now);
        EXPECT_EQ(done, change_result::done);
    }
    co_await at.complete(run.tasks, "b");
    const change_result again = co_await at.kept->retry(waiting[0].id, at.now);
    EXPECT_EQ(again, change_result::done);
    run = co_await at.claim(100, "b");
    WEIR_ASSERT_EQ(run.tasks.size(), 1U);
    EXPECT_EQ(run.tasks[0].destination, "host");
    co_await at.complete(run.tasks, "b");
    // When all tasks are gone, so is the destination.
    at.now += std::chrono::hours(24 * 40);
    const std::size_t gone = co_await at.kept->purge({}, at.now);
    EXPECT_EQ(gone, 4U);
    co_await at.kept->purge({}, at.now);
    const std::vector<destination_record> left = co_await at.kept->destinations(10, at.now);
    EXPECT_TRUE(left.empty());
}

// A task that was submitted without its destination gets it when it is returned.
WEIR_STORE_TEST(StoreDestination, MayBeToldLater) {
    co_await at.beat("a", 1h);
    co_await at.kept->limit_destinations("work", {.max_running = 1});
    co_await at.submit_many(3);
    const claimed all = co_await at.claim(100);
    for (const task_record& each : all.tasks) {
        settlement returned = bench::ending(each, task_state::pending);
        returned.due_at = at.now;
        returned.destination = "host";
        co_await at.settle(returned);
    }
    const auto claimed = co_await claim_names(at, 100);
    EXPECT_EQ(claimed, names({"host"}));
}

// Keys with one destination take turns, whatever the number of their tasks.
WEIR_STORE_TEST(StoreDestination, KeysTakeTurnsAtADestination) {
    co_await at.beat("a", 1h);
    co_await at.kept->limit_destinations("work", {.max_running = 1});
    co_await submit_for(at, "host", 30, "greedy");
    co_await submit_for(at, "host", 2, "modest");
    co_await submit_for(at, "host", 2, "third", "other");
    std::map<std::string, int> counts;
    for (int i = 0; i < 6; ++i) {
        const claimed run = co_await at.claim(1);
        WEIR_ASSERT_EQ(run.tasks.size(), 1U);
        ++counts[run.tasks[0].flow_key];
        co_await at.complete(run.tasks);
    }
    EXPECT_EQ(counts["greedy"], 2);
    EXPECT_EQ(counts["modest"], 2);
    EXPECT_EQ(counts["third"], 2);
}

// A branch that its key holds back does not keep the place of its destination from others.
WEIR_STORE_TEST(StoreDestination, ABlockedKeyDoesNotBlockTheDestination) {
    co_await at.beat("a", 1h);
    co_await at.kept->limit_destinations("work", {.max_running = 1});
    queue_limits one;
    one.key_max_running = 1;
    co_await at.kept->limit("default", one);
    co_await submit_for(at, "first", 1, "busy");
    co_await submit_for(at, "shared", 5, "busy");
    co_await submit_for(at, "shared", 1, "free");
    co_await submit_for(at, "shared", 1, "paused", "paused");
    co_await at.kept->pause("paused", true);
    const claimed run = co_await at.claim(100);
    WEIR_ASSERT_EQ(run.tasks.size(), 2U);
    EXPECT_EQ(run.tasks[0].destination, "first");
    EXPECT_EQ(run.tasks[1].flow_key, "free");
    co_await at.settle(bench::ending(run.tasks[1], task_state::completed));
    claimed nothing = co_await at.claim(100);
    EXPECT_TRUE(nothing.tasks.empty()) << "the only key with tasks for it is busy";
    co_await at.kept->pause("paused", false);
    const claimed resumed = co_await at.claim(100);
    WEIR_ASSERT_EQ(resumed.tasks.size(), 1U);
    co_await at.settle(bench::ending(run.tasks[0], task_state::completed));
    nothing = co_await at.claim(100);
    EXPECT_TRUE(nothing.tasks.empty()) << "now the destination is";
    co_await at.complete(resumed.tasks);
    const claimed last = co_await at.claim(100);
    WEIR_ASSERT_EQ(last.tasks.size(), 1U);
    EXPECT_EQ(last.tasks[0].flow_key, "busy");
}

// While the circuits of many destinations are open, claims write nothing and do not read their
// tasks; when a circuit allows it, one task of each runs.
TEST(StoreDestinationCost, TenThousandThatAreDownCostNothing) {
    constexpr int count = weir_test::is_sanitized ? 2000 : 10'000;
    const auto body = [](bench& at) -> task<> {
        co_await at.beat("a", 24h);
        co_await at.kept->limit_destinations("work",
                                             {.max_running = 1, .open_after = 1, .open_for = 30s});
        for (int part = 0; part < count; part += 1000) {
            std::vector<new_task> all;
            for (int i = part; i < part + 1000; ++i) {
                all.insert(all.end(), 2, bench::make_for("host" + std::to_string(i)));
            }
            co_await at.kept->submit(std::move(all), at.now);
        }
        claimed claim;
        std::size_t begun = 0;
        for (int i = 0; i < 100 && (claim.next_at == at.now || begun == 0); ++i) {
            claim = co_await at.claim(500);
            std::vector<settlement> ended;
            for (const task_record& each : claim.tasks) {
                ended.push_back(at.again(each, 10min));
                ended.back().learnt.outcome = outcome::failed;
            }
            begun += ended.size();
            co_await at.kept->settle("a", std::move(ended), at.now);
        }
        EXPECT_EQ(begun, static_cast<std::size_t>(count));
        weir::sqlite::database watcher =
            co_await weir::sqlite::open((at.folder.path() / "tasks.db").string());
        const weir::sqlite::rows before = co_await watcher.query("PRAGMA data_version");
        for (int i = 0; i < 1000; ++i) {
            at.now += 20ms;
            claim = co_await at.claim(100);
            EXPECT_TRUE(claim.tasks.empty());
            EXPECT_GT(*claim.next_at, at.now);
        }
        const weir::sqlite::rows after = co_await watcher.query("PRAGMA data_version");
        EXPECT_EQ(before.one<std::int64_t>(), after.one<std::int64_t>()) << "claims have written";
        co_await watcher.close();
        at.now += 10s;
        std::set<std::string> tried;
        do {
            claim = co_await at.claim(1000);
            for (const task_record& each : claim.tasks) {
                EXPECT_TRUE(tried.insert(each.destination).second) << "one trial for each";
            }
        } while (claim.next_at == at.now);
        EXPECT_EQ(tried.size(), static_cast<std::size_t>(count));
    };
    store_kind kind = all_stores()[0];
    kind.inspect = nullptr;  // it counts the tasks of each destination by reading all of them
    run_on(kind, body);
}

// Many tasks with keys and destinations, in random order: no limit is exceeded, no claim that
// returns fewer than it may leaves a task that could run, and all complete.
WEIR_STORE_TEST(StoreDestination, RandomKeysAndDestinationsAllComplete) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](unsigned end) { return static_cast<unsigned>(random() % end); };
        const std::string node = "n" + std::to_string(seed);
        co_await at.beat(node, 24h);
        const destination_limits limits{.max_running = 1 + below(3),
                                        .rate = below(2) * 20.0,
                                        .burst = 1 + below(4),
                                        .open_after = below(2) * 3,
                                        .open_for = 2s};
        co_await at.kept->limit_destinations("work", limits);
        queue_limits keys;
        keys.key_max_running = 1 + below(3);
        keys.max_running = 12;
        co_await at.kept->limit("default", keys);
        std::vector<task_record> runs;
        std::set<task_id> left;
        const auto running = [&](auto matches) {
            return static_cast<std::size_t>(std::count_if(runs.begin(), runs.end(), matches));
        };
        for (int step = 0; step < 1500 && (step < 120 || !left.empty()); ++step) {
            if (step < 100 && below(2) == 0) {
                std::vector<new_task> fresh;
                for (unsigned i = 1 + below(6); i > 0; --i) {
                    new_task& each = fresh.emplace_back(
                        bench::make_for(below(5) == 0 ? "" : "d" + std::to_string(below(6)),
                                        "k" + std::to_string(below(4))));
                    each.priority = static_cast<int>(below(3));
                }
                const auto made = co_await at.kept->submit(fresh, at.now);
                for (const submit_result& each : made) {
                    left.insert(each.id);
                }
            }
            const std::size_t limit = 1 + below(10);
            const claimed claim = co_await at.claim(limit, node);
            runs.insert(runs.end(), claim.tasks.begin(), claim.tasks.end());
            for (const task_record& run : claim.tasks) {
                EXPECT_LE(
                    running([&](const task_record& each) { return each.flow_key == run.flow_key; }),
                    keys.key_max_running);
                if (!run.destination.empty()) {
                    EXPECT_LE(running([&](const task_record& each) {
                                  return each.destination == run.destination;
                              }),
                              limits.max_running);
                }
            }
            if (claim.tasks.size() < limit && claim.next_at != at.now) {
                for (const task_id id : left) {
                    const auto holds = co_await at.why(id);
                    EXPECT_NE(holds.at(0), reason::its_turn)
                        << "seed " << seed << ", step " << step << ": it could run";
                }
            }
            std::shuffle(runs.begin(), runs.end(), random);
            for (std::size_t i = below(static_cast<unsigned>(runs.size()) + 1); i > 0; --i) {
                const task_record run = runs.back();
                runs.pop_back();
                const bool has_failed = below(4) == 0;
                settlement ended = has_failed ? at.again(run, std::chrono::milliseconds(below(500)))
                                              : bench::ending(run, task_state::completed);
                ended.learnt.outcome = has_failed ? outcome::failed : outcome::answered;
                const bool is_written = co_await at.settle(ended, node);
                EXPECT_TRUE(is_written);
                if (!has_failed) {
                    left.erase(run.id);
                }
            }
            at.now += std::chrono::milliseconds(below(100));
        }
        EXPECT_TRUE(left.empty()) << "seed " << seed;
    }
}

}  // namespace
