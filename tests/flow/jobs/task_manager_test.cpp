// SPDX-License-Identifier: MIT
// The contract of task_manager.

#include "support.hpp"
#include "task_stores.hpp"

#include <weir/flow/prometheus.hpp>
#include <weir/flow/task_manager.hpp>

namespace {

using namespace flow_tests;
using weir::refusal_reason;
using weir::shutdown_mode;
using weir::task_context;
using weir::task_event_kind;
using weir::task_manager;

task<std::string> report(std::string month) {
    co_await weir::sleep(100ms);
    co_return "report for " + month;
}
task<int> fail() {
    co_await weir::sleep(10ms);
    throw test_error("no data");
}
task<> idle(std::chrono::milliseconds time) {
    co_await weir::sleep(time);
}

WEIR_TEST(TaskManager, ALifeFromSubmissionToResult) {
    task_manager manager;
    const std::string id = co_await manager.submit({.id = "r-1", .name = "report"}, report, "May");
    EXPECT_EQ(id, "r-1");
    co_await weir::sleep(50ms);
    const auto running = co_await manager.get(id);
    WEIR_ASSERT_TRUE(running.has_value());
    EXPECT_EQ(running->state, task_state::running);
    EXPECT_EQ(running->name, "report");
    EXPECT_FALSE(running->finished_at.has_value());
    const managed_task ended = co_await manager.wait(id);
    EXPECT_EQ(ended.state, task_state::completed);
    EXPECT_EQ(ended.result, "report for May");
    EXPECT_EQ(*ended.finished_at - *ended.started_at, 100ms);
    EXPECT_GE(*ended.started_at, ended.created_at);
    const std::string text = co_await manager.result<std::string>(id);
    EXPECT_EQ(text, "report for May");
    co_await manager.close();
    const auto nobody = co_await manager.get("nobody");
    EXPECT_FALSE(nobody.has_value());
    WEIR_EXPECT_THROW(manager.wait("nobody"), weir::unknown_task);
}

WEIR_TEST(TaskManager, WhatCanBeSubmitted) {
    task_manager manager;
    const std::string of_task = co_await manager.submit(report("May"));
    auto with_context = [](task_context& context, int number) -> task<int> {
        context.progress(0.5, "half");
        co_await weir::yield();
        co_return number + static_cast<int>(context.id().size());
    };
    const std::string of_context = co_await manager.submit({.id = "abc"}, with_context, 4);
    const std::string of_void = co_await manager.submit(idle, 1ms);
    const std::string text = co_await manager.result<std::string>(of_task);
    EXPECT_EQ(text, "report for May");
    const int number = co_await manager.result<int>(of_context);
    EXPECT_EQ(number, 7);
    co_await manager.result<void>(of_void);
    const auto record = co_await manager.get("abc");
    EXPECT_EQ(record->result, "7");
    EXPECT_EQ(record->progress, 1.0);
    EXPECT_EQ(record->message, "half");
    EXPECT_NE(of_task, of_void);
    WEIR_EXPECT_THROW(manager.result<double>("abc"), weir::invalid_argument);
    co_await manager.close();
}

WEIR_TEST(TaskManager, ErrorsAreKeptAndRethrown) {
    task_manager manager;
    const std::string id = co_await manager.submit(fail);
    WEIR_EXPECT_THROW_WITH(manager.result<int>(id), test_error, "no data");
    const auto record = co_await manager.get(id);
    EXPECT_EQ(record->state, task_state::failed);
    EXPECT_NE(record->error.find("no data"), std::string::npos);
    EXPECT_NE(record->exception, nullptr);
    auto throws_early = [](int) -> task<int> { throw test_error("before it began"); };
    const std::string early = co_await manager.submit(throws_early, 1);
    WEIR_EXPECT_THROW_WITH(manager.result<int>(early), test_error, "before it began");
    co_await manager.close();
    EXPECT_EQ(manager.stats().failed, 2u);
}

WEIR_TEST(TaskManager, SoManyAtATimeInOrder) {
    task_manager manager({.concurrency = 2, .most_pending = 3});
    int inside = 0;
    int most = 0;
    std::vector<int> order;
    auto work = [&](int number) -> task<> {
        order.push_back(number);
        most = std::max(most, ++inside);
        co_await weir::sleep(10ms);
        --inside;
    };
    for (int i = 0; i < 5; ++i) {
        (void)co_await manager.submit(work, i);
        co_await settle_all();
    }
    EXPECT_EQ(manager.stats().running, 2u);
    EXPECT_EQ(manager.stats().pending, 3u);
    const auto refused = co_await manager.offer(work, 6);
    WEIR_ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.refusal().reason, refusal_reason::queue_full);
    co_await manager.drain();
    EXPECT_EQ(most, 2);
    EXPECT_EQ(order.size(), 5u);
    EXPECT_EQ(order[0] + order[1], 1);
    EXPECT_EQ(order[4], 4);
    (void)co_await manager.submit(work, 7);  // drained, and open
    co_await manager.close();
}

WEIR_TEST(TaskManager, ADuplicateIdIsRefused) {
    task_manager manager;
    (void)co_await manager.submit({.id = "a"}, report, "May");
    WEIR_EXPECT_THROW_WITH(manager.submit({.id = "a"}, report, "June"), weir::refused, "'a'");
    const std::string text = co_await manager.result<std::string>("a");
    EXPECT_EQ(text, "report for May");
    const auto again = co_await manager.offer({.id = "a"}, report, "July");  // while it is kept
    EXPECT_FALSE(again.has_value());
    EXPECT_EQ(again.refusal().reason, refusal_reason::duplicate);
    co_await manager.close();
    EXPECT_EQ(manager.stats().submitted, 1u);
}

WEIR_TEST(TaskManager, ACancelledPendingTaskNeverRuns) {
    task_manager manager({.concurrency = 1});
    bool has_run = false;
    (void)co_await manager.submit(idle, 100ms);
    auto work = [&]() -> task<> {
        has_run = true;
        co_return;
    };
    const std::string id = co_await manager.submit(work);
    const bool cancelled = co_await manager.cancel(id, "not needed");
    EXPECT_TRUE(cancelled);
    const auto record = co_await manager.get(id);
    EXPECT_EQ(record->state, task_state::cancelled);
    EXPECT_EQ(record->error, "not needed");
    EXPECT_FALSE(record->started_at.has_value());
    const bool again = co_await manager.cancel(id);
    EXPECT_FALSE(again);
    const bool unknown = co_await manager.cancel("nobody");
    EXPECT_FALSE(unknown);
    WEIR_EXPECT_THROW_WITH(manager.result<void>(id), weir::cancelled, "not needed");
    co_await manager.close();
    EXPECT_FALSE(has_run);
}

WEIR_TEST(TaskManager, ARunningTaskIsStoppedAndCleansUp) {
    task_manager manager;
    bool cleaned_up = false;
    auto work = [&]() -> task<> {
        auto clean_up = [&]() -> task<> {
            co_await weir::sleep(10ms);
            cleaned_up = true;
        };
        co_await weir::finally(weir::sleep_forever(), clean_up);
    };
    const std::string id = co_await manager.submit(work);
    co_await weir::sleep(1ms);
    EXPECT_TRUE(manager.request_cancel(id, "enough"));
    const auto meanwhile = co_await manager.get(id);
    EXPECT_EQ(meanwhile->state, task_state::running);  // until it has let go
    const managed_task ended = co_await manager.wait(id);
    EXPECT_TRUE(cleaned_up);
    EXPECT_EQ(ended.state, task_state::cancelled);
    EXPECT_EQ(ended.error, "enough");
    auto stubborn = []() -> task<int> {
        (void)co_await weir::intercept(weir::sleep_forever());
        co_return 3;
    };
    const std::string other = co_await manager.submit(stubborn);
    co_await weir::sleep(1ms);
    const bool cancelled = co_await manager.cancel(other);
    EXPECT_FALSE(cancelled);  // it answered with a value
    const int value = co_await manager.result<int>(other);
    EXPECT_EQ(value, 3);
    auto cancels_itself = [&](task_context& context) -> task<> {
        (void)co_await manager.cancel(context.id(), "myself");
    };
    const std::string self = co_await manager.submit(cancels_itself);
    const managed_task by_itself = co_await manager.wait(self);
    EXPECT_EQ(by_itself.state, task_state::cancelled);
    co_await manager.close();
}

WEIR_TEST(TaskManager, ATaskWhoseEndIsBeingStoredCannotBeCancelled) {
    slow_end_store store;
    task_manager manager({.store = &store});
    const std::string id = co_await manager.submit(idle, 100ms);
    co_await weir::sleep(600ms);
    EXPECT_FALSE(manager.request_cancel(id));
    co_await manager.close();
    const auto ended = co_await store.get(id);
    EXPECT_EQ(ended->state, task_state::completed);
}

WEIR_TEST(TaskManager, ListsByStateAndName) {
    task_manager manager({.concurrency = 1});
    (void)co_await manager.submit({.id = "1", .name = "mail"}, idle, 10ms);
    co_await manager.drain();
    (void)co_await manager.submit({.id = "2", .name = "mail"}, idle, 10ms);
    (void)co_await manager.submit({.id = "3", .name = "report"}, idle, 10ms);
    (void)co_await manager.submit({.id = "4", .name = "mail"}, idle, 10ms);
    co_await settle_all();
    const auto ids = [](const std::vector<managed_task>& records) {
        std::string text;
        for (const managed_task& each : records) {
            text += each.id;
        }
        return text;
    };
    const auto all = co_await manager.list();
    EXPECT_EQ(ids(all), "1234");
    const auto pending = co_await manager.list({.state = task_state::pending});
    EXPECT_EQ(ids(pending), "34");
    const auto mail = co_await manager.list({.name = "mail"});
    EXPECT_EQ(ids(mail), "124");
    const auto page = co_await manager.list({.limit = 2});
    EXPECT_EQ(ids(page), "12");
    const auto next_page = co_await manager.list({.after = "2", .limit = 2});
    EXPECT_EQ(ids(next_page), "34");
    co_await manager.close();
}

WEIR_TEST(TaskManager, FinishedTasksAreKeptUpToANumberAndAnAge) {
    weir::memory_task_store store;
    task_manager manager({.keep = 3, .keep_for = 1h, .store = &store});
    for (int i = 0; i < 10; ++i) {
        const std::string id = std::to_string(i);
        (void)co_await manager.submit({.id = id}, idle, 1ms);
        co_await manager.drain();
    }
    EXPECT_EQ(store.size(), 3u);
    const auto old = co_await manager.get("6");
    EXPECT_FALSE(old.has_value());
    const auto recent = co_await manager.get("7");
    EXPECT_TRUE(recent.has_value());
    co_await weir::sleep(1h - 1s);
    const auto still = co_await manager.get("9");
    EXPECT_TRUE(still.has_value());
    co_await weir::sleep(1s);
    const auto gone = co_await manager.get("9");
    EXPECT_FALSE(gone.has_value());
    co_await settle_all();
    EXPECT_EQ(store.size(), 0u);
    (void)co_await manager.submit({.id = "9"}, idle, 1ms);  // the id is free again
    co_await manager.close();
    EXPECT_EQ(manager.stats().removed, 10u);
}

WEIR_TEST(TaskManager, DestroyedWithWorkLeft) {
    weir::memory_task_store store;
    std::optional<task_manager> manager;
    manager.emplace(weir::task_manager_options{.concurrency = 1, .store = &store});
    (void)co_await manager->submit({.id = "a"}, idle, 1h);
    (void)co_await manager->submit({.id = "b"}, idle, 1h);
    co_await settle_all();
    manager.reset();
    co_await settle_all();
    for (const char* id : {"a", "b"}) {
        const auto record = co_await store.get(id);
        EXPECT_EQ(record->state, task_state::cancelled);
    }
}

TEST(TaskManager, TheLoopEndsFirst) {
    weir::memory_task_store store;
    std::unique_ptr<task_manager> manager;
    auto main = [&]() -> task<> {
        manager = std::make_unique<task_manager>(
            weir::task_manager_options{.concurrency = 2, .store = &store});
        for (int i = 0; i < 20; ++i) {
            (void)co_await manager->submit(idle, 1h);
        }
        co_await weir::sleep(1s);
    };
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(main(), std::move(options));
    EXPECT_EQ(manager->stats().running, 0u);
    manager.reset();
}

WEIR_TEST(TaskManager, ASubmitterThatIsCancelledHasSubmitted) {
    dice random;
    trying_store store(random);
    task_manager manager({.store = &store});
    auto submit = [&]() -> task<> { (void)co_await manager.submit({.id = "a"}, idle, 1ms); };
    auto submitter = weir::spawn(submit);
    co_await weir::yield();
    submitter.cancel();
    co_await submitter.wait();
    co_await manager.drain();
    const auto record = co_await manager.get("a");
    if (record.has_value()) {  // it had come so far as to begin
        EXPECT_EQ(record->state, task_state::completed);
    }
    EXPECT_EQ(manager.stats().submitted, manager.stats().completed);
    co_await manager.close();
}

// ---- handlers by name, and a store that outlives the manager

WEIR_TEST(TaskManager, HandlersByName) {
    task_manager manager;
    manager.define("shout", [](task_context& context, std::string text) -> task<std::string> {
        context.progress(0.5);
        co_await weir::sleep(1ms);
        co_return text + "!";
    });
    const std::string id = co_await manager.submit_named({.name = "shout"}, "hello");
    const std::string text = co_await manager.result<std::string>(id);
    EXPECT_EQ(text, "hello!");
    EXPECT_THROW((void)manager.submit_named({.name = "whisper"}, "x"), weir::invalid_argument);
    co_await manager.close();
}

WEIR_TEST(TaskManager, TakesOverWhatAStoreHas) {
    weir::memory_task_store store;
    for (int i = 0; i < 3; ++i) {
        managed_task left;
        left.id = std::to_string(i);
        left.name = i == 2 ? "unknown" : "shout";
        left.payload = "text " + left.id;
        left.token = static_cast<std::uint64_t>(i + 1);
        (void)co_await store.insert(left);
        if (i == 1) {
            left.state = task_state::running;  // its process died
            left.revision = 1;
            (void)co_await store.transition(left, task_state::pending);
        }
    }
    task_manager manager({.store = &store});
    manager.define("shout", [](task_context&, std::string text) -> task<std::string> {
        co_return text + "!";
    });
    const std::size_t count = co_await manager.recover();
    EXPECT_EQ(count, 2u);
    const std::string first = co_await manager.result<std::string>("0");
    EXPECT_EQ(first, "text 0!");
    const std::string second = co_await manager.result<std::string>("1");
    EXPECT_EQ(second, "text 1!");
    WEIR_EXPECT_THROW(manager.wait("2"), weir::invalid_state);  // no handler runs it
    const bool cancelled = co_await manager.cancel("2", "nobody can");
    EXPECT_TRUE(cancelled);
    const auto left = co_await manager.get("2");
    EXPECT_EQ(left->state, task_state::cancelled);
    co_await manager.close();
}

// Its inserts fail.
class failing_store final : public weir::task_store {
public:
    int inserts = 0;

    task<bool> insert(const managed_task&) override {
        ++inserts;
        throw test_error("the disk is full");
        co_return false;
    }
    task<bool> transition(const managed_task&, task_state) override { co_return false; }
    task<std::optional<managed_task>> get(std::string_view) override { co_return std::nullopt; }
    task<std::vector<managed_task>> list(const weir::task_query&) override {
        co_return std::vector<managed_task>();
    }
    task<bool> remove(const managed_task&) override { co_return true; }
};

WEIR_TEST(TaskManager, ASubmitThatCannotBeStoredFailsAfterSomeAttempts) {
    failing_store store;
    task_manager manager({.store = &store, .store_attempts = 3});
    auto work = []() -> task<int> { co_return 1; };
    WEIR_EXPECT_THROW(manager.submit(work), test_error);
    EXPECT_EQ(store.inserts, 3);
    co_await manager.close();
}

// ---- options and numbers

TEST(TaskManager, BadOptionsAreRefused) {
    const auto with = [](weir::task_manager_options options) { task_manager made(options); };
    EXPECT_THROW(with({.concurrency = 0}), weir::invalid_argument);
    EXPECT_THROW(with({.concurrency = static_cast<std::size_t>(-1)}), weir::invalid_argument);
    EXPECT_THROW(with({.most_pending = 0}), weir::invalid_argument);
    EXPECT_THROW(with({.keep_for = -1s}), weir::invalid_argument);
    EXPECT_THROW(with({.event_history = 0}), weir::invalid_argument);
    EXPECT_THROW(with({.store_attempts = 0}), weir::invalid_argument);
    EXPECT_THROW(with({.store_retry = -1s}), weir::invalid_argument);
}

WEIR_TEST(TaskManager, Metrics) {
    task_manager manager({.name = "jobs"});
    (void)co_await manager.submit(idle, 0ms);
    co_await manager.close();
    weir::prometheus_writer page;
    manager.write_metrics(page);
    EXPECT_NE(
        page.text().find("weir_task_manager_tasks_total{name=\"jobs\",outcome=\"completed\"} 1"),
        std::string::npos)
        << page.text();
    for (const char* each : {"submitted", "failed", "cancelled"}) {
        EXPECT_NE(page.text().find(each), std::string::npos) << each << " in " << page.text();
    }
}

WEIR_TEST(TaskManager, WithoutTasksThereIsNothingToDrain) {
    task_manager manager;
    const auto begin = weir::now();
    co_await weir::timeout(1s, manager.drain());
    EXPECT_EQ(weir::now(), begin);
    co_await manager.close();
}

}  // namespace
