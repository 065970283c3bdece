// SPDX-License-Identifier: MIT
// Operations on all tasks that match a filter, on a store in memory and in simulated time.
#include "support.hpp"

#include <weir/service/operation.hpp>

namespace weir::service::testing {
namespace {

new_operation operation_on(task_action action, std::string queue) {
    new_operation wanted;
    wanted.action = action;
    wanted.filter.queue = std::move(queue);
    return wanted;
}

// A service with a handler that runs until it is stopped, and pending tasks in two queues.
class office {
public:
    explicit office(std::size_t workers = 1) : tasks(store, options_with(workers)) {
        tasks.handle("wait", [this](job&) -> task<json> {
            ++begun;
            co_await sleep_forever();
            co_return nullptr;
        });
        tasks.handle("fail", [](job&) -> task<json> {
            throw permanent_failure("it broke");
            co_return nullptr;
        });
    }
    static service_options options_with(std::size_t workers) {
        service_options options;
        options.workers = workers;
        options.drain_limit = 0s;
        return options;
    }
    task<> submit_many(std::size_t count, std::string queue, std::string kind = "wait") {
        new_task fresh(std::move(kind));
        fresh.queue = std::move(queue);
        co_await tasks.submit(std::vector<new_task>(count, fresh));
    }
    task<operation_record> finished(std::string id) {
        std::optional<operation_record> found = tasks.find_operation(id);
        while (found.has_value() && found->state == operation_state::running) {
            co_await sleep(1ms);
            found = tasks.find_operation(id);
        }
        co_return found.value_or(operation_record());
    }
    task<std::uint64_t> count(std::string queue, task_state state) {
        const std::vector<queue_record> all = co_await tasks.queues();
        for (const queue_record& each : all) {
            if (each.name == queue) {
                co_return each.count(state);
            }
        }
        co_return 0;
    }

    memory_store store;
    service tasks;
    int begun = 0;
};

WEIR_TEST(Operation, ChangesAllTasksThatMatch) {
    office here;
    co_await here.submit_many(5000, "mail");
    co_await here.submit_many(10, "other");
    started running(here.tasks);
    co_await settle_all();
    EXPECT_EQ(here.begun, 1);
    const operation_record begun =
        here.tasks.start_operation(operation_on(task_action::cancel, "mail"));
    EXPECT_EQ(begun.state, operation_state::running);
    EXPECT_EQ(begun.matched, 0U);
    const operation_record ended = co_await here.finished(begun.id);
    EXPECT_EQ(ended.state, operation_state::done);
    EXPECT_EQ(ended.matched, 5000U);
    EXPECT_EQ(ended.changed, 5000U);
    EXPECT_EQ(ended.skipped, 0U);
    EXPECT_TRUE(ended.ended_at.has_value());
    // The task that was running has been stopped on this node at once.
    co_await sleep(1ms);
    const std::uint64_t cancelled = co_await here.count("mail", task_state::cancelled);
    EXPECT_EQ(cancelled, 5000U);
    EXPECT_EQ(here.begun, 2);  // the worker has gone on to the other queue
    const std::uint64_t others = co_await here.count("other", task_state::cancelled);
    EXPECT_EQ(others, 0U);
    co_await running.end();
}

WEIR_TEST(Operation, ADryRunCountsAndALimitEnds) {
    office here;
    co_await here.submit_many(4500, "mail");
    co_await here.tasks.pause("mail", true);
    started running(here.tasks);
    new_operation dry = operation_on(task_action::cancel, "mail");
    dry.is_dry_run = true;
    operation_record ended = co_await here.finished(here.tasks.start_operation(dry).id);
    EXPECT_EQ(ended.state, operation_state::done);
    EXPECT_EQ(ended.matched, 4500U);
    EXPECT_EQ(ended.changed, 0U);
    dry.limit = 4000;
    ended = co_await here.finished(here.tasks.start_operation(dry).id);
    EXPECT_EQ(ended.matched, 4000U);
    std::uint64_t cancelled = co_await here.count("mail", task_state::cancelled);
    EXPECT_EQ(cancelled, 0U);

    new_operation few = operation_on(task_action::cancel, "mail");
    few.limit = 2001;
    ended = co_await here.finished(here.tasks.start_operation(few).id);
    EXPECT_EQ(ended.state, operation_state::done);
    EXPECT_EQ(ended.matched, 2001U);
    EXPECT_EQ(ended.changed, 2001U);
    cancelled = co_await here.count("mail", task_state::cancelled);
    EXPECT_EQ(cancelled, 2001U);
    co_await running.end();
}

WEIR_TEST(Operation, FailedTasksAreRetriedAndEndedOnesRemoved) {
    office here(8);
    co_await here.submit_many(30, "mail", "fail");
    started running(here.tasks);
    co_await sleep(1s);
    co_await here.tasks.pause("mail", true);
    co_await here.submit_many(5, "mail");
    new_operation some = operation_on(task_action::retry, "mail");
    some.limit = 10;
    operation_record ended = co_await here.finished(here.tasks.start_operation(some).id);
    EXPECT_EQ(ended.changed, 10U);
    std::uint64_t count = co_await here.count("mail", task_state::pending);
    EXPECT_EQ(count, 15U);
    // Cancelled tasks are retried only if the filter names them.
    ended = co_await here.finished(
        here.tasks.start_operation(operation_on(task_action::cancel, "mail")).id);
    EXPECT_EQ(ended.changed, 15U);
    some.limit.reset();
    some.is_dry_run = true;
    ended = co_await here.finished(here.tasks.start_operation(some).id);
    EXPECT_EQ(ended.matched, 20U);
    some.filter.state = task_state::cancelled;
    ended = co_await here.finished(here.tasks.start_operation(some).id);
    EXPECT_EQ(ended.matched, 15U);
    ended = co_await here.finished(
        here.tasks.start_operation(operation_on(task_action::remove, "mail")).id);
    EXPECT_EQ(ended.changed, 35U);
    count = co_await here.count("mail", task_state::failed);
    EXPECT_EQ(count, 0U);
    co_await running.end();
}

// Retried tasks run at once.
WEIR_TEST(Operation, RetriedTasksAreClaimed) {
    office here(2);
    new_task later("wait");
    later.run_at = here.tasks.now() + 1h;
    co_await here.tasks.submit(later);
    started running(here.tasks);
    co_await sleep(1s);
    new_operation wanted;
    wanted.action = task_action::retry;
    wanted.filter.view = task_view::scheduled;
    const operation_record ended = co_await here.finished(here.tasks.start_operation(wanted).id);
    EXPECT_EQ(ended.changed, 1U);
    co_await settle_all();
    EXPECT_EQ(here.begun, 1);
    co_await running.end();
}

WEIR_TEST(Operation, IsStoppedHalfWay) {
    office here;
    co_await here.submit_many(5000, "mail");
    co_await here.tasks.pause("mail", true);
    started running(here.tasks);
    const operation_record begun =
        here.tasks.start_operation(operation_on(task_action::cancel, "mail"));
    std::optional<operation_record> now = here.tasks.find_operation(begun.id);
    while (now->changed < 500) {
        co_await sleep(1ms);
        now = here.tasks.find_operation(begun.id);
    }
    const std::optional<operation_record> stopped = co_await here.tasks.stop_operation(begun.id);
    WEIR_ASSERT_TRUE(stopped.has_value());
    EXPECT_EQ(stopped->state, operation_state::stopped);
    EXPECT_GE(stopped->changed, 500U);
    EXPECT_LT(stopped->changed, 5000U);
    co_await sleep(10s);
    const std::uint64_t cancelled = co_await here.count("mail", task_state::cancelled);
    EXPECT_EQ(cancelled, stopped->changed);
    // Stopping it again changes nothing.
    const std::optional<operation_record> again = co_await here.tasks.stop_operation(begun.id);
    EXPECT_EQ(again->ended_at, stopped->ended_at);
    const std::optional<operation_record> unknown = co_await here.tasks.stop_operation("none");
    EXPECT_FALSE(unknown.has_value());
    // The same operation again does the rest.
    const operation_record rest = co_await here.finished(
        here.tasks.start_operation(operation_on(task_action::cancel, "mail")).id);
    EXPECT_EQ(rest.changed + stopped->changed, 5000U);
    co_await running.end();
}

WEIR_TEST(Operation, TheEndOfTheServiceStopsIt) {
    office here;
    co_await here.submit_many(5000, "mail");
    co_await here.tasks.pause("mail", true);
    started running(here.tasks);
    const std::string id = here.tasks.start_operation(operation_on(task_action::cancel, "mail")).id;
    co_await sleep(3ms);
    co_await running.end();
    EXPECT_EQ(here.tasks.find_operation(id)->state, operation_state::stopped);
    // One that is started before the service runs begins with it; one can stop it before.
    const std::string waiting =
        here.tasks.start_operation(operation_on(task_action::cancel, "mail")).id;
    const std::string dropped =
        here.tasks.start_operation(operation_on(task_action::cancel, "mail")).id;
    const std::optional<operation_record> stopped = co_await here.tasks.stop_operation(dropped);
    EXPECT_EQ(stopped->state, operation_state::stopped);
    started next(here.tasks);
    const operation_record ended = co_await here.finished(waiting);
    EXPECT_EQ(ended.state, operation_state::done);
    co_await next.end();
}

WEIR_TEST(Operation, GoesOnWhenTheStoreIsAvailableAgain) {
    office here;
    co_await here.submit_many(300, "mail");
    co_await here.tasks.pause("mail", true);
    started running(here.tasks);
    co_await sleep(1s);
    bool is_away = false;
    here.store.on_call([&](store_call which) {
        const bool is_ours = which == store_call::change_tasks || which == store_call::list;
        return is_away && is_ours ? store_fault::fails : store_fault::none;
    });
    const std::string id = here.tasks.start_operation(operation_on(task_action::cancel, "mail")).id;
    co_await sleep(2ms);
    is_away = true;
    co_await sleep(20s);
    EXPECT_EQ(here.tasks.find_operation(id)->state, operation_state::running);
    is_away = false;
    const operation_record ended = co_await here.finished(id);
    EXPECT_EQ(ended.state, operation_state::done);
    EXPECT_EQ(ended.changed, 300U);

    is_away = true;
    const std::string lost =
        here.tasks.start_operation(operation_on(task_action::remove, "mail")).id;
    const operation_record failed = co_await here.finished(lost);
    EXPECT_EQ(failed.state, operation_state::failed);
    EXPECT_EQ(failed.error, "the memory store was told to fail");
    is_away = false;
    co_await running.end();
}

WEIR_TEST(Operation, AFewRunAtOnceAndTheLastAreKept) {
    office here;
    for (int i = 0; i < 4; ++i) {
        here.tasks.start_operation(operation_on(task_action::cancel, "mail"));
    }
    EXPECT_THROW(here.tasks.start_operation(operation_on(task_action::cancel, "mail")),
                 too_many_operations);
    started running(here.tasks);
    for (int i = 0; i < 200; ++i) {
        co_await sleep(10ms);
        here.tasks.start_operation(operation_on(task_action::cancel, std::to_string(i)));
    }
    co_await sleep(1s);
    const std::vector<operation_record> kept = here.tasks.operations();
    EXPECT_EQ(kept.size(), 100U);
    EXPECT_EQ(kept.front().filter.queue, "199");
    EXPECT_EQ(kept.back().filter.queue, "100");
    co_await running.end();
}

TEST(Operation, InvalidOnesAreRefused) {
    const auto member_of = [](const new_operation& wanted) -> std::string {
        try {
            check(wanted);
        } catch (const invalid_value& error) {
            return error.member();
        }
        return "";
    };
    new_operation wanted;
    EXPECT_EQ(member_of(wanted), "filter");
    wanted.is_for_all = true;
    EXPECT_EQ(member_of(wanted), "");
    wanted.limit = 0;
    EXPECT_EQ(member_of(wanted), "limit");
    wanted.limit = 1;
    using enum task_state;
    const std::pair<task_action, std::vector<task_state>> allowed[] = {
        {task_action::cancel, {pending, running}},
        {task_action::retry, {pending, failed, cancelled}},
        {task_action::remove, {completed, failed, cancelled}}};
    for (const auto& [action, states] : allowed) {
        wanted.action = action;
        for (const task_state each : {pending, running, completed, failed, cancelled}) {
            wanted.filter.state = each;
            const bool is_allowed = std::find(states.begin(), states.end(), each) != states.end();
            EXPECT_EQ(member_of(wanted), is_allowed ? "" : "state")
                << to_string(action) << " " << to_string(each);
        }
    }
    wanted.filter.state.reset();
    wanted.action = task_action::retry;
    wanted.filter.view = task_view::pending;
    EXPECT_EQ(member_of(wanted), "status");
    wanted.filter.view = task_view::retrying;
    EXPECT_EQ(member_of(wanted), "");
}

}  // namespace
}  // namespace weir::service::testing
