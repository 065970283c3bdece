// SPDX-License-Identifier: MIT
#include "service/engine/claimer.hpp"

#include "components.hpp"

#include <stdexcept>

namespace weir::service::testing {
namespace {

WEIR_TEST(Claimer, ClaimsForFreeWorkersOnly) {
    components parts({.workers = 2});
    parts.handlers.add("work", wait_for_stop, {});
    co_await parts.register_node();
    for (int i = 0; i < 3; ++i) {
        co_await parts.submit(new_task("work"));
    }
    auto body = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        co_await sleep(1s);
        EXPECT_EQ(parts.runner.running(), 2u);
        parts.claimer.close();
        parts.runner.stop_all(detail::stop_cause::given_back);
    };
    co_await with_group(body);
    EXPECT_EQ(parts.stats().started, 2u);
}

WEIR_TEST(Claimer, ClaimsNothingWithoutALease) {
    components parts;
    parts.handlers.add("work", do_nothing, {});
    std::size_t claims = 0;
    parts.memory.on_call([&](store_call which) {
        claims += which == store_call::claim ? 1 : 0;
        return which == store_call::heartbeat ? store_fault::fails : store_fault::none;
    });
    co_await parts.register_node();
    auto body = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        co_await sleep(1min);
        parts.claimer.close();
    };
    co_await with_group(body);
    EXPECT_EQ(claims, 0u);
}

// A failed claim shows until one succeeds, so that the service is not ready meanwhile.
WEIR_TEST(Claimer, KnowsWhetherClaimsSucceed) {
    components parts;
    parts.handlers.add("work", do_nothing, {});
    co_await parts.register_node();
    bool is_broken = true;
    parts.memory.on_call([&](store_call which) {
        return is_broken && which == store_call::claim ? store_fault::fails : store_fault::none;
    });
    EXPECT_TRUE(parts.claimer.has_succeeded()) << "none was tried";
    auto body = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        co_await sleep(1s);
        EXPECT_FALSE(parts.claimer.has_succeeded());
        is_broken = false;
        co_await sleep(1min);
        EXPECT_TRUE(parts.claimer.has_succeeded());
        parts.claimer.close();
    };
    co_await with_group(body);
}

WEIR_TEST(Claimer, ReturnsTasksWhoseClaimWasNotAnswered) {
    components parts;
    parts.handlers.add("work", do_nothing, {});
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    parts.memory.on_call([](store_call which) {
        return which == store_call::claim ? store_fault::fails_after : store_fault::none;
    });
    auto body = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        co_await sleep(10ms);
        parts.claimer.close();
    };
    co_await with_group(body);
    EXPECT_TRUE(parts.claimer.has_lost_claims(parts.leases.current()));
    EXPECT_FALSE(parts.settler.has_unsettled());
    co_await parts.claimer.return_all_lost_claims();
    EXPECT_FALSE(parts.claimer.has_lost_claims(parts.leases.current()));
    std::vector<run_key> returned;
    parts.settler.append_unsettled(parts.leases.current(), returned);
    WEIR_ASSERT_EQ(returned.size(), 1u);
    EXPECT_EQ(returned.front().id, id);
    EXPECT_EQ(parts.logged("whose claim was not answered"), 1u);
}

WEIR_TEST(Claimer, ReturnsTasksThatComeAfterItIsClosed) {
    components parts;
    parts.handlers.add("work", do_nothing, {});
    co_await parts.register_node();
    co_await parts.submit(new_task("work"));
    parts.memory.on_call([&](store_call which) {
        if (which == store_call::claim) {
            parts.claimer.close();
        }
        return store_fault::none;
    });
    auto body = [&](task_group& group) { return parts.claimer.run(group); };
    co_await with_group(body);
    EXPECT_EQ(parts.stats().started, 0u);
    EXPECT_TRUE(parts.settler.has_unsettled());
}

// Runs the claimer for a while, then ends its runs.
task<> claim_for(components& parts, clock::duration time) {
    auto body = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        co_await sleep(time);
        parts.claimer.close();
        parts.runner.stop_all(detail::stop_cause::given_back);
    };
    co_await with_group(body);
}

task_record answered_task(std::int64_t id, std::string kind = "work") {
    task_record task;
    task.id = task_id(id);
    task.kind = std::move(kind);
    task.state = task_state::running;
    task.run = 1;
    return task;
}

// The lease is lost while the claim is in flight: its tasks must not begin, under whichever lease.
WEIR_TEST(Claimer, TasksClaimedUnderALeaseThatIsLostMeanwhileAreReturned) {
    components parts({.lease = 3s, .heartbeat = 1s, .store_timeout = 20s});
    parts.handlers.add("work", do_nothing, {});
    co_await parts.register_node();
    const detail::lease& first = parts.leases.current();
    const task_id id = co_await parts.submit(new_task("work"));
    parts.connection.delay_answers(
        [](store_call which) { return which == store_call::claim ? 2s : 0s; });
    auto body = [&](task_group& group) -> task<> {
        const any_handle keeping = group.spawn(parts.leases.run());
        const any_handle claiming = group.spawn(parts.claimer.run(group));
        co_await sleep(500ms);
        EXPECT_TRUE(parts.claimer.is_claiming(first));
        co_await parts.memory.retire(first.node());
        co_await sleep(1s);
        EXPECT_TRUE(first.is_lost);
        EXPECT_TRUE(parts.leases.is_confirmed()) << "with another lease";
        EXPECT_TRUE(parts.claimer.is_claiming(first));
        EXPECT_FALSE(parts.claimer.is_claiming(parts.leases.current()));
        co_await sleep(550ms);
        EXPECT_FALSE(parts.claimer.is_claiming(first));
        EXPECT_EQ(parts.stats().started, 0u);
        std::vector<run_key> returned;
        parts.settler.append_unsettled(first, returned);
        EXPECT_EQ(returned.size(), 1u);
        EXPECT_EQ(returned.at(0).id, id);
        EXPECT_FALSE(parts.claimer.has_lost_claims(first));
        keeping.cancel();
        parts.claimer.close();
        claiming.cancel();
    };
    co_await with_group(body);
}

// The same without a keeper that notices it, as in a process that was suspended.
WEIR_TEST(Claimer, TasksClaimedUnderALeaseThatHasExpiredMeanwhileAreReturned) {
    for (const clock::duration late : {2999ms, 3000ms, 10'000ms}) {
        components parts({.lease = 3s, .heartbeat = 1s, .store_timeout = 20s});
        parts.handlers.add("work", do_nothing, {});
        co_await parts.register_node();
        co_await parts.submit(new_task("work"));
        parts.connection.delay_answers([&](store_call which) {
            return which == store_call::claim ? late : clock::duration(0);
        });
        co_await claim_for(parts, late + 1ms);
        EXPECT_EQ(parts.stats().started, late < 3s ? 1u : 0u);
        EXPECT_TRUE(parts.settler.has_unsettled());
    }
}

WEIR_TEST(Claimer, ClaimsABatchAtMost) {
    components parts({.workers = 10, .claim_batch = 3, .poll = 1h});
    parts.handlers.add("work", wait_for_stop, {});
    co_await parts.register_node();
    co_await parts.submit(12, "work");
    auto body = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        co_await settle_all();  // a claim that has brought its limit is followed by another at once
        EXPECT_EQ(parts.runner.running(), 10u);
        const std::vector<std::size_t> limits{3, 3, 3, 1};
        EXPECT_EQ(parts.connection.claim_limits, limits);
        co_await sleep(1min);
        EXPECT_EQ(parts.connection.claim_limits.size(), 4u) << "no worker is free";
        parts.claimer.close();
        parts.runner.stop_all(detail::stop_cause::given_back);
    };
    co_await with_group(body);
}

WEIR_TEST(Claimer, AsksOncePerPollInterval) {
    components parts({.poll = 2s});
    co_await parts.register_node();
    co_await claim_for(parts, 20s + 1ms);
    EXPECT_EQ(parts.connection.claim_limits.size(), 11u);
    EXPECT_EQ(parts.connection.calls(store_call::running_on), 1) << "the first claim audits";
}

WEIR_TEST(Claimer, AuditsItsRunsEveryHalfMinute) {
    components parts;
    co_await parts.register_node();
    // Without an answer that was lost, as after a write that took effect twice.
    const handle<> beating = weir::spawn(parts.leases.run());
    co_await claim_for(parts, 29s);
    EXPECT_EQ(parts.connection.calls(store_call::running_on), 1);
    parts.claimer.open();
    co_await parts.submit(new_task("work"));
    const task_record lost = co_await parts.claim_one();
    EXPECT_TRUE(lost.id);
    co_await claim_for(parts, 29s);
    EXPECT_EQ(parts.connection.calls(store_call::running_on), 2) << "a new run begins with one";
    EXPECT_EQ(parts.logged("returning task " + lost.id.text() + ", whose claim was not answered"),
              1u);
    parts.claimer.open();
    co_await claim_for(parts, 95s);
    EXPECT_EQ(parts.connection.calls(store_call::running_on), 6);
    beating.cancel();
    co_await beating.wait();
}

// An answer that names a time which has come is not repeated all the time.
WEIR_TEST(Claimer, PausesBetweenClaimsThatBringNothing) {
    components parts({.poll = 1h});
    co_await parts.register_node();
    parts.connection.answer_claim = [](const claim_request& request) {
        claimed answer;
        answer.next_at = request.now.steady - 5s;
        return answer;
    };
    co_await claim_for(parts, 100ms);
    EXPECT_GE(parts.connection.claim_limits.size(), 90u);
    EXPECT_LE(parts.connection.claim_limits.size(), 102u);
}

WEIR_TEST(Claimer, ClaimsAgainWhenTheStoreSaysSo) {
    components parts({.poll = 10s});
    co_await parts.register_node();
    std::vector<clock::time_point> times;
    std::optional<std::chrono::microseconds> ahead = 3s;
    parts.connection.answer_claim = [&](const claim_request& request) {
        times.push_back(weir::now());
        claimed answer;
        if (ahead.has_value()) {
            answer.next_at = request.now.steady + *ahead;
        }
        ahead = ahead == 3s ? std::optional<std::chrono::microseconds>(1h) : std::nullopt;
        return answer;
    };
    co_await claim_for(parts, 25s);
    WEIR_ASSERT_EQ(times.size(), 4u);
    EXPECT_EQ(times[1] - times[0], 3s);
    EXPECT_EQ(times[2] - times[1], 10s) << "other nodes submit, too";
    EXPECT_EQ(times[3] - times[2], 10s);
}

WEIR_TEST(Claimer, WaitsLongerAfterEachFailureAndNotAfterASuccess) {
    components parts({.poll = 1h});
    co_await parts.register_node();
    const handle<> beating = weir::spawn(parts.leases.run());
    int failures = 0;
    int left = 12;
    parts.memory.on_call([&](store_call which) -> store_fault {
        if (which != store_call::claim || left-- <= 0) {
            return store_fault::none;
        }
        if (++failures % 2 == 0) {
            throw std::logic_error("no such table");
        }
        return store_fault::fails;
    });
    auto body = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        co_await settle_all();
        EXPECT_EQ(failures, 1);
        co_await sleep(50ms);
        EXPECT_EQ(failures, 2) << "the first delay is 50 ms at most";
        co_await sleep(5s);
        EXPECT_GE(failures, 6);
        EXPECT_LE(failures, 10) << "the delays grow";
        co_await sleep(20s);
        EXPECT_EQ(failures, 12);
        EXPECT_EQ(parts.logged("claiming failed: no such table"), 6u);
        EXPECT_FALSE(parts.trigger.is_wanted()) << "the last claim succeeded";
        left = 1;
        parts.trigger.claim_now();
        co_await settle_all();
        EXPECT_EQ(failures, 13);
        EXPECT_EQ(left, 0);
        co_await sleep(50ms);
        EXPECT_EQ(left, -2 + 1) << "the delays have begun anew";
        parts.claimer.close();
    };
    co_await with_group(body);
    beating.cancel();
    co_await beating.wait();
}

// A service that runs again does not wait for what a claim of its last run waited for.
WEIR_TEST(Claimer, BeginsAnewWhenItIsOpened) {
    components parts({.poll = 1h});
    parts.handlers.add("work", wait_for_stop, {});
    co_await parts.register_node();
    const handle<> beating = weir::spawn(parts.leases.run());
    parts.memory.on_call([](store_call which) {
        return which == store_call::claim ? store_fault::fails_after : store_fault::none;
    });
    co_await claim_for(parts, 30s);
    EXPECT_TRUE(parts.claimer.is_closed());
    EXPECT_TRUE(parts.claimer.has_lost_claims(parts.leases.current()));
    parts.memory.on_call({});
    parts.claimer.open();
    EXPECT_FALSE(parts.claimer.is_closed());
    EXPECT_FALSE(parts.claimer.has_lost_claims(parts.leases.current()));
    co_await parts.submit(new_task("work"));
    auto body = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        co_await settle_all();
        EXPECT_EQ(parts.runner.running(), 1u);
        const clock::time_point begun = weir::now();
        parts.claimer.close();
        parts.runner.stop_all(detail::stop_cause::given_back);
        co_await parts.runner.wait_until_idle();
        EXPECT_EQ(weir::now(), begun);
    };
    const clock::time_point begun = weir::now();
    co_await with_group(body);
    EXPECT_EQ(weir::now(), begun) << "closing it wakes it";
    beating.cancel();
    co_await beating.wait();
}

WEIR_TEST(Claimer, ATaskThatIsCancelledIsStoppedBeforeItBegins) {
    components parts;
    int begun = 0;
    parts.handlers.add("work",
                       [&](job&) -> task<json> {
                           ++begun;
                           co_return nullptr;
                       },
                       {});
    co_await parts.register_node();
    parts.claimer.note_cancelled(task_id(2));  // no claim is in flight: it is not remembered
    parts.connection.answer_claim = [&](const claim_request&) {
        claimed answer;
        if (parts.connection.claim_limits.size() == 1) {
            for (std::int64_t id = 1; id <= 3; ++id) {
                answer.tasks.push_back(answered_task(id));
            }
            answer.tasks[0].is_cancelling = true;
            parts.claimer.note_cancelled(task_id(3));
        }
        return answer;
    };
    co_await claim_for(parts, 10ms);
    EXPECT_EQ(begun, 1);
    EXPECT_EQ(parts.stats().started, 3u);
}

// A task that still runs here under an old lease, since its handler does not end.
WEIR_TEST(Claimer, ATaskThatStillRunsHereIsReturnedForAWhile) {
    components parts({.workers = 10, .heartbeat = 2s});
    event may_end;
    parts.handlers.add("work",
                       [&](job&) -> task<json> {
                           co_await shield(may_end.wait());
                           co_return nullptr;
                       },
                       {});
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    auto body = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        co_await settle_all();
        EXPECT_EQ(parts.runner.running(), 1u);
        const any_handle keeping = group.spawn(parts.leases.run());
        const any_handle settling = group.spawn(parts.settler.run());
        co_await parts.memory.retire(parts.leases.current().node());
        co_await parts.memory.rescue(parts.time.now(), 3);
        co_await sleep(3s);
        EXPECT_EQ(parts.leases.all().size(), 2u);
        const task_record waits = co_await record_of(parts.memory, id);
        EXPECT_EQ(waits.state, task_state::pending);
        EXPECT_EQ(waits.held_by, "its last run has not ended yet");
        EXPECT_EQ(waits.run, 2u);
        EXPECT_EQ(parts.stats().started, 1u);
        EXPECT_GT(waits.due_at, parts.time.now() + 8s);
        EXPECT_LE(waits.due_at, parts.time.now() + 10s);
        may_end.set();
        co_await sleep(15s);
        EXPECT_EQ(parts.stats().started, 2u);
        parts.claimer.close();
        keeping.cancel();
        settling.cancel();
    };
    co_await with_group(body);
}

// Runs that have ended and are not settled yet are known, as are those that run.
WEIR_TEST(Claimer, ReturnsNoTaskThatItKnows) {
    components parts;
    event may_end;
    parts.handlers.add("work",
                       [&](job&) -> task<json> {
                           co_await may_end.wait();
                           co_return nullptr;
                       },
                       {});
    parts.handlers.add("quick", do_nothing, {});
    co_await parts.register_node();
    co_await parts.submit(4, "work");
    co_await parts.submit(4, "quick");
    std::vector<task_record> claimed;
    for (int i = 0; i < 8; ++i) {
        task_record next = co_await parts.claim_one();
        claimed.push_back(std::move(next));
    }
    const task_record lost = claimed[3];
    auto body = [&](task_group& group) -> task<> {
        for (const std::size_t i : {2, 0, 7, 5, 1, 4, 6}) {
            parts.runner.start(claimed[i], parts.leases.current(), false, group);
        }
        co_await settle_all();
        EXPECT_EQ(parts.runner.running(), 3u);
        co_await parts.claimer.return_lost_claims(parts.leases.current());
        std::vector<run_key> unsettled;
        parts.settler.append_unsettled(parts.leases.current(), unsettled);
        WEIR_ASSERT_EQ(unsettled.size(), 5u);
        EXPECT_EQ(unsettled.back().id, lost.id);
        EXPECT_EQ(unsettled.back().run, 1u);
        may_end.set();
    };
    co_await with_group(body);
}

// The task was settled between the two questions, and runs again: that run is another one.
WEIR_TEST(Claimer, ReturnsNoLaterRun) {
    components parts;
    co_await parts.register_node();
    co_await parts.submit(new_task("work"));
    const task_record first = co_await parts.claim_one();
    parts.connection.delay_questions(
        [](store_call which) { return which == store_call::find ? 1s : 0s; });
    const handle<> returning =
        weir::spawn(parts.claimer.return_lost_claims(parts.leases.current()));
    co_await settle_all();
    std::vector<settlement> ended(1, parts.builder.returned(first));
    co_await parts.memory.settle(parts.leases.current().node(), ended, parts.time.now());
    const task_record second = co_await parts.claim_one();
    EXPECT_EQ(second.run, 2u);
    co_await returning.wait();
    EXPECT_FALSE(parts.settler.has_unsettled());
}

WEIR_TEST(Claimer, ReturnsLostClaimsUntilTheStoreHasAnswered) {
    components parts;
    co_await parts.register_node();
    parts.memory.on_call([](store_call which) {
        return which == store_call::claim ? store_fault::fails_after : store_fault::none;
    });
    co_await parts.submit(new_task("work"));
    co_await claim_for(parts, 1ms);
    int left = 5;
    parts.memory.on_call([&](store_call which) {
        return which == store_call::running_on && left-- > 0 ? store_fault::fails
                                                             : store_fault::none;
    });
    const clock::time_point begun = weir::now();
    co_await parts.claimer.return_all_lost_claims();
    EXPECT_EQ(left, -1);
    EXPECT_GT(weir::now() - begun, 500ms) << "with growing delays";
    EXPECT_LT(weir::now() - begun, 2s);
    EXPECT_TRUE(parts.settler.has_unsettled());
}

// A failover has lost the claim of one task: its run is stopped before anything is claimed, and its
// end is not written, since the store may give the same run out again.
WEIR_TEST(Claimer, StopsRunsThatTheStoreHasLost) {
    components parts;
    parts.connection.history = 1;
    parts.handlers.add("work", wait_for_stop, {});
    co_await parts.register_node();
    const task_id kept = co_await parts.submit(new_task("work"));
    const task_id lost = co_await parts.submit(new_task("work"));
    auto body = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        const handle<> settling = group.spawn(parts.settler.run());
        co_await sleep(1s);
        EXPECT_EQ(parts.runner.running(), 2u);
        const task_record record = co_await record_of(parts.memory, lost);
        std::vector<settlement> ended(1, parts.builder.returned(record, 1h));
        co_await parts.memory.settle(parts.leases.current().node(), std::move(ended),
                                     parts.time.moment_now());
        parts.connection.history = 2;
        parts.trigger.claim_now();
        co_await sleep(1s);
        EXPECT_TRUE(parts.runner.is_running(kept));
        EXPECT_FALSE(parts.runner.is_running(lost));
        EXPECT_EQ(parts.logged("has failed over"), 1u);
        EXPECT_EQ(parts.logged("not this node's any more"), 1u);
        EXPECT_FALSE(parts.settler.has_unsettled());
        EXPECT_EQ(parts.stats().fenced, 0u);
        parts.claimer.close();
        parts.runner.stop_all(detail::stop_cause::given_back);
        co_await parts.runner.wait_until_idle();
        settling.cancel();
    };
    co_await with_group(body);
}

// Its handler does not end, so the node does not run the task a second time meanwhile.
WEIR_TEST(Claimer, ATaskWhoseLostRunHasNotEndedWaits) {
    components parts({.lease = 1h});
    parts.connection.history = 1;
    parts.handlers.add("work",
                       [](job&) -> task<json> {
                           co_await shield(sleep(1min));
                           co_return nullptr;
                       },
                       {});
    co_await parts.register_node();
    const task_id lost = co_await parts.submit(new_task("work"));
    auto body = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        const handle<> settling = group.spawn(parts.settler.run());
        co_await sleep(1s);
        const task_record record = co_await record_of(parts.memory, lost);
        std::vector<settlement> ended(1, parts.builder.returned(record, {}));
        co_await parts.memory.settle(parts.leases.current().node(), std::move(ended),
                                     parts.time.moment_now());
        parts.connection.history = 2;
        parts.trigger.claim_now();
        co_await sleep(10s);
        EXPECT_EQ(parts.stats().started, 1u);
        co_await sleep(3min);
        EXPECT_EQ(parts.stats().started, 2u);
        EXPECT_EQ(parts.stats().completed, 1u);
        const task_record after = co_await record_of(parts.memory, lost);
        EXPECT_EQ(after.state, task_state::completed);
        parts.claimer.close();
        co_await parts.runner.wait_until_idle();
        co_await parts.settler.wait_until_settled(1s);
        settling.cancel();
    };
    co_await with_group(body);
}

}  // namespace
}  // namespace weir::service::testing
