// SPDX-License-Identifier: MIT
#include "service/engine/lease_keeper.hpp"

#include "components.hpp"

#include <stdexcept>

namespace weir::service::testing {
namespace {

WEIR_TEST(LeaseKeeper, RenewsItsLease) {
    components parts;
    co_await parts.register_node();
    const handle<> keeping = weir::spawn(parts.leases.run());
    co_await sleep(1min);
    const std::vector<node_record> nodes = co_await parts.memory.nodes();
    WEIR_ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes.front().id, parts.leases.current().node());
    EXPECT_GT(nodes.front().expires_at, parts.time.now());
    EXPECT_EQ(parts.leases.all().size(), 1u);
    EXPECT_TRUE(parts.leases.is_confirmed());
    EXPECT_TRUE(parts.leases.is_valid());
    keeping.cancel();
    co_await keeping.wait();
}

WEIR_TEST(LeaseKeeper, StopsItsRunsAndTakesANewLeaseWhenTheStoreIsAway) {
    components parts;
    parts.handlers.add("work", wait_for_stop, {});
    co_await parts.register_node();
    const detail::lease_keeper& leases = parts.leases;
    const detail::lease& first = leases.current();
    parts.memory.on_call([](store_call) { return store_fault::fails; });
    auto body = [&](task_group& group) -> task<> {
        const any_handle keeping = group.spawn(parts.leases.run());
        task_record task;
        task.kind = "work";
        task.id = task_id(1);
        parts.runner.start(task, first, false, group);
        const clock::time_point begun = weir::now();
        co_await parts.runner.wait_until_idle();
        EXPECT_LT(weir::now() - begun, parts.options.lease) << "before others may take the task";
        EXPECT_TRUE(first.is_lost);
        EXPECT_EQ(leases.all().size(), 2u);
        EXPECT_NE(&leases.current(), &first);
        EXPECT_EQ(parts.logged("the lease is lost"), 1u);
        keeping.cancel();
    };
    co_await with_group(body);
}

WEIR_TEST(LeaseKeeper, ReleasesItsLeases) {
    components parts;
    co_await parts.register_node();
    const std::vector<node_record> before = co_await parts.memory.nodes();
    EXPECT_EQ(before.size(), 1u);
    co_await parts.leases.release_all();
    const std::vector<node_record> after = co_await parts.memory.nodes();
    EXPECT_TRUE(after.empty());
    EXPECT_TRUE(parts.leases.all().empty());
}

WEIR_TEST(LeaseKeeper, CancelsRunsThatTheStoreNames) {
    components parts;
    parts.handlers.add("work", wait_for_stop, {});
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    task_record claimed = co_await parts.claim_one();
    auto body = [&](task_group& group) -> task<> {
        const any_handle keeping = group.spawn(parts.leases.run());
        parts.runner.start(claimed, parts.leases.current(), false, group);
        co_await parts.memory.cancel(id, parts.time.now());
        co_await parts.runner.wait_until_idle();
        keeping.cancel();
    };
    co_await with_group(body);
    EXPECT_TRUE(parts.settler.has_unsettled());
}

// A run of this node, under its current lease.
void start_waiting_run(components& parts, const task_group& group, std::int64_t id = 1) {
    task_record task;
    task.kind = "work";
    task.id = task_id(id);
    task.run = 1;
    parts.runner.start(task, parts.leases.current(), false, group);
}

// How long after the last heartbeat that was answered the runs end.
task<clock::duration> time_to_stop(components& parts, clock::duration answered_for) {
    parts.handlers.add("work", wait_for_stop, {});
    co_await parts.register_node();
    clock::duration result{};
    auto body = [&](task_group& group) -> task<> {
        const any_handle keeping = group.spawn(parts.leases.run());
        start_waiting_run(parts, group);
        co_await sleep(answered_for);
        parts.memory.on_call([](store_call) { return store_fault::hangs; });
        const clock::time_point last = parts.leases.current().expires_at - parts.options.lease;
        co_await parts.runner.wait_until_idle();
        result = weir::now() - last;
        keeping.cancel();
    };
    co_await with_group(body);
    co_return result;
}

// The last heartbeat has what is left of the lease, whatever the timeout of the store is.
WEIR_TEST(LeaseKeeper, AHeartbeatIsLimitedToTheRestOfTheLease) {
    for (const clock::duration timeout : {500ms, 2900ms, 20'000ms}) {
        components parts({.lease = 3s, .heartbeat = 900ms, .store_timeout = timeout});
        const clock::duration stopped = co_await time_to_stop(parts, 5s);
        EXPECT_GE(stopped, 2400ms);
        EXPECT_LE(stopped, 2401ms) << "a fifth of the lease is left for the handlers";
    }
}

// A store that fails at once is asked again and again; between two attempts the lease may end.
WEIR_TEST(LeaseKeeper, APauseBetweenAttemptsEndsWithTheLease) {
    for (const clock::duration heartbeat : {100ms, 900ms, 1000ms}) {
        components parts({.lease = 3s, .heartbeat = heartbeat});
        parts.handlers.add("work", wait_for_stop, {});
        co_await parts.register_node();
        parts.memory.on_call([](store_call) { return store_fault::fails; });
        auto body = [&](task_group& group) -> task<> {
            const any_handle keeping = group.spawn(parts.leases.run());
            start_waiting_run(parts, group);
            const clock::time_point begun = weir::now();
            co_await parts.runner.wait_until_idle();
            EXPECT_EQ(weir::now() - begun, 2400ms);
            EXPECT_GE(parts.connection.calls(store_call::heartbeat), 4);
            EXPECT_EQ(parts.logged("the lease is lost: the store is unavailable; stopping 1 tasks"),
                      1u);
            keeping.cancel();
        };
        co_await with_group(body);
    }
}

// The lease lasts from the question: the store may have counted from then on.
WEIR_TEST(LeaseKeeper, TheLeaseCountsFromTheQuestion) {
    components parts({.lease = 6s, .heartbeat = 500ms, .store_timeout = 2s});
    parts.connection.delay_answers([](store_call) { return 1s; });
    const clock::time_point begun = weir::now();
    co_await parts.register_node();
    EXPECT_EQ(weir::now() - begun, 1s);
    EXPECT_EQ(parts.leases.current().expires_at, begun + 6s);
    EXPECT_EQ(parts.leases.current().registered_at, begun);
    const std::vector<node_record> nodes = co_await parts.memory.nodes();
    EXPECT_EQ(nodes.at(0).expires_at, parts.time.now() + 5s) << "as the store knows it";
    const handle<> keeping = weir::spawn(parts.leases.run());
    co_await advance(1500ms);  // the next heartbeat was sent a second ago
    EXPECT_EQ(parts.leases.current().expires_at, begun + 1500ms + 6s);
    keeping.cancel();
    co_await keeping.wait();
}

// A first heartbeat that is answered after the lease it asked for is of no use.
WEIR_TEST(LeaseKeeper, AFirstHeartbeatIsLimitedToItsLease) {
    components parts({.lease = 3s, .heartbeat = 500ms, .store_timeout = 20s});
    parts.connection.delay_answers([](store_call) { return 2900ms; });
    const clock::time_point begun = weir::now();
    co_await parts.register_node();
    EXPECT_EQ(weir::now() - begun, 2400ms);
    EXPECT_FALSE(parts.leases.current().is_registered);
    EXPECT_FALSE(parts.leases.is_confirmed());
    EXPECT_FALSE(parts.leases.is_valid());
}

WEIR_TEST(LeaseKeeper, ALeaseThatWasNotRenewedInTimeIsNotRenewedLate) {
    components parts({.lease = 3s, .heartbeat = 1s});
    parts.handlers.add("work", wait_for_stop, {});
    co_await parts.register_node();
    const std::string first = parts.leases.current().node();
    auto body = [&](task_group& group) -> task<> {
        start_waiting_run(parts, group);
        co_await sleep(3s);  // nothing runs meanwhile, as in a process that is suspended
        const any_handle keeping = group.spawn(parts.leases.run());
        co_await settle_all();
        EXPECT_EQ(parts.logged("the lease is lost: it was not renewed in time; stopping 1 tasks"),
                  1u);
        EXPECT_EQ(parts.runner.running(), 0u);
        EXPECT_NE(parts.leases.current().node(), first);
        EXPECT_TRUE(parts.leases.is_confirmed()) << "the new one";
        keeping.cancel();
    };
    co_await with_group(body);
}

WEIR_TEST(LeaseKeeper, ALeaseThatTheStoreHasEndedIsLostAtOnce) {
    components parts;
    parts.handlers.add("work", wait_for_stop, {});
    co_await parts.register_node();
    const detail::lease& first = parts.leases.current();
    auto body = [&](task_group& group) -> task<> {
        const any_handle keeping = group.spawn(parts.leases.run());
        start_waiting_run(parts, group);
        co_await parts.memory.retire(first.node());
        const clock::time_point begun = weir::now();
        co_await parts.runner.wait_until_idle();
        EXPECT_EQ(weir::now() - begun, parts.options.heartbeat);
        EXPECT_TRUE(first.is_lost);
        EXPECT_EQ(parts.logged("the lease is lost: other nodes have taken its tasks"), 1u);
        EXPECT_FALSE(parts.leases.is_confirmed());
        co_await sleep(100ms);  // soon, it has another one
        EXPECT_TRUE(parts.leases.is_confirmed());
        EXPECT_TRUE(parts.leases.is_valid());
        EXPECT_FALSE(parts.leases.current().is_lost);
        EXPECT_EQ(parts.logged("the lease is lost"), 1u);
        keeping.cancel();
    };
    co_await with_group(body);
}

// Runs under a former lease are not stopped again, nor are those of the new one.
WEIR_TEST(LeaseKeeper, StopsOnlyTheRunsOfTheLostLease) {
    components parts;
    parts.handlers.add("work", wait_for_stop, {});
    co_await parts.register_node();
    const detail::lease& first = parts.leases.current();
    auto body = [&](task_group& group) -> task<> {
        const any_handle keeping = group.spawn(parts.leases.run());
        start_waiting_run(parts, group, 1);
        co_await parts.memory.retire(first.node());
        co_await sleep(parts.options.heartbeat + 1s);
        EXPECT_EQ(parts.runner.running(), 0u);
        start_waiting_run(parts, group, 2);
        co_await sleep(1min);
        EXPECT_EQ(parts.runner.running(), 1u);
        EXPECT_EQ(parts.runner.running(parts.leases.current()), 1u);
        EXPECT_EQ(parts.runner.running(first), 0u);
        keeping.cancel();
        parts.runner.stop_all(detail::stop_cause::given_back);
    };
    co_await with_group(body);
}

WEIR_TEST(LeaseKeeper, TellsTheStoreWhoItIsAndUntilWhen) {
    components parts({.lease = 9s, .heartbeat = 1s});
    co_await sleep(5s);
    const timestamp begun = parts.time.now();
    co_await parts.register_node();
    const handle<> keeping = weir::spawn(parts.leases.run());
    co_await sleep(10500ms);
    const std::vector<node_record> nodes = co_await parts.memory.nodes();
    WEIR_ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes[0].host, detail::this_host());
    EXPECT_EQ(nodes[0].pid, detail::this_process());
    EXPECT_EQ(nodes[0].started_at, begun);
    EXPECT_EQ(nodes[0].expires_at, begun + 10s + 9s);
    EXPECT_EQ(parts.leases.current().expires_at, weir::now() - 500ms + 9s);
    EXPECT_EQ(parts.connection.calls(store_call::heartbeat), 11);
    keeping.cancel();
    co_await keeping.wait();
}

// After a failure it does not wait for the next heartbeat, and after a success it does.
WEIR_TEST(LeaseKeeper, AsksAgainSoonWhileTheStoreIsAway) {
    components parts({.lease = 60s, .heartbeat = 20s});
    int left = 4;
    const auto fail_some = [&](store_call which) {
        return which == store_call::heartbeat && left-- > 0 ? store_fault::fails
                                                            : store_fault::none;
    };
    parts.memory.on_call(fail_some);
    co_await parts.register_node();
    EXPECT_FALSE(parts.leases.is_confirmed());
    const handle<> keeping = weir::spawn(parts.leases.run());
    for (int i = 0; i < 2; ++i) {
        co_await sleep(20ms);
        EXPECT_FALSE(parts.leases.is_confirmed());
        co_await sleep(2s);
        EXPECT_TRUE(parts.leases.is_confirmed()) << "after less than a heartbeat";
        EXPECT_EQ(parts.connection.calls(store_call::heartbeat), 5 * (i + 1));
        EXPECT_EQ(parts.leases.all().size(), 1u);
        co_await sleep(15s);
        EXPECT_EQ(parts.connection.calls(store_call::heartbeat), 5 * (i + 1));
        left = 4;  // and as soon again: the delays begin anew
        while (left == 4) {
            co_await sleep(1ms);
        }
    }
    keeping.cancel();
    co_await keeping.wait();
}

WEIR_TEST(LeaseKeeper, ABrokenStoreCostsTheLeaseAndNotTheKeeper) {
    components parts;
    co_await parts.register_node();
    const handle<> keeping = weir::spawn(parts.leases.run());
    parts.memory.on_call([](store_call) -> store_fault { throw std::logic_error("no table"); });
    co_await sleep(9s);
    EXPECT_GE(parts.logged("the heartbeat failed: no table"), 1u);
    EXPECT_FALSE(parts.leases.is_confirmed());
    EXPECT_EQ(parts.leases.all().size(), 2u);
    parts.memory.on_call({});
    co_await sleep(3s);
    EXPECT_TRUE(parts.leases.is_confirmed());
    keeping.cancel();
    co_await keeping.wait();
}

// A registration wakes those that wait for it: the claimer, and the rescuer once.
WEIR_TEST(LeaseKeeper, ANewLeaseIsAnnounced) {
    components parts({.lease = 60s, .heartbeat = 20s});
    bool is_away = true;
    parts.memory.on_call(
        [&](store_call) { return is_away ? store_fault::fails : store_fault::none; });
    co_await parts.register_node();
    parts.trigger.claim_begins();
    const handle<> keeping = weir::spawn(parts.leases.run());
    co_await sleep(10s);
    is_away = false;
    const clock::time_point begun = weir::now();
    co_await parts.leases.wait_for_registration(begun + 1h);
    EXPECT_LT(weir::now() - begun, 3s);
    EXPECT_TRUE(parts.leases.is_confirmed());
    EXPECT_TRUE(parts.trigger.is_wanted());
    parts.trigger.claim_begins();
    const clock::time_point again = weir::now();
    co_await parts.leases.wait_for_registration(again + 1min);
    EXPECT_EQ(weir::now() - again, 1min) << "a renewal is none";
    EXPECT_FALSE(parts.trigger.is_wanted());
    keeping.cancel();
    co_await keeping.wait();
}

WEIR_TEST(LeaseKeeper, TheFirstRegistrationIsNotAnnouncedToTheRescuer) {
    components parts;
    co_await parts.register_node();
    const clock::time_point begun = weir::now();
    co_await parts.leases.wait_for_registration(begun + 1s);
    EXPECT_EQ(weir::now() - begun, 1s) << "it begins with a rescue anyway";
}

// ---- releasing

WEIR_TEST(LeaseKeeper, ReleasesNothingThatTheStoreCannotKnow) {
    components parts;
    parts.leases.take_first();
    co_await parts.leases.release_all();
    EXPECT_EQ(parts.connection.calls(store_call::retire), 0);
    EXPECT_TRUE(parts.leases.all().empty());
}

WEIR_TEST(LeaseKeeper, RepeatsTheReleaseForTwoSecondsAtMost) {
    for (const store_fault fault : {store_fault::fails, store_fault::hangs}) {
        components parts;
        co_await parts.register_node();
        parts.memory.on_call([&](store_call) { return fault; });
        const clock::time_point begun = weir::now();
        co_await parts.leases.release_all();
        EXPECT_EQ(weir::now() - begun, 2s);
        EXPECT_GE(parts.connection.calls(store_call::retire), 3);
        EXPECT_LE(parts.connection.calls(store_call::retire), 12);
    }
}

WEIR_TEST(LeaseKeeper, AReleaseThatCannotSucceedIsNotRepeated) {
    components parts;
    co_await parts.register_node();
    const clock::time_point begun = weir::now();
    parts.memory.on_call([](store_call) -> store_fault { throw std::logic_error("no table"); });
    co_await parts.leases.release_all();
    EXPECT_EQ(weir::now(), begun);
    EXPECT_EQ(parts.logged("releasing the lease failed: no table"), 1u);
    EXPECT_EQ(parts.connection.calls(store_call::retire), 1);
}

WEIR_TEST(LeaseKeeper, AShortStoreTimeoutAlsoLimitsTheRelease) {
    components parts({.store_timeout = 100ms});
    co_await parts.register_node();
    parts.memory.on_call([](store_call) { return store_fault::hangs; });
    co_await parts.leases.release_all();
    EXPECT_GE(parts.connection.calls(store_call::retire), 4);
}

}  // namespace
}  // namespace weir::service::testing
