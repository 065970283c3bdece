// SPDX-License-Identifier: MIT
#include "service/engine/runner.hpp"

#include "components.hpp"

#include <functional>
#include <map>
#include <optional>

namespace weir::service::testing {
namespace {

task_record claimed_task(std::string kind, std::int64_t id = 1) {
    task_record record;
    record.kind = std::move(kind);
    record.id = task_id(id);
    record.state = task_state::running;
    record.run = 1;
    return record;
}

WEIR_TEST(Runner, HandsTheEndOfARunToTheSettler) {
    components parts;
    parts.leases.take_first();
    parts.handlers.add("work", do_nothing, {});
    auto body = [&](task_group& group) -> task<> {
        task_record task = claimed_task("work");
        EXPECT_FALSE(parts.runner.start(task, parts.leases.current(), false, group).has_value());
        EXPECT_TRUE(parts.runner.is_running(task_id(1)));
        co_await parts.runner.wait_until_idle();
    };
    co_await with_group(body);
    std::vector<run_key> ended;
    parts.settler.append_unsettled(parts.leases.current(), ended);
    WEIR_ASSERT_EQ(ended.size(), 1u);
    EXPECT_EQ(ended.front().id, task_id(1));
    EXPECT_EQ(parts.stats().started, 1u);
}

WEIR_TEST(Runner, RefusesAnUnknownKind) {
    components parts;
    parts.leases.take_first();
    auto body = [&](task_group& group) -> task<> {
        task_record task = claimed_task("unknown");
        const auto refused = parts.runner.start(task, parts.leases.current(), false, group);
        EXPECT_TRUE(refused.has_value());
        EXPECT_EQ(refused->reason, "no handler for 'unknown'");
        EXPECT_EQ(task.kind, "unknown") << "it is left as it is";
        EXPECT_EQ(parts.runner.running(), 0u);
        co_return;
    };
    co_await with_group(body);
}

WEIR_TEST(Runner, RunsOneTaskAtATimeThatOneMoreCrashFails) {
    components parts({.max_crashes = 2});
    parts.leases.take_first();
    parts.handlers.add("work", wait_for_stop, {});
    auto body = [&](task_group& group) -> task<> {
        task_record first = claimed_task("work", 1);
        task_record second = claimed_task("work", 2);
        first.crashes = second.crashes = 1;
        EXPECT_FALSE(parts.runner.start(first, parts.leases.current(), false, group).has_value());
        EXPECT_TRUE(parts.runner.start(second, parts.leases.current(), false, group).has_value());
        parts.runner.stop_all(detail::stop_cause::given_back);
        co_return;
    };
    co_await with_group(body);
}

WEIR_TEST(Runner, KeepsAStoppedRunUntilItsHandlerEnds) {
    components parts;
    parts.leases.take_first();
    event may_end;
    parts.handlers.add("slow",
                       [&](job&) -> task<json> {
                           co_await shield(may_end.wait());
                           co_return nullptr;
                       },
                       {});
    auto body = [&](task_group& group) -> task<> {
        const any_handle watching = group.spawn(parts.runner.watch());
        task_record task = claimed_task("slow");
        parts.runner.start(task, parts.leases.current(), false, group);
        co_await settle_all();
        parts.runner.cancel(task_id(1));
        co_await sleep(1min);
        EXPECT_EQ(parts.runner.running(), 1u);
        EXPECT_FALSE(parts.settler.has_unsettled());
        EXPECT_EQ(parts.logged("does not respond to the stop"), 1u);
        may_end.set();
        co_await parts.runner.wait_until_idle();
        EXPECT_TRUE(parts.settler.has_unsettled());
        watching.cancel();
    };
    co_await with_group(body);
}

// Starts runs of this node under its current lease; each test ends them.
task<> with_runs(components& parts, std::function<task<>(const task_group&)> body) {
    parts.leases.take_first();
    auto inside = [&](task_group& group) -> task<> {
        co_await body(group);
        parts.runner.stop_all(detail::stop_cause::given_back);
    };
    co_await with_group(inside);
}

bool start_run(components& parts, const task_group& group, task_record task,
               bool is_cancelled = false) {
    return !parts.runner.start(task, parts.leases.current(), is_cancelled, group).has_value();
}

std::size_t count_unsettled(const components& parts) {
    std::vector<run_key> all;
    parts.settler.append_unsettled(parts.leases.current(), all);
    return all.size();
}

// Settles what has ended against a record in the store, and returns it.
task<task_detail> settled_end(components& parts, task_id id) {
    const handle<> settling = weir::spawn(parts.settler.run());
    co_await parts.settler.wait_until_settled(1s);
    settling.cancel();
    co_await settling.wait();
    const std::optional<task_detail> found = co_await parts.memory.find(id);
    co_return found.value();
}

WEIR_TEST(Runner, CountsRunsByLease) {
    components parts({.workers = 3});
    parts.handlers.add("work", wait_for_stop, {});
    const auto body = [&](const task_group& group) -> task<> {
        const detail::lease& owner = parts.leases.current();
        const detail::lease other(1, {});
        EXPECT_EQ(parts.runner.free_workers(), 3u);
        for (std::int64_t id = 1; id <= 4; ++id) {
            EXPECT_TRUE(start_run(parts, group, claimed_task("work", id)));
        }
        co_await settle_all();
        EXPECT_EQ(parts.runner.running(), 4u);
        EXPECT_EQ(parts.runner.free_workers(), 0u) << "not less";
        EXPECT_EQ(parts.runner.running(owner), 4u);
        EXPECT_EQ(parts.runner.running(other), 0u);
        EXPECT_FALSE(parts.runner.is_running(task_id(5)));
        parts.runner.cancel(task_id(2));
        co_await settle_all();
        EXPECT_EQ(parts.runner.running(), 3u);
        EXPECT_EQ(parts.runner.running(owner), 3u);
        EXPECT_FALSE(parts.runner.is_running(task_id(2)));
        for (const std::int64_t id : {1, 3, 4}) {
            EXPECT_TRUE(parts.runner.is_running(task_id(id)));
        }
        std::vector<run_key> keys;
        parts.runner.append_running(keys);
        EXPECT_EQ(keys.size(), 3u);
        EXPECT_EQ(keys.at(0).run, 1u);
        parts.runner.cancel(task_id(4));
        parts.runner.cancel(task_id(1));
        co_await settle_all();
        EXPECT_EQ(parts.runner.running(owner), 1u);
        EXPECT_TRUE(parts.runner.is_running(task_id(3)));
        EXPECT_EQ(parts.runner.free_workers(), 2u);
        EXPECT_EQ(parts.stats().running, 1u);
        EXPECT_EQ(parts.stats().started, 4u);
        parts.runner.stop_all(other, detail::stop_cause::lease_lost);
        co_await settle_all();
        EXPECT_EQ(parts.runner.running(), 1u) << "of another lease";
        parts.runner.stop_all(owner, detail::stop_cause::lease_lost);
        co_await parts.runner.wait_until_idle();
        EXPECT_EQ(parts.runner.running(owner), 0u);
        EXPECT_EQ(count_unsettled(parts), 4u);
    };
    co_await with_runs(parts, body);
}

// A cancel from the store names a run of a lease: another run of the task is not meant.
WEIR_TEST(Runner, CancelsOneRunOfOneLease) {
    components parts;
    parts.handlers.add("work", wait_for_stop, {});
    const auto body = [&](const task_group& group) -> task<> {
        const detail::lease& owner = parts.leases.current();
        const detail::lease other(1, {});
        task_record task = claimed_task("work", 7);
        task.run = 3;
        EXPECT_TRUE(start_run(parts, group, task));
        co_await settle_all();
        parts.runner.cancel(other, {task_id(7), 3});
        parts.runner.cancel(owner, {task_id(7), 2});
        parts.runner.cancel(owner, {task_id(8), 3});
        parts.runner.cancel(task_id(8));
        co_await settle_all();
        EXPECT_EQ(parts.runner.running(), 1u);
        parts.runner.cancel(owner, {task_id(7), 3});
        co_await settle_all();
        EXPECT_EQ(parts.runner.running(), 0u);
    };
    co_await with_runs(parts, body);
}

WEIR_TEST(Runner, ATaskThatIsCancelledBeforeItBeginsDoesNotBegin) {
    components parts;
    int begun = 0;
    parts.handlers.add("work",
                       [&](job&) -> task<json> {
                           ++begun;
                           co_return nullptr;
                       },
                       {});
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    task_record task = co_await parts.claim_one();
    auto body = [&](task_group& group) -> weir::task<> {
        EXPECT_TRUE(start_run(parts, group, task, true));
        co_await parts.runner.wait_until_idle();
    };
    co_await with_group(body);
    EXPECT_EQ(begun, 0);
    const task_detail ended = co_await settled_end(parts, id);
    EXPECT_EQ(ended.task.state, task_state::cancelled);
    EXPECT_EQ(ended.attempts.at(0).end, attempt_end::cancelled);
}

// The first cause of a stop counts, and only a cancel is stronger than a timeout.
WEIR_TEST(Runner, TheFirstCauseOfAStopCounts) {
    using detail::stop_cause;
    struct situation {
        bool is_expired;
        stop_cause first;
        stop_cause second;
        task_state state;
        std::size_t attempts;
    };
    const situation all[] = {
        {false, stop_cause::cancelled, stop_cause::lease_lost, task_state::cancelled, 1},
        {false, stop_cause::lease_lost, stop_cause::cancelled, task_state::pending, 0},
        {false, stop_cause::given_back, stop_cause::none, task_state::pending, 0},
        {true, stop_cause::given_back, stop_cause::none, task_state::failed, 1},
        {true, stop_cause::lease_lost, stop_cause::cancelled, task_state::cancelled, 1},
        {true, stop_cause::none, stop_cause::none, task_state::failed, 1},
    };
    for (const situation& each : all) {
        components parts;
        parts.handlers.add("slow",
                           [](job&) -> task<json> {
                               auto clean = []() -> task<> { co_await sleep(5s); };
                               co_await finally(sleep_forever(), clean);
                               co_return nullptr;
                           },
                           {});
        co_await parts.register_node();
        new_task fresh("slow");
        fresh.timeout = each.is_expired ? 1s : 1h;
        fresh.retry.max_attempts = 1;
        const task_id id = co_await parts.submit(fresh);
        task_record task = co_await parts.claim_one();
        auto body = [&](task_group& group) -> weir::task<> {
            EXPECT_TRUE(start_run(parts, group, task));
            co_await sleep(2s);
            for (const stop_cause cause : {each.first, each.second}) {
                if (cause != stop_cause::none) {
                    parts.runner.stop_all(cause);
                }
                co_await sleep(1s);
            }
            co_await parts.runner.wait_until_idle();
        };
        co_await with_group(body);
        const task_detail ended = co_await settled_end(parts, id);
        EXPECT_EQ(ended.task.state, each.state);
        EXPECT_EQ(ended.attempts.size(), each.attempts);
    }
}

WEIR_TEST(Runner, TheTimeoutIsTheTasksOrTheDefault) {
    components parts({.default_timeout = 10s});
    std::map<task_id, clock::duration> took;
    parts.handlers.add("work",
                       [&](job& what) -> task<json> {
                           const clock::time_point begun = weir::now();
                           const task_id id = what.id();
                           took[id] = what.deadline() - begun;
                           auto end = [&took, id, begun]() -> task<> {
                               EXPECT_EQ(weir::now() - begun, took[id]);
                               co_return;
                           };
                           co_await finally(sleep_forever(), end);
                           co_return nullptr;
                       },
                       {});
    const auto body = [&](const task_group& group) -> task<> {
        task_record first = claimed_task("work", 1);
        first.timeout = 1ms;
        task_record second = claimed_task("work", 2);
        task_record third = claimed_task("work", 3);
        third.timeout = 20s;
        for (const task_record& each : {first, second, third}) {
            EXPECT_TRUE(start_run(parts, group, each));
        }
        co_await parts.runner.wait_until_idle();
        EXPECT_EQ(took[task_id(1)], 1ms);
        EXPECT_EQ(took[task_id(2)], 10s);
        EXPECT_EQ(took[task_id(3)], 20s);
    };
    co_await with_runs(parts, body);
}

// ---- tasks that one more crash would fail

WEIR_TEST(Runner, TheLastChanceIsTheRunBeforeTheLastCrash) {
    for (const std::uint32_t max_crashes : {1u, 2u, 3u}) {
        components parts({.max_crashes = max_crashes});
        parts.handlers.add("work", wait_for_stop, {});
        const auto body = [&](const task_group& group) -> task<> {
            for (std::uint32_t crashes = 0; crashes < 4; ++crashes) {
                const bool is_last = crashes > 0 && crashes + 1 >= max_crashes;
                task_record first = claimed_task("work", 1);
                task_record second = claimed_task("work", 2);
                task_record other = claimed_task("work", 3);
                first.crashes = second.crashes = crashes;
                EXPECT_TRUE(start_run(parts, group, first));
                EXPECT_TRUE(start_run(parts, group, other)) << "it has not crashed";
                const auto refused =
                    parts.runner.start(second, parts.leases.current(), false, group);
                EXPECT_EQ(refused.has_value(), is_last) << crashes << " of " << max_crashes;
                if (refused.has_value()) {
                    EXPECT_EQ(refused->delay, 2s);
                    EXPECT_EQ(refused->reason,
                              "another task that ran when a process crashed runs now");
                    EXPECT_EQ(second.kind, "work") << "it is left as it is";
                }
                parts.runner.stop_all(detail::stop_cause::given_back);
                co_await parts.runner.wait_until_idle();
            }
        };
        co_await with_runs(parts, body);
    }
}

// Other tasks are settled before it begins, if that takes no longer than a second; this time is not
// part of its timeout.
WEIR_TEST(Runner, TheLastChanceWaitsUntilOthersAreSettled) {
    for (const bool is_settled : {true, false}) {
        components parts({.max_crashes = 2});
        std::optional<clock::time_point> begun;
        parts.handlers.add("work",
                           [&](job& what) -> task<json> {
                               begun = weir::now();
                               EXPECT_EQ(what.deadline() - weir::now(), 5s);
                               co_await sleep_forever();
                               co_return nullptr;
                           },
                           {});
        co_await parts.register_node();
        auto body = [&](task_group& group) -> task<> {
            task_record done = claimed_task("work", 9);
            parts.settler.add(parts.leases.current(), parts.builder.completed(done, json()));
            task_record risky = claimed_task("work", 1);
            risky.crashes = 1;
            risky.timeout = 5s;
            const clock::time_point since = weir::now();
            EXPECT_TRUE(start_run(parts, group, risky));
            co_await sleep(300ms);
            EXPECT_FALSE(begun.has_value());
            const handle<> settling = weir::spawn(parts.settler.run());
            if (!is_settled) {
                parts.memory.on_call([](store_call) { return store_fault::hangs; });
            }
            co_await sleep(2s);
            WEIR_ASSERT_TRUE(begun.has_value());
            EXPECT_EQ(*begun - since, is_settled ? 300ms : 1s);
            co_await parts.runner.wait_until_idle();
            EXPECT_EQ(weir::now() - *begun, 5s);
            settling.cancel();
            co_await settling.wait();
        };
        co_await with_group(body);
    }
}

WEIR_TEST(Runner, TheLastChanceCanBeStoppedWhileItWaits) {
    components parts({.max_crashes = 2});
    int begun = 0;
    parts.handlers.add("work",
                       [&](job&) -> task<json> {
                           ++begun;
                           co_return nullptr;
                       },
                       {});
    const auto body = [&](const task_group& group) -> task<> {
        task_record done = claimed_task("work", 9);
        parts.settler.add(parts.leases.current(), parts.builder.completed(done, json()));
        task_record risky = claimed_task("work", 1);
        risky.crashes = 1;
        EXPECT_TRUE(start_run(parts, group, risky));
        co_await sleep(10ms);
        parts.runner.cancel(task_id(1));
        co_await parts.runner.wait_until_idle();
        EXPECT_EQ(begun, 0);
        EXPECT_EQ(count_unsettled(parts), 2u);
    };
    co_await with_runs(parts, body);
}

// ---- handlers that do not end

WEIR_TEST(Runner, WarnsOnceHalfAMinuteAfterTheStopOrTheTimeout) {
    components parts({.heartbeat = 1s});
    event may_end;
    parts.handlers.add("deaf",
                       [&](job&) -> task<json> {
                           co_await shield(may_end.wait());
                           co_return nullptr;
                       },
                       {});
    const auto body = [&](const task_group& group) -> task<> {
        const handle<> watching = weir::spawn(parts.runner.watch());
        const auto warnings = [&] { return parts.logged("does not respond to the stop"); };
        for (int round = 0; round < 2; ++round) {  // the objects of runs are used again
            const std::size_t before = warnings();
            task_record timed_out = claimed_task("deaf", 1);
            timed_out.timeout = 10s;
            EXPECT_TRUE(start_run(parts, group, timed_out));
            EXPECT_TRUE(start_run(parts, group, claimed_task("deaf", 2)));
            co_await sleep(20s);
            parts.runner.cancel(task_id(1));  // the timeout came first
            parts.runner.cancel(task_id(2));
            co_await sleep(19s);
            EXPECT_EQ(warnings(), before);
            co_await sleep(2s);
            EXPECT_EQ(warnings(), before + 1);
            EXPECT_EQ(
                parts.logged("task " + task_id(1).text() + ", 'deaf', was stopped and still runs"),
                static_cast<std::size_t>(round + 1));
            co_await sleep(8s);
            EXPECT_EQ(warnings(), before + 1);
            co_await sleep(2s);
            EXPECT_EQ(warnings(), before + 2);
            co_await sleep(5min);
            EXPECT_EQ(warnings(), before + 2) << "once each";
            may_end.set();
            co_await parts.runner.wait_until_idle();
            may_end.clear();
        }
        watching.cancel();
        co_await watching.wait();
    };
    co_await with_runs(parts, body);
}

WEIR_TEST(Runner, AFreedWorkerIsAnnouncedIfAClaimIsWanted) {
    components parts;
    parts.handlers.add("work",
                       [](job&) -> task<json> {
                           co_await sleep(1s);
                           co_return nullptr;
                       },
                       {});
    const auto body = [&](const task_group& group) -> task<> {
        EXPECT_TRUE(start_run(parts, group, claimed_task("work", 1)));
        const clock::time_point begun = weir::now();
        parts.trigger.claim_now();
        co_await parts.trigger.wait(begun + 1h);
        EXPECT_EQ(weir::now() - begun, 1s);
    };
    co_await with_runs(parts, body);
}

WEIR_TEST(Runner, NothingOfALongPayloadIsKept) {
    components parts;
    std::vector<std::string> payloads;
    parts.handlers.add("work",
                       [&](job& what) -> task<json> {
                           payloads.push_back(what.task().payload);
                           co_return nullptr;
                       },
                       {});
    const auto body = [&](const task_group& group) -> task<> {
        for (const std::size_t size : {100'000u, 10u, 4000u}) {
            task_record task = claimed_task("work", 1);
            task.payload = std::string(size, '1');
            EXPECT_TRUE(start_run(parts, group, task));
            co_await parts.runner.wait_until_idle();
            EXPECT_EQ(payloads.back().size(), size);
        }
    };
    co_await with_runs(parts, body);
}

// The half minute begins when the timeout ends, also for a run that waited before it began.
WEIR_TEST(Runner, TheWarningCountsFromALaterDeadline) {
    components parts({.heartbeat = 100ms, .max_crashes = 2});
    event may_end;
    parts.handlers.add("deaf",
                       [&](job&) -> task<json> {
                           co_await shield(may_end.wait());
                           co_return nullptr;
                       },
                       {});
    const auto body = [&](const task_group& group) -> task<> {
        const handle<> watching = weir::spawn(parts.runner.watch());
        task_record done = claimed_task("deaf", 9);
        parts.settler.add(parts.leases.current(), parts.builder.completed(done, json()));
        task_record risky = claimed_task("deaf", 1);
        risky.crashes = 1;
        risky.timeout = 10s;
        EXPECT_TRUE(start_run(parts, group, risky));
        co_await sleep(40s + 900ms);  // it began after a second
        EXPECT_EQ(parts.logged("does not respond to the stop"), 0u);
        co_await sleep(200ms);
        EXPECT_EQ(parts.logged("does not respond to the stop"), 1u);
        may_end.set();
        co_await parts.runner.wait_until_idle();
        watching.cancel();
        co_await watching.wait();
    };
    co_await with_runs(parts, body);
}

}  // namespace
}  // namespace weir::service::testing
