// SPDX-License-Identifier: MIT
// A service whose calendar is set forward and back by an hour while tasks run and wait.

#include "service/engine/wall_clock.hpp"
#include "support.hpp"

namespace weir::service::testing {
namespace {

// A calendar that tests set.
class calendar {
public:
    service_options options() {
        service_options made;
        made.wall_clock = [this] { return detail::wall_clock({}).now() + ahead_; };
        return made;
    }
    void set_ahead(std::chrono::microseconds by) { ahead_ = by; }

private:
    std::chrono::microseconds ahead_{0};
};

task<json> fail_once(job& job) {
    if (job.attempt() == 1) {
        throw std::runtime_error("not yet");
    }
    co_return "done";
}

WEIR_TEST(ClockJump, DoesNotStopOrRepeatARun) {
    for (const auto ahead : {1h, -1h}) {
        memory_store store;
        calendar time;
        service tasks(store, time.options());
        int runs = 0;
        tasks.handle("long", [&](job&) -> task<json> {
            ++runs;
            co_await sleep(60s);
            co_return "done";
        });
        started running(tasks);
        const task_id id = co_await submit(tasks, "long");
        co_await advance(10s);
        time.set_ahead(ahead);
        co_await advance(55s);
        const task_record ended = co_await record_of(store, id);
        EXPECT_EQ(ended.state, task_state::completed);
        EXPECT_EQ(ended.crashes, 0U);
        EXPECT_EQ(runs, 1);
        EXPECT_EQ(ended.finished_at.value_or(timestamp{}), ended.started_at.value() + 60s + ahead);
        co_await running.end();
    }
}

WEIR_TEST(ClockJump, DoesNotChangeTheDelayBeforeARetry) {
    for (const auto ahead : {1h, -1h}) {
        memory_store store;
        calendar time;
        service tasks(store, time.options());
        tasks.handle("flaky", &fail_once);
        started running(tasks);
        new_task fresh("flaky");
        fresh.retry.backoff = 3s;
        fresh.retry.jitter = 0;
        const task_id id = co_await submit(tasks, std::move(fresh));
        co_await advance(1s);
        time.set_ahead(ahead);
        co_await advance(1900ms);
        task_record record = co_await record_of(store, id);
        EXPECT_EQ(record.state, task_state::pending);
        co_await advance(200ms);
        record = co_await record_of(store, id);
        EXPECT_EQ(record.state, task_state::completed);
        EXPECT_EQ(record.error, "");
        co_await running.end();
    }
}

WEIR_TEST(ClockJump, MovesWhatIsMeantAsATimeOfTheCalendar) {
    memory_store store;
    calendar time;
    service tasks(store, time.options());
    tasks.handle("echo", [](job&) -> task<json> { co_return nullptr; });
    started running(tasks);
    new_task fresh("echo");
    fresh.run_at = tasks.now() + 1h;
    const task_id id = co_await submit(tasks, std::move(fresh));
    co_await advance(10s);
    task_record record = co_await record_of(store, id);
    EXPECT_EQ(record.state, task_state::pending);
    time.set_ahead(1h);
    co_await advance(2s);
    record = co_await record_of(store, id);
    EXPECT_EQ(record.state, task_state::completed);
    co_await running.end();
}

// The second process starts after the calendar was set: a deploy.
WEIR_TEST(ClockJump, DoesNotMakeNodesTakeTasksOfOneAnother) {
    for (const auto ahead : {1h, -1h}) {
        memory_store store;
        calendar time;
        int runs = 0;
        const auto run = [&](job&) -> task<json> {
            ++runs;
            co_await sleep(60s);
            co_return "done";
        };
        service first(store, time.options());
        first.handle("long", run);
        started running(first);
        const task_id id = co_await submit(first, "long");
        co_await advance(5s);
        time.set_ahead(ahead);
        service second(store, time.options());
        second.handle("long", run);
        started running_too(second);
        co_await advance(60s);
        const task_record ended = co_await record_of(store, id);
        EXPECT_EQ(ended.state, task_state::completed);
        EXPECT_EQ(ended.crashes, 0U);
        EXPECT_EQ(runs, 1);
        co_await running.end();
        co_await running_too.end();
    }
}

}  // namespace
}  // namespace weir::service::testing
