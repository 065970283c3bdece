// SPDX-License-Identifier: MIT
// What a service tells: invalid options, metrics, why a task waits; and that each change which may
// make a task claimable is heard at once.

#include "process.hpp"

#include <weir/flow/prometheus.hpp>

namespace weir::service::testing {
namespace {

task<json> nothing(job&) {
    co_return nullptr;
}

WEIR_TEST(ServiceNews, EachOptionIsChecked) {
    memory_store store;
    const auto refusal = [&](auto set) -> std::string {
        service_options options;
        set(options);
        try {
            const service refused(store, options);
        } catch (const invalid_argument& error) {
            return error.what();
        }
        return "";
    };
    const auto names = [&](std::string_view option, auto set) {
        const std::string error = refusal(set);
        EXPECT_NE(error.find(option), std::string::npos) << option << ": " << error;
        EXPECT_EQ(error.substr(0, 7), "service") << error;
    };
    names("workers", [](service_options& o) { o.workers = 0; });
    names("claim_batch", [](service_options& o) { o.claim_batch = 0; });
    names("max_crashes", [](service_options& o) { o.max_crashes = 0; });
    names("max_result_bytes", [](service_options& o) { o.max_result_bytes = 3; });
    names("default_timeout", [](service_options& o) { o.default_timeout = 0s; });
    names("lease", [](service_options& o) { o.lease = 0s; });
    names("heartbeat", [](service_options& o) { o.heartbeat = 0s; });
    names("worker_lease", [](service_options& o) { o.worker_lease = 0s; });
    names("poll", [](service_options& o) { o.poll = 0s; });
    names("store_timeout", [](service_options& o) { o.store_timeout = 0s; });
    names("drain_limit", [](service_options& o) { o.drain_limit = -1ns; });
    names("heartbeat", [](service_options& o) { o.heartbeat = o.lease / 3 + 1ns; });
    const auto least = [](service_options& o) {
        o.workers = o.claim_batch = 1;
        o.max_crashes = 1;
        o.max_result_bytes = 4;
        o.default_timeout = o.poll = o.store_timeout = 1ns;
        o.lease = 3ns;
        o.heartbeat = 1ns;
        o.drain_limit = 0s;
    };
    EXPECT_EQ(refusal(least), "");
    co_return;
}

WEIR_TEST(ServiceNews, MetricsSayWhatTheStatisticsSay) {
    memory_store store;
    service tasks(store, {.workers = 7});
    tasks.handle("work", nothing).handle("fail", [](job&) -> task<json> {
        throw permanent_failure("never");
        co_return nullptr;
    });
    tasks.handle("wait", [](job&) -> task<json> {
        co_await sleep_forever();
        co_return nullptr;
    });
    started running(tasks);
    co_await tasks.submit(std::vector<new_task>(3, new_task("work")));
    co_await tasks.submit(std::vector<new_task>(2, new_task("fail")));
    co_await tasks.submit(std::vector<new_task>(2, new_task("wait")));
    const task_id cancelled = co_await submit(tasks, "wait");
    co_await advance(1s);
    co_await tasks.cancel(cancelled);
    co_await advance(1s);
    const auto has_line = [&](const std::string& line) {
        prometheus_writer text;
        tasks.write_metrics(text);
        EXPECT_NE(text.text().find("\n" + line + "\n"), std::string::npos)
            << line << " in " << text.text();
    };
    has_line("weir_service_submitted_total 8");
    has_line("weir_service_started_total 8");
    has_line("weir_service_completed_total 3");
    has_line("weir_service_failed_total 2");
    has_line("weir_service_dead_total 2");
    has_line("weir_service_cancelled_total 1");
    has_line("weir_service_rescued_total 0");
    has_line("weir_service_fenced_total 0");
    has_line("weir_service_running 2");
    has_line("weir_service_workers 7");
    has_line("weir_service_draining 0");
    has_line("weir_service_store_up 1");
    store.on_call([](store_call) { return store_fault::fails; });
    WEIR_EXPECT_THROW(tasks.queues(), store_unavailable);
    has_line("weir_service_store_up 0");
    running.stop();
    co_await settle_all();
    has_line("weir_service_draining 1");
    store.on_call({});
    running.stop();
    co_await running.ended();
}

WEIR_TEST(ServiceNews, ATaskWithoutAHandlerSaysWhichKind) {
    memory_store store;
    service tasks(store);
    service elsewhere(store);
    elsewhere.handle("strange", nothing);
    const task_id strange = co_await submit(elsewhere, "strange");
    const std::vector<hold> unknown = co_await tasks.why(strange);
    WEIR_ASSERT_EQ(unknown.size(), 1u);
    EXPECT_EQ(unknown[0].why, hold::reason::no_handler);
    EXPECT_EQ(unknown[0].detail, "strange");
    tasks.handle("strange", nothing);
    const std::vector<hold> its_turn = co_await tasks.why(strange);
    EXPECT_EQ(its_turn.at(0).why, hold::reason::its_turn);
    const std::vector<hold> none = co_await tasks.why(task_id(9));
    EXPECT_TRUE(none.empty());
}

// A store whose database has a transaction that has been open for so long.
class slowed_store final : public process {
public:
    using process::process;

    task<std::optional<old_transaction>> oldest_transaction() override { co_return open; }

    old_transaction open;
};

WEIR_TEST(ServiceNews, ADueTaskNamesTheTransactionThatSlowsTheStoreDown) {
    memory_store kept;
    slowed_store store(kept);
    service tasks(store);
    tasks.handle("mine", nothing);
    const task_id due = co_await submit(tasks, "mine");
    store.open.process = 4321;
    store.open.application = "a report";
    store.open.age = 59s;
    std::vector<hold> holds = co_await tasks.why(due);
    WEIR_ASSERT_EQ(holds.size(), 1u);
    store.open.age = 60s;
    holds = co_await tasks.why(due);
    WEIR_ASSERT_EQ(holds.size(), 2u);
    EXPECT_EQ(holds[0].why, hold::reason::its_turn);
    EXPECT_EQ(holds[1].why, hold::reason::long_transaction);
    EXPECT_EQ(holds[1].detail,
              "process 4321 of the PostgreSQL server (a report) has had a transaction open for "
              "60 s");
}

// A schedule that is due before the next look is found at once.
WEIR_TEST(ServiceNews, ANewScheduleIsHeardOfAtOnce) {
    memory_store store;
    service tasks(store);
    std::vector<clock::time_point> begun;
    tasks.handle("tick", [&](job&) -> task<json> {
        begun.push_back(now());
        co_return nullptr;
    });
    started running(tasks);
    const auto since = tasks.now() - std::chrono::floor<std::chrono::minutes>(tasks.now());
    co_await advance(1min - since);
    co_await advance(55s);  // a look was 5 s ago, the next one is in 5 s, at the slot
    co_await advance(1s);
    schedule plan;
    plan.name = "soon";
    plan.cron = "* * * * *";
    plan.task = new_task("tick");
    co_await tasks.put_schedule(plan);
    const clock::time_point put = now();
    co_await advance(4s);
    WEIR_ASSERT_EQ(begun.size(), 1u);
    EXPECT_EQ(begun[0] - put, 4s);
    co_await running.end();
}

// Each change that may make a task claimable starts it at once, without a poll.
WEIR_TEST(ServiceNews, EveryChangeThatMakesRoomIsHeard) {
    memory_store store;
    service tasks(store, {.poll = 24h});
    int runs = 0;
    tasks.handle("work", [&](job&) -> task<json> {
        if (++runs == 1) {
            throw permanent_failure("the first time");
        }
        co_return nullptr;
    });
    started running(tasks);
    const task_id id = co_await submit(tasks, "work");
    co_await settle_all();
    EXPECT_EQ(runs, 1);
    const change_result retried = co_await tasks.retry(id);
    EXPECT_EQ(retried, change_result::done);
    co_await settle_all();
    EXPECT_EQ(runs, 2);
    runs = 0;
    const task_id again = co_await submit(tasks, "work");
    co_await settle_all();
    EXPECT_EQ(runs, 1);
    const std::size_t driven = co_await tasks.redrive({});
    EXPECT_EQ(driven, 1u);
    co_await settle_all();
    EXPECT_EQ(runs, 2);
    const task_record done = co_await record_of(store, again);
    EXPECT_EQ(done.state, task_state::completed);
    co_await tasks.pause("default", true);
    co_await submit(tasks, "work");
    co_await settle_all();
    EXPECT_EQ(runs, 2);
    co_await tasks.pause("default", false);
    co_await settle_all();
    EXPECT_EQ(runs, 3);
    queue_limits slow;
    slow.rate = 0.001;
    co_await tasks.limit("default", slow);
    co_await submit(tasks, "work");
    co_await submit(tasks, "work");
    co_await settle_all();
    EXPECT_EQ(runs, 4);
    co_await tasks.limit("default", {});
    co_await settle_all();
    EXPECT_EQ(runs, 5);
    EXPECT_EQ(tasks.stats().submitted, 5u);
    co_await running.end();
}

// A batch whose tasks exist already, or are due later, is not a reason to claim now.
WEIR_TEST(ServiceNews, ASubmitClaimsWhenItsFirstTaskIsDue) {
    memory_store store;
    process connection(store);
    service tasks(connection, {.poll = 24h});
    tasks.handle("work", nothing);
    started running(tasks);
    co_await advance(1s);
    const int before = connection.calls(store_call::claim);
    std::vector<new_task> batch(3, new_task("work"));
    batch[0].run_at = tasks.now() + 10s;
    batch[1].run_at = tasks.now() + 5s;
    batch[2].run_at = tasks.now() + 20s;
    batch[0].idempotency_key = "once";
    co_await tasks.submit(batch);
    co_await advance(4s);
    EXPECT_EQ(connection.calls(store_call::claim), before);
    co_await tasks.submit(batch[0]);  // a duplicate
    new_task now_due("work");
    now_due.idempotency_key = "once";
    const submit_result conflict = co_await tasks.submit(now_due);
    EXPECT_EQ(conflict.what, submit_result::verdict::duplicate);
    co_await settle_all();
    EXPECT_EQ(connection.calls(store_call::claim), before);
    co_await advance(1s);
    EXPECT_GT(connection.calls(store_call::claim), before);
    EXPECT_EQ(tasks.stats().started, 1u);
    EXPECT_EQ(tasks.stats().submitted, 3u);
    co_await advance(20s);
    EXPECT_EQ(tasks.stats().completed, 3u);
    co_await running.end();
}

// A cancel that comes while the answer of a claim is on its way, long before the next heartbeat.
WEIR_TEST(ServiceNews, ACancelDuringAClaimIsHeard) {
    memory_store store;
    process connection(store);
    service tasks(connection, {.lease = 60s, .heartbeat = 20s});
    int begun = 0;
    tasks.handle("work", [&](job&) -> task<json> {
        ++begun;
        co_await sleep(1h);
        co_return nullptr;
    });
    started running(tasks);
    co_await advance(10ms);
    connection.delay_answers([](store_call which) { return which == store_call::claim ? 1s : 0s; });
    const task_id id = co_await submit(tasks, "work");
    const task_id other = co_await submit(tasks, "work");
    co_await advance(500ms);
    const change_result result = co_await tasks.cancel(id);
    EXPECT_EQ(result, change_result::requested);
    co_await advance(5s);
    const task_record cancelled = co_await record_of(store, id);
    EXPECT_EQ(cancelled.state, task_state::cancelled);
    const task_record runs = co_await record_of(store, other);
    EXPECT_EQ(runs.state, task_state::running);
    EXPECT_EQ(begun, 1);
    running.stop();
    running.stop();
    co_await running.ended();
}

WEIR_TEST(ServiceNews, ASchedulesNameIsChecked) {
    memory_store store;
    service tasks(store);
    tasks.handle("tick", nothing);
    schedule plan;
    plan.name = "not a word";
    plan.cron = "* * * * *";
    plan.task = new_task("tick");
    WEIR_EXPECT_THROW_WITH(tasks.put_schedule(plan), invalid_argument, "not a word");
    plan.name = "word";
    plan.task.priority = 5000;
    WEIR_EXPECT_THROW_WITH(tasks.put_schedule(plan), invalid_argument, "priority");
    const std::vector<schedule_record> none = co_await tasks.schedules();
    EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace weir::service::testing
