// SPDX-License-Identifier: MIT
#include "service/engine/rescuer.hpp"

#include "components.hpp"

#include <functional>
#include <stdexcept>

namespace weir::service::testing {
namespace {

// A node of another machine claims the task, and its lease ends after a second.
task<> run_elsewhere(components& parts) {
    node_record other;
    other.id = "other";
    other.host = "another machine";
    other.expires_at = parts.time.now() + 1s;
    co_await parts.memory.heartbeat(other, parts.time.now());
    claim_request request;
    request.node = other.id;
    request.now = parts.time.now();
    co_await parts.memory.claim(request);
}

WEIR_TEST(Rescuer, ReturnsTasksOfANodeWhoseLeaseHasExpired) {
    components parts;
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    co_await run_elsewhere(parts);
    const handle<> rescuing = weir::spawn(parts.rescuer.run());
    co_await sleep(4s);
    const task_record rescued = co_await record_of(parts.memory, id);
    EXPECT_EQ(rescued.state, task_state::pending);
    EXPECT_EQ(rescued.crashes, 1u);
    EXPECT_EQ(parts.stats().rescued, 1u);
    EXPECT_EQ(parts.logged("rescued 1 tasks"), 1u);
    rescuing.cancel();
    co_await rescuing.wait();
}

WEIR_TEST(Rescuer, RescuesNothingAfterItsOwnLeaseHasExpired) {
    components parts;
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    co_await run_elsewhere(parts);
    co_await sleep(parts.options.lease);
    const handle<> rescuing = weir::spawn(parts.rescuer.run());
    co_await sleep(1min);
    const task_record still = co_await record_of(parts.memory, id);
    EXPECT_EQ(still.state, task_state::running);
    rescuing.cancel();
    co_await rescuing.wait();
}

WEIR_TEST(Rescuer, RetiresOldLeasesOfItsNode) {
    components parts;
    co_await parts.register_node();
    bool is_away = true;
    parts.memory.on_call(
        [&](store_call) { return is_away ? store_fault::fails : store_fault::none; });
    const handle<> keeping = weir::spawn(parts.leases.run());
    const handle<> rescuing = weir::spawn(parts.rescuer.run());
    co_await sleep(parts.options.lease);
    EXPECT_EQ(parts.leases.all().size(), 2u);
    is_away = false;
    co_await sleep(10s);
    EXPECT_EQ(parts.leases.all().size(), 1u);
    for (const handle<>* const each : {&keeping, &rescuing}) {
        each->cancel();
        co_await each->wait();
    }
}

// A node of this process that has ended, so its process counts as gone; its lease lasts an hour.
task<> run_in_a_gone_process(components& parts, std::string name = "gone") {
    node_record other;
    other.id = std::move(name);
    other.host = detail::this_host();
    other.pid = detail::this_process();
    other.expires_at = parts.time.now() + 1h;
    co_await parts.memory.heartbeat(other, parts.time.now());
    claim_request request;
    request.node = other.id;
    request.now = parts.time.now();
    co_await parts.memory.claim(request);
}

// Runs the rescuer and the lease keeper beside a body.
task<> while_rescuing(components& parts, std::function<task<>()> body) {
    const handle<> keeping = weir::spawn(parts.leases.run());
    const handle<> rescuing = weir::spawn(parts.rescuer.run());
    co_await body();
    for (const handle<>* const each : {&rescuing, &keeping}) {
        each->cancel();
        co_await each->wait();
    }
}

WEIR_TEST(Rescuer, RescuesTasksOfAProcessThatHasEndedAtTheNextLook) {
    components parts({.workers = 1, .heartbeat = 2s});
    co_await parts.register_node();
    auto body = [&]() -> task<> {
        co_await sleep(5s);  // the rescue at the start is over
        const int rescues = parts.connection.calls(store_call::rescue);
        EXPECT_EQ(rescues, 1);
        const task_id id = co_await parts.submit(new_task("work"));
        co_await run_in_a_gone_process(parts);
        node_record alive;
        alive.id = "the last of the list";
        alive.host = "another machine";
        alive.expires_at = parts.time.now() + 1h;
        co_await parts.memory.heartbeat(alive, parts.time.now());
        parts.trigger.claim_begins();
        co_await sleep(2s);
        const task_record rescued = co_await record_of(parts.memory, id);
        EXPECT_EQ(rescued.state, task_state::pending);
        EXPECT_EQ(rescued.crashes, 1u);
        EXPECT_EQ(parts.logged("the process of node gone has ended"), 1u);
        EXPECT_EQ(parts.logged("rescued 1 tasks of dead nodes, of which 0 have crashed"), 1u);
        EXPECT_TRUE(parts.trigger.is_wanted()) << "the task may be claimed at once";
        const std::vector<node_record> nodes = co_await parts.memory.nodes();
        WEIR_ASSERT_EQ(nodes.size(), 2u);
        EXPECT_EQ(nodes[0].id, parts.leases.current().node());
        EXPECT_EQ(nodes[1].id, "the last of the list");
        co_await sleep(10s);
        EXPECT_EQ(parts.connection.calls(store_call::rescue), 2) << "not without a reason";
    };
    co_await while_rescuing(parts, body);
}

// Its own node has the number of this process, too, and lives.
WEIR_TEST(Rescuer, LeavesItselfAloneAndOthersThatLive) {
    components parts;
    co_await parts.register_node();
    const detail::node_name other_name(7);
    node_record other;
    other.id = other_name.text();
    other.host = detail::this_host();
    other.pid = detail::this_process();
    other.expires_at = parts.time.now() + 1h;
    co_await parts.memory.heartbeat(other, parts.time.now());
    auto body = [&]() -> task<> {
        co_await sleep(20s);
        const std::vector<node_record> nodes = co_await parts.memory.nodes();
        EXPECT_EQ(nodes.size(), 2u);
        EXPECT_EQ(parts.connection.calls(store_call::rescue), 1);
        EXPECT_EQ(parts.connection.calls(store_call::retire), 0);
    };
    co_await while_rescuing(parts, body);
}

// Tasks of nodes that are not in the store any more are found all the same.
WEIR_TEST(Rescuer, RescuesEveryHalfMinuteWithoutAReason) {
    components parts({.lease = 6s, .heartbeat = 2s});
    co_await parts.register_node();
    auto body = [&]() -> task<> {
        co_await sleep(29s);
        EXPECT_EQ(parts.connection.calls(store_call::rescue), 1);
        co_await sleep(3s);
        EXPECT_EQ(parts.connection.calls(store_call::rescue), 2);
        co_await sleep(29s);
        EXPECT_EQ(parts.connection.calls(store_call::rescue), 3);
        const int looks = parts.connection.calls(store_call::nodes);
        EXPECT_EQ(looks, 31) << "a look at every heartbeat";
    };
    co_await while_rescuing(parts, body);
}

WEIR_TEST(Rescuer, CountsWhatBecameOfTheTasks) {
    components parts({.workers = 1, .max_crashes = 1});
    co_await parts.register_node();
    const task_id failed = co_await parts.submit(new_task("work"));
    co_await run_elsewhere(parts);
    node_record second;
    second.id = "second";
    second.expires_at = parts.time.now() + 1s;
    const task_id cancelled = co_await parts.submit(new_task("work"));
    co_await parts.memory.heartbeat(second, parts.time.now());
    claim_request request;
    request.node = second.id;
    request.now = parts.time.now();
    co_await parts.memory.claim(request);
    co_await parts.memory.cancel(cancelled, parts.time.now());
    auto body = [&]() -> task<> {
        co_await sleep(4s);
        const task_record first_record = co_await record_of(parts.memory, failed);
        EXPECT_EQ(first_record.state, task_state::failed);
        const task_record second_record = co_await record_of(parts.memory, cancelled);
        EXPECT_EQ(second_record.state, task_state::cancelled);
        EXPECT_EQ(parts.stats().rescued, 2u);
        EXPECT_EQ(parts.stats().dead, 1u);
        EXPECT_EQ(parts.stats().cancelled, 1u);
        EXPECT_EQ(parts.logged("rescued 2 tasks of dead nodes, of which 1 have crashed too often"),
                  1u);
        const task_id third = co_await parts.submit(new_task("work"));
        co_await run_in_a_gone_process(parts, "third");
        co_await sleep(3s);
        const task_record third_record = co_await record_of(parts.memory, third);
        EXPECT_EQ(third_record.state, task_state::failed);
        EXPECT_EQ(parts.stats().rescued, 3u);
        EXPECT_EQ(parts.stats().dead, 2u);
    };
    co_await while_rescuing(parts, body);
}

WEIR_TEST(Rescuer, LooksAgainAfterAFailure) {
    components parts;
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    co_await run_elsewhere(parts);
    int failures = 0;
    parts.memory.on_call([&](store_call which) -> store_fault {
        if ((which == store_call::nodes || which == store_call::rescue) && ++failures <= 4) {
            if (failures % 2 == 0) {
                throw std::logic_error("broken");
            }
            return store_fault::fails;
        }
        return store_fault::none;
    });
    auto body = [&]() -> task<> {
        co_await sleep(15s);
        const task_record rescued = co_await record_of(parts.memory, id);
        EXPECT_EQ(rescued.state, task_state::pending);
    };
    co_await while_rescuing(parts, body);
}

// While the store does not answer heartbeats, the node may be the dead one itself.
WEIR_TEST(Rescuer, LooksAtNothingWhileHeartbeatsAreNotAnswered) {
    components parts;
    co_await parts.register_node();
    auto body = [&]() -> task<> {
        co_await sleep(3s);
        parts.memory.on_call([](store_call which) {
            return which == store_call::heartbeat ? store_fault::fails : store_fault::none;
        });
        co_await sleep(3s);
        const int looks = parts.connection.calls(store_call::nodes);
        co_await sleep(20s);
        EXPECT_EQ(parts.connection.calls(store_call::nodes), looks);
        parts.memory.on_call({});
        co_await sleep(2s);  // the next attempt
        EXPECT_GT(parts.connection.calls(store_call::nodes), looks) << "at once, when registered";
    };
    co_await while_rescuing(parts, body);
}

// The look at the nodes takes so long that the lease of this node expires meanwhile.
WEIR_TEST(Rescuer, RescuesNothingIfItsOwnLeaseExpiresWhileItLooks) {
    components parts({.lease = 3s, .heartbeat = 1s, .store_timeout = 20s});
    co_await parts.register_node();
    co_await parts.submit(new_task("work"));
    co_await run_elsewhere(parts);
    co_await sleep(1s);
    parts.connection.delay_answers(
        [](store_call which) { return which == store_call::nodes ? 2s : 0s; });
    const handle<> rescuing = weir::spawn(parts.rescuer.run());
    co_await sleep(10s);
    EXPECT_EQ(parts.connection.calls(store_call::nodes), 1);
    EXPECT_EQ(parts.connection.calls(store_call::rescue), 0);
    rescuing.cancel();
    co_await rescuing.wait();
}

// ---- old leases

// Loses the current lease of the node, and takes another one.
task<> lose_lease(components& parts) {
    co_await parts.memory.retire(parts.leases.current().node());
    const std::size_t before = parts.leases.all().size();
    while (parts.leases.all().size() == before || !parts.leases.is_confirmed()) {
        co_await sleep(1ms);
    }
}

// A lease is needed as long as a run is under it, and no longer: otherwise leases pile up.
WEIR_TEST(Rescuer, ALeaseIsRetiredWhenItsRunsHaveEnded) {
    components parts({.max_crashes = 100});
    parts.handlers.add("work",
                       [](job&) -> task<json> {
                           co_await shield(sleep(10s));
                           co_return nullptr;
                       },
                       {});
    co_await parts.register_node();
    auto body = [&](task_group& group) -> task<> {
        for (int round = 0; round < 3; ++round) {
            co_await parts.submit(2, "work");
            for (int i = 0; i < 2; ++i) {
                task_record task = co_await parts.claim_one();
                parts.runner.start(task, parts.leases.current(), false, group);
            }
            const detail::lease& old = parts.leases.current();
            EXPECT_EQ(parts.runner.running(old), 2u);
            auto rescue = [&]() -> task<> {
                const handle<> settling = weir::spawn(parts.settler.run());
                co_await lose_lease(parts);
                co_await sleep(5s);
                EXPECT_EQ(parts.leases.all().size(), 2u) << "its handlers have not ended";
                EXPECT_EQ(parts.runner.running(parts.leases.current()), 0u);
                co_await sleep(8s);
                EXPECT_EQ(parts.runner.running(), 0u);
                EXPECT_EQ(parts.leases.all().size(), 1u);
                settling.cancel();
                co_await settling.wait();
            };
            co_await while_rescuing(parts, rescue);
        }
    };
    co_await with_group(body);
}

WEIR_TEST(Rescuer, ALeaseIsKeptWhileARunUnderItIsNotSettled) {
    components parts;
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    const task_record task = co_await parts.claim_one();
    parts.settler.add(parts.leases.current(), parts.builder.completed(task, json(1)));
    auto body = [&]() -> weir::task<> {
        // It is not ended in the store, so that the result can be written under it.
        parts.memory.on_call([](store_call which) {
            return which == store_call::heartbeat ? store_fault::fails : store_fault::none;
        });
        co_await sleep(parts.options.lease);
        parts.memory.on_call({});
        co_await sleep(20s);
        EXPECT_EQ(parts.leases.all().size(), 2u);
        EXPECT_EQ(parts.connection.calls(store_call::rescue), 1)
            << "nor does it rescue its own task meanwhile";
        const handle<> settling = weir::spawn(parts.settler.run());
        co_await sleep(3s);
        EXPECT_EQ(parts.leases.all().size(), 1u);
        const task_record done = co_await record_of(parts.memory, id);
        EXPECT_EQ(done.state, task_state::completed);
        EXPECT_EQ(done.crashes, 0u);
        settling.cancel();
        co_await settling.wait();
    };
    co_await while_rescuing(parts, body);
}

// A settlement that waits for more than a minute does not keep the rescue of other nodes' tasks.
WEIR_TEST(Rescuer, WaitsAMinuteForSettlementsOfAnOldLease) {
    components parts;
    co_await parts.register_node();
    task_record task;
    task.id = task_id(99);
    parts.settler.add(parts.leases.current(), parts.builder.completed(task, json(1)));
    auto body = [&]() -> weir::task<> {
        co_await lose_lease(parts);
        const int rescues = parts.connection.calls(store_call::rescue);
        const clock::time_point begun = weir::now();
        const task_id id = co_await parts.submit(new_task("work"));
        co_await run_elsewhere(parts);
        while (parts.connection.calls(store_call::rescue) == rescues) {
            co_await sleep(100ms);
        }
        EXPECT_GE(weir::now() - begun, 59s);
        EXPECT_LE(weir::now() - begun, 1min + 2 * parts.options.heartbeat);
        const task_record rescued = co_await record_of(parts.memory, id);
        EXPECT_EQ(rescued.state, task_state::pending);
        EXPECT_EQ(parts.leases.all().size(), 2u);
    };
    co_await while_rescuing(parts, body);
}

// A handler that does not end holds up the rescue for three store timeouts: its own task may be
// among those that would be rescued.
WEIR_TEST(Rescuer, WaitsAWhileForHandlersThatDoNotEnd) {
    components parts({.store_timeout = 4s});
    parts.handlers.add("work",
                       [](job&) -> task<json> {
                           co_await shield(sleep(1h));
                           co_return nullptr;
                       },
                       {});
    co_await parts.register_node();
    auto body = [&](task_group& group) -> task<> {
        task_record stubborn;
        stubborn.kind = "work";
        stubborn.id = task_id(99);
        parts.runner.start(stubborn, parts.leases.current(), false, group);
        auto rescue = [&]() -> task<> {
            co_await lose_lease(parts);
            const int rescues = parts.connection.calls(store_call::rescue);
            const clock::time_point begun = weir::now();
            co_await parts.submit(new_task("work"));
            co_await run_elsewhere(parts);
            while (parts.connection.calls(store_call::rescue) == rescues) {
                co_await sleep(100ms);
            }
            EXPECT_GE(weir::now() - begun, 11s);
            EXPECT_LE(weir::now() - begun, 12s + parts.options.heartbeat + 500ms);
        };
        co_await while_rescuing(parts, rescue);
    };
    co_await with_group(body);
}

// Tasks of a lost claim under an old lease are returned before that lease is retired.
WEIR_TEST(Rescuer, ReturnsLostClaimsOfAnOldLease) {
    components parts;
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    const detail::lease& old = parts.leases.current();
    parts.memory.on_call([](store_call which) {
        return which == store_call::claim ? store_fault::fails_after : store_fault::none;
    });
    auto claiming = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        co_await sleep(1ms);
        parts.claimer.close();
    };
    co_await with_group(claiming);
    EXPECT_TRUE(parts.claimer.has_lost_claims(old));
    auto body = [&]() -> task<> {
        parts.memory.on_call([](store_call which) {
            return which == store_call::heartbeat ? store_fault::fails : store_fault::none;
        });
        co_await sleep(parts.options.lease);
        parts.memory.on_call({});
        co_await sleep(3s);
        EXPECT_FALSE(parts.claimer.has_lost_claims(old));
        const handle<> settling = weir::spawn(parts.settler.run());
        co_await sleep(3s);
        const task_record returned = co_await record_of(parts.memory, id);
        EXPECT_EQ(returned.state, task_state::pending);
        EXPECT_EQ(returned.crashes, 0u);
        EXPECT_EQ(parts.leases.all().size(), 1u);
        settling.cancel();
        co_await settling.wait();
    };
    co_await while_rescuing(parts, body);
}

// Nor is a lease retired while a claim under it is in flight.
WEIR_TEST(Rescuer, ALeaseIsKeptWhileAClaimUnderItIsInFlight) {
    components parts({.store_timeout = 1min});
    co_await parts.register_node();
    const detail::lease& old = parts.leases.current();
    parts.connection.delay_answers(
        [](store_call which) { return which == store_call::claim ? 30s : 0s; });
    auto claiming = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        auto body = [&]() -> task<> {
            co_await sleep(1s);
            co_await lose_lease(parts);
            co_await sleep(10s);
            EXPECT_TRUE(parts.claimer.is_claiming(old));
            EXPECT_EQ(parts.leases.all().size(), 2u);
            co_await sleep(21s);
            EXPECT_FALSE(parts.claimer.is_claiming(old));
            EXPECT_EQ(parts.leases.all().size(), 1u);
            parts.claimer.close();
        };
        co_await while_rescuing(parts, body);
    };
    co_await with_group(claiming);
}

// A lease that ends at the moment of the look is over.
WEIR_TEST(Rescuer, ALeaseThatEndsNowIsOver) {
    components parts({.heartbeat = 2s});
    co_await parts.register_node();
    auto body = [&]() -> task<> {
        co_await sleep(3s);
        const task_id id = co_await parts.submit(new_task("work"));
        node_record other;
        other.id = "other";
        other.expires_at = parts.time.now() + 3s;  // at the third look
        co_await parts.memory.heartbeat(other, parts.time.now());
        claim_request request;
        request.node = other.id;
        request.now = parts.time.now();
        co_await parts.memory.claim(request);
        co_await advance(3s - 1ms);
        EXPECT_EQ(parts.stats().rescued, 0u);
        co_await advance(1ms);
        EXPECT_EQ(parts.stats().rescued, 1u);
        const task_record rescued = co_await record_of(parts.memory, id);
        EXPECT_EQ(rescued.state, task_state::pending);
    };
    co_await while_rescuing(parts, body);
}

}  // namespace
}  // namespace weir::service::testing
