// SPDX-License-Identifier: MIT
// Tasks that expire, with the whole service: they end in time whatever they wait for, and no
// handler gets them.
#include "service/engine/expirer.hpp"

#include "components.hpp"

#include <weir/service/workflow_desk.hpp>

#include <stdexcept>

namespace weir::service::testing {
namespace {

WEIR_TEST(Expirer, LooksOnceASecondAndGoesOnAfterAFailure) {
    components parts;
    new_task fresh("work");
    fresh.expires_at = parts.time.now() + 4s;
    const task_id id = co_await parts.submit(fresh);
    parts.memory.on_call([&](store_call which) {
        const bool fails =
            which == store_call::expire && parts.connection.calls(store_call::expire) < 6;
        return fails ? store_fault::fails : store_fault::none;
    });
    const handle<> looking = weir::spawn(parts.expirer.run());
    co_await advance(5500ms);
    EXPECT_EQ(parts.connection.calls(store_call::expire), 5);
    const task_record waiting = co_await record_of(parts.memory, id);
    EXPECT_EQ(waiting.state, task_state::pending);
    co_await advance(1s);
    const task_record ended = co_await record_of(parts.memory, id);
    EXPECT_EQ(ended.state, task_state::cancelled);
    EXPECT_TRUE(parts.trigger.is_wanted());
    looking.cancel();
    co_await looking.wait();
}

// A service with one worker, on which 'long' runs for an hour and the others are noted.
class small_service {
public:
    small_service() {
        tasks.handle("long", [](job&) -> task<json> {
            co_await sleep(1h);
            co_return nullptr;
        });
        const auto note = [this](job& what) -> task<json> {
            begun.emplace_back(what.payload().as_string());
            co_return nullptr;
        };
        tasks.handle("note", note);
    }

    new_task until(clock::duration span, std::string payload) const {
        new_task fresh("note", "\"" + payload + "\"");
        fresh.expires_at =
            tasks.now() + std::chrono::duration_cast<std::chrono::microseconds>(span);
        return fresh;
    }

    static service_options settings() {
        service_options options;
        options.workers = 1;
        options.poll = 10h;
        options.default_timeout = 10h;
        options.remote_kinds = {"remote"};
        return options;
    }

    memory_store store;
    std::vector<std::string> begun;  // their payloads
    service tasks{store, settings()};
};

WEIR_TEST(Expirer, ATaskThatWaitsForAWorkerEndsInTime) {
    small_service here;
    started running(here.tasks);
    co_await submit(here.tasks, "long");
    co_await settle_all();
    const task_id late = co_await submit(here.tasks, here.until(10min, "late"));
    new_task fresh = here.until(10min, "remote");
    fresh.kind = "remote";
    const task_id remote = co_await submit(here.tasks, fresh);
    co_await here.tasks.pause("paused", true);
    new_task behind = here.until(10min, "paused");
    behind.queue = "paused";
    const task_id paused = co_await submit(here.tasks, behind);
    const task_id patient = co_await submit(here.tasks, here.until(2h, "patient"));
    co_await advance(10min - 1s);
    for (const task_id each : {late, remote, paused}) {
        const task_record waiting = co_await record_of(here.store, each);
        EXPECT_EQ(waiting.state, task_state::pending);
    }
    co_await advance(2s);
    for (const task_id each : {late, remote, paused}) {
        const task_record ended = co_await record_of(here.store, each);
        EXPECT_EQ(ended.state, task_state::cancelled);
        EXPECT_EQ(ended.error, "expired: not started by 2026-01-01T00:10:00.000000Z");
    }
    co_await here.tasks.pause("paused", false);
    co_await advance(1h);
    const task_record done = co_await record_of(here.store, patient);
    EXPECT_EQ(done.state, task_state::completed);
    EXPECT_EQ(here.begun, std::vector<std::string>(1, "patient"));
    co_await running.end();
}

// The worker becomes free between the time and the next look.
WEIR_TEST(Expirer, NoHandlerGetsATaskThatHasExpired) {
    small_service here;
    started running(here.tasks);
    co_await advance(250ms);
    co_await submit(here.tasks, "long");
    co_await settle_all();
    const task_id late = co_await submit(here.tasks, here.until(1h - 1us, "late"));
    const task_id just = co_await submit(here.tasks, here.until(1h + 1us, "just in time"));
    co_await advance(1h);
    const task_record ended = co_await record_of(here.store, late);
    EXPECT_EQ(ended.state, task_state::cancelled);
    const task_record done = co_await record_of(here.store, just);
    EXPECT_EQ(done.state, task_state::completed);
    EXPECT_EQ(here.begun, std::vector<std::string>(1, "just in time"));
    co_await running.end();
}

WEIR_TEST(Expirer, ATaskThatHasBegunIsNotAffected) {
    memory_store store;
    service tasks(store);
    int runs = 0;
    tasks.handle("slow", [&](job&) -> task<json> {
        co_await sleep(6min);
        if (++runs == 1) {
            throw std::runtime_error("once");
        }
        co_return nullptr;
    });
    started running(tasks);
    new_task fresh("slow");
    fresh.expires_at = tasks.now() + 5min;
    const task_id id = co_await submit(tasks, fresh);
    co_await advance(1h);
    const task_record done = co_await record_of(store, id);
    EXPECT_EQ(done.state, task_state::completed);
    EXPECT_EQ(done.run, 2u);
    co_await running.end();
}

// What came after it needs no poll.
WEIR_TEST(Expirer, ItsEndLetsOthersRun) {
    small_service here;
    started running(here.tasks);
    co_await here.tasks.pause("paused", true);
    new_task first = here.until(1min, "expires");
    first.queue = "paused";
    workflow flow;
    const dependency parent = flow.add(first);
    flow.add(new_task("note", "\"cancelled\""), {parent});
    flow.add(new_task("note", "\"runs\""), {parent.with(failure_policy::run)});
    flow.group.emplace();
    flow.group->on_failure = failure_policy::run;
    const workflow_result made = co_await here.tasks.workflows().submit(std::move(flow));
    co_await advance(62s);
    const std::optional<group_record> group = co_await here.tasks.workflows().find(made.group);
    EXPECT_TRUE(is_final(group->state));
    EXPECT_EQ(group->cancelled, 2u);
    EXPECT_EQ(here.begun, std::vector<std::string>(1, "runs"));
    co_await running.end();
}

WEIR_TEST(Expirer, ATimeThatHasPassedEndsTheTask) {
    small_service here;
    started running(here.tasks);
    const task_id id = co_await submit(here.tasks, here.until(-1h, "yesterday's"));
    co_await advance(1s);
    const task_record ended = co_await record_of(here.store, id);
    EXPECT_EQ(ended.state, task_state::cancelled);
    EXPECT_TRUE(here.begun.empty());
    co_await running.end();
}

WEIR_TEST(Expirer, TimesAreChecked) {
    small_service here;
    new_task fresh = here.until(1h, "both");
    fresh.run_at = *fresh.expires_at;
    WEIR_EXPECT_THROW_WITH(here.tasks.submit(fresh), invalid_value,
                           "expires_at is '2026-01-01T01:00:00.000000Z'; it must be after run_at, "
                           "2026-01-01T01:00:00.000000Z");
    fresh.run_at = *fresh.expires_at - 1us;
    const task_id id = co_await submit(here.tasks, fresh);
    task_edit later;
    later.run_at = fresh.expires_at;
    WEIR_EXPECT_THROW_WITH(here.tasks.edit(id, later), invalid_value, "must be after run_at");
    later.expires_at.emplace(*fresh.expires_at + 1h);
    const change_result changed = co_await here.tasks.edit(id, later);
    EXPECT_EQ(changed, change_result::done);
    const task_record found = co_await record_of(here.store, id);
    EXPECT_EQ(found.expires_at, *fresh.expires_at + 1h);
    EXPECT_EQ(found.run_at, fresh.expires_at);
    schedule plan;
    plan.name = "nightly";
    plan.cron = "@daily";
    plan.task = here.until(1h, "one slot");
    WEIR_EXPECT_THROW_WITH(here.tasks.put_schedule(plan), invalid_value, "no task of a later slot");
    workflow flow;
    flow.group.emplace().callback = here.until(1h, "callback");
    WEIR_EXPECT_THROW_WITH(here.tasks.workflows().submit(flow), invalid_value, "no expires_at");
}

WEIR_TEST(Expirer, ATaskThatHasRunCannotExpire) {
    memory_store store;
    service tasks(store);
    tasks.handle("fails", [](job&) -> task<json> {
        throw std::runtime_error("always");
        co_return nullptr;
    });
    started running(tasks);
    new_task fresh("fails");
    fresh.retry.backoff = 1h;
    fresh.expires_at = tasks.now() + 1h;
    const task_id id = co_await submit(tasks, fresh);
    co_await advance(1s);
    task_edit edit;
    edit.expires_at.emplace(tasks.now() + 2h);
    WEIR_EXPECT_THROW_WITH(tasks.edit(id, edit), invalid_value,
                           "a run of the task has begun, so it cannot expire");
    edit.expires_at.emplace();
    const change_result changed = co_await tasks.edit(id, edit);
    EXPECT_EQ(changed, change_result::done) << "that is true anyway";
    co_await running.end();
}

}  // namespace
}  // namespace weir::service::testing
