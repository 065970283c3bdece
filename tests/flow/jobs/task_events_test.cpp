// SPDX-License-Identifier: MIT
// Subscriptions of a task manager: order, lag and return.

#include "support.hpp"

#include <weir/flow/task_events.hpp>
#include <weir/flow/task_manager.hpp>

namespace {

using namespace flow_tests;
using weir::task_context;
using weir::task_event_kind;
using weir::task_manager;

task<int> fail() {
    co_await weir::sleep(10ms);
    throw test_error("no data");
}
task<> idle(std::chrono::milliseconds time) {
    co_await weir::sleep(time);
}

WEIR_TEST(TaskEvents, ComeInOrder) {
    task_manager manager;
    weir::task_events events = manager.subscribe();
    auto work = [](task_context& context) -> task<> {
        context.progress(0.5, "half");
        co_await weir::sleep(1ms);
    };
    (void)co_await manager.submit({.id = "a", .name = "n"}, work);
    co_await manager.drain();
    const std::string bad = co_await manager.submit({.id = "b"}, fail);
    co_await manager.close();
    std::string story;
    while (auto event = co_await events.next()) {
        story.append(event->id).append(" ").append(to_string(event->kind)).append(", ");
    }
    EXPECT_EQ(story,
              "a submitted, a started, a progress, a completed, "
              "b submitted, b started, b failed, ");
    const auto end = co_await events.next();
    EXPECT_FALSE(end.has_value());
}

WEIR_TEST(TaskEvents, ASlowSubscriberIsToldWhatItMissed) {
    task_manager manager({.event_history = 5});
    weir::task_events slow = manager.subscribe();
    for (int i = 0; i < 10; ++i) {
        (void)co_await manager.submit(idle, 0ms);
    }
    co_await manager.drain();  // 30 events, and no task was delayed
    const auto lagged = co_await slow.next();
    WEIR_ASSERT_TRUE(lagged.has_value());
    EXPECT_EQ(lagged->kind, task_event_kind::lagged);
    EXPECT_EQ(lagged->missed, 25u);
    std::uint64_t seen = lagged->number;
    for (int i = 0; i < 2; ++i) {
        const auto event = co_await slow.next();
        EXPECT_EQ(event->number, ++seen);
    }
    weir::task_events back = manager.subscribe_after(seen);  // a client that returns
    const auto next = co_await back.next();
    EXPECT_EQ(next->number, seen + 1);
    co_await manager.close();
}

WEIR_TEST(TaskEvents, ASubscriberWaitsForEachEvent) {
    task_manager manager;
    weir::task_events events = manager.subscribe();
    auto submit_later = [&]() -> task<> {
        for (int i = 0; i < 3; ++i) {
            co_await weir::sleep(1h);
            (void)co_await manager.submit(idle, 60'000ms);
        }
        co_await manager.close();
    };
    auto submitter = weir::spawn(submit_later);
    const auto start = weir::now();
    std::vector<std::chrono::minutes> times;
    while (const auto event = co_await events.next()) {
        times.push_back(std::chrono::floor<std::chrono::minutes>(weir::now() - start));
    }
    co_await submitter;
    EXPECT_EQ(times, (std::vector<std::chrono::minutes>{60min, 60min, 61min, 120min, 120min, 121min,
                                                        180min, 180min, 181min}));
}

WEIR_TEST(TaskEvents, ASubscriberThatIsStoppedLosesNothing) {
    task_manager manager;
    weir::task_events events = manager.subscribe();
    WEIR_EXPECT_TIMEOUT(weir::timeout(1s, events.next()));
    (void)co_await manager.submit(idle, 0ms);
    const auto event = co_await weir::timeout(1s, events.next());
    EXPECT_EQ(event->kind, task_event_kind::submitted);
    co_await manager.close();
}

TEST(TaskEvents, KindsHaveNames) {
    EXPECT_EQ(to_string(task_event_kind::submitted), "submitted");
    EXPECT_EQ(to_string(task_event_kind::lagged), "lagged");
}

}  // namespace
