// SPDX-License-Identifier: MIT
// The contract of debouncer and throttler.

#include "support.hpp"

#include <weir/flow/debouncer.hpp>
#include <weir/flow/prometheus.hpp>

#include <memory>

namespace {

using namespace flow_tests;

// Records the time and the argument of each run.
struct recorder {
    std::chrono::milliseconds takes = 0ms;
    weir::clock::time_point begin = weir::now();
    std::vector<std::pair<int, std::string>> runs{};
    int inside = 0;
    int most_inside = 0;

    task<std::string> run(std::string text) {
        runs.emplace_back(static_cast<int>((weir::now() - begin) / 1ms), text);
        struct leave {
            int& inside;
            ~leave() { --inside; }
        } const leaving{inside};
        most_inside = std::max(most_inside, ++inside);
        co_await weir::sleep(takes);
        if (text == "bad") {
            throw test_error("bad input");
        }
        co_return "<" + text + ">";
    }
    auto body() {
        return [this](std::string text) { return run(std::move(text)); };
    }
};
using runs = std::vector<std::pair<int, std::string>>;

WEIR_TEST(Debouncer, RunsOnceWithTheLastArguments) {
    recorder seen;
    weir::debouncer save({.delay = 100ms}, seen.body());
    static_assert(std::is_same_v<decltype(save), weir::debouncer<std::string(std::string)>>);
    auto first = save.call("a");
    co_await weir::sleep(60ms);
    auto second = save.call("b");
    co_await weir::sleep(60ms);
    EXPECT_TRUE(save.pending());
    auto third = save.call("c");
    const std::string result = co_await third;
    EXPECT_EQ(result, "<c>");
    EXPECT_EQ(seen.runs, (runs{{220, "c"}}));
    const std::string same = co_await first;  // the result is shared
    EXPECT_EQ(same, "<c>");
    EXPECT_TRUE(first == second);
    EXPECT_FALSE(save.pending());
    EXPECT_EQ(save.stats().calls, 3u);
    EXPECT_EQ(save.stats().runs, 1u);
}

WEIR_TEST(Debouncer, SharesTheErrorToo) {
    recorder seen;
    weir::debouncer save({.delay = 100ms}, seen.body());
    auto first = save.call("a");
    auto second = save.call("bad");
    WEIR_EXPECT_THROW_WITH(first, test_error, "bad input");
    WEIR_EXPECT_THROW(second, test_error);
    const std::string next = co_await save.call("good");  // and continues
    EXPECT_EQ(next, "<good>");
    EXPECT_EQ(save.stats().failed, 1u);
}

WEIR_TEST(Debouncer, AnErrorWithoutAWaiterIsReported) {
    weir::testing::expect_report(weir::report_kind::unretrieved_error, "bad input");
    {
        recorder seen;
        weir::debouncer save({.delay = 1ms}, seen.body());
        save.call("bad");
        co_await save.flush();
    }
    co_await settle_all();
}

WEIR_TEST(Debouncer, LeadingAndTrailing) {
    recorder seen;
    weir::debouncer save({.delay = 100ms, .leading = true}, seen.body());
    const std::string at_once = co_await save.call("a");
    EXPECT_EQ(at_once, "<a>");
    co_await weir::sleep(10ms);
    save.call("b");
    const std::string later = co_await save.call("c");
    EXPECT_EQ(later, "<c>");
    co_await weir::sleep(500ms);
    const std::string alone = co_await save.call("d");  // alone in its burst: one run
    EXPECT_EQ(alone, "<d>");
    co_await weir::sleep(500ms);
    EXPECT_EQ(seen.runs, (runs{{0, "a"}, {110, "c"}, {610, "d"}}));
}

WEIR_TEST(Debouncer, LeadingOnlyCoversItsBurst) {
    recorder seen;
    weir::debouncer save({.delay = 100ms, .leading = true, .trailing = false}, seen.body());
    auto first = save.call("a");
    co_await weir::sleep(90ms);
    const std::string covered = co_await save.call("b");
    EXPECT_EQ(covered, "<a>");
    co_await weir::sleep(90ms);
    const std::string still = co_await save.call("c");  // a pause of less than the delay
    EXPECT_EQ(still, "<a>");
    co_await weir::sleep(100ms);
    const std::string fresh = co_await save.call("d");
    EXPECT_EQ(fresh, "<d>");
    co_await first;
}

WEIR_TEST(Debouncer, NoCallWaitsLongerThanMaxWait) {
    recorder seen;
    weir::debouncer save({.delay = 100ms, .max_wait = 250ms}, seen.body());
    for (int i = 0; i < 10; ++i) {
        save.call(std::to_string(i));
        co_await weir::sleep(60ms);
    }
    co_await weir::sleep(1s);
    EXPECT_EQ(seen.runs, (runs{{250, "4"}, {550, "9"}}));
}

// A burst without end, and leading only: max_wait lets it run again.
WEIR_TEST(Debouncer, MaxWaitWithoutTrailing) {
    recorder seen;
    weir::debouncer save({.delay = 100ms, .max_wait = 250ms, .leading = true, .trailing = false},
                         seen.body());
    for (int i = 0; i < 10; ++i) {
        save.call(std::to_string(i));
        co_await weir::sleep(60ms);
    }
    EXPECT_EQ(seen.runs, (runs{{0, "0"}, {300, "5"}}));
}

WEIR_TEST(Debouncer, ARunningBodyIsNeverCancelledAndNeverOverlaps) {
    recorder seen;
    seen.takes = 300ms;
    weir::debouncer save({.delay = 100ms}, seen.body());
    auto first = save.call("a");
    co_await weir::sleep(150ms);  // it started at 100
    EXPECT_TRUE(save.running());
    auto second = save.call("b");
    co_await weir::sleep(20ms);
    auto third = save.call("c");
    const std::string one = co_await first;
    EXPECT_EQ(one, "<a>");
    const std::string two = co_await second;
    EXPECT_EQ(two, "<c>");
    EXPECT_EQ(seen.runs, (runs{{100, "a"}, {400, "c"}}));  // due at 270: when the first has ended
    EXPECT_EQ(seen.most_inside, 1);
    co_await third;
}

WEIR_TEST(Debouncer, ACancelledCallerLeavesAlone) {
    recorder seen;
    seen.takes = 50ms;
    weir::debouncer save({.delay = 100ms}, seen.body());
    auto wait = [&](std::string text) -> task<std::string> { co_return co_await save.call(text); };
    auto stays = weir::spawn(wait, "a");
    co_await settle_all();
    auto leaves = weir::spawn(wait, "b");
    co_await weir::sleep(120ms);
    leaves.cancel();
    co_await leaves.wait();
    EXPECT_TRUE(leaves.cancelled());
    const std::string result = co_await stays;
    EXPECT_EQ(result, "<b>");
    WEIR_EXPECT_TIMEOUT(weir::timeout(10ms, save.call("c")));  // a timeout is the same
    co_await weir::sleep(200ms);
    EXPECT_EQ(seen.runs.back().second, "c");
}

WEIR_TEST(Debouncer, CancelDropsPendingCalls) {
    recorder seen;
    seen.takes = 50ms;
    weir::debouncer save({.delay = 100ms}, seen.body());
    EXPECT_FALSE(save.cancel());
    auto first = save.call("a");
    co_await weir::sleep(120ms);
    auto second = save.call("b");
    EXPECT_TRUE(save.cancel());
    EXPECT_FALSE(save.pending());
    WEIR_EXPECT_CANCELLED(second);
    const std::string one = co_await first;  // the run in progress continues
    EXPECT_EQ(one, "<a>");
    co_await weir::sleep(1s);
    EXPECT_EQ(seen.runs.size(), 1u);
    EXPECT_EQ(save.stats().dropped, 1u);
}

WEIR_TEST(Debouncer, FlushRunsPendingCallsNow) {
    recorder seen;
    seen.takes = 50ms;
    weir::debouncer save({.delay = 100ms}, seen.body());
    co_await save.flush();  // nothing to do
    auto first = save.call("a");
    co_await weir::sleep(10ms);
    co_await save.flush();
    EXPECT_TRUE(first.done());
    EXPECT_EQ(seen.runs, (runs{{10, "a"}}));
    auto second = save.call("b");
    co_await weir::sleep(110ms);  // it runs
    save.call("c");
    co_await save.flush();  // both
    EXPECT_EQ(seen.runs, (runs{{10, "a"}, {160, "b"}, {210, "c"}}));
    EXPECT_FALSE(save.running());
    co_await second;
}

WEIR_TEST(Debouncer, FlushEndsWhenTheCallIsDropped) {
    recorder seen;
    seen.takes = 50ms;
    weir::debouncer save({.delay = 100ms}, seen.body());
    save.call("a");
    co_await weir::sleep(110ms);
    save.call("b");
    auto flushing = weir::spawn(save.flush());
    co_await settle_all();
    save.cancel();
    co_await flushing;
    EXPECT_EQ(seen.runs.size(), 1u);
    co_await save.flush();
    EXPECT_FALSE(save.running());
}

WEIR_TEST(Debouncer, DestroyedWithCallsPendingAndRunning) {
    recorder seen;
    seen.takes = 50ms;
    std::optional<weir::debouncer<std::string(std::string)>> save;
    save.emplace(weir::debounce_options{.delay = 100ms}, seen.body());
    auto first = save->call("a");
    co_await weir::sleep(120ms);
    auto second = save->call("b");
    save.reset();
    WEIR_EXPECT_CANCELLED(second);
    const std::string one = co_await first;  // it had started
    EXPECT_EQ(one, "<a>");
    co_await weir::sleep(1s);
    EXPECT_EQ(seen.runs.size(), 1u);
}

TEST(Debouncer, TheLoopEndsFirst) {
    std::unique_ptr<weir::debouncer<void(int)>> save;
    int runs = 0;
    auto main = [&]() -> task<> {
        auto body = [&runs](int) -> task<> {
            ++runs;
            co_await weir::sleep(1h);
        };
        const weir::debounce_options options{.delay = 100ms};
        save = std::make_unique<weir::debouncer<void(int)>>(options, body);
        save->call(1);
        co_await weir::sleep(150ms);
        save->call(2);
    };
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(main(), std::move(options));
    EXPECT_EQ(runs, 1);
    save.reset();
}

WEIR_TEST(Debouncer, PlainBodiesVoidResultsAndMoveOnlyValues) {
    int sum = 0;
    weir::debouncer add({.delay = 1ms}, [&sum](int a, int b) { sum += a + b; });
    static_assert(std::is_same_v<decltype(add), weir::debouncer<void(int, int)>>);
    co_await add.call(1, 2);
    EXPECT_EQ(sum, 3);
    weir::debouncer<std::unique_ptr<int>(std::unique_ptr<int>)> box(
        {.delay = 1ms}, [](std::unique_ptr<int> value) { return value; });
    auto one = box.call(std::make_unique<int>(1));
    auto two = box.call(std::make_unique<int>(2));
    const std::unique_ptr<int>& shared = co_await one;
    EXPECT_EQ(*shared, 2);
    const std::unique_ptr<int>& same = co_await two;
    EXPECT_EQ(&same, &shared);
}

WEIR_TEST(Throttle, OneRunPerInterval) {
    recorder seen;
    weir::throttler report({.interval = 100ms}, seen.body());
    for (int i = 0; i < 10; ++i) {
        report.call(std::to_string(i));
        co_await weir::sleep(30ms);
    }
    co_await weir::sleep(1s);
    EXPECT_EQ(seen.runs, (runs{{0, "0"}, {100, "3"}, {200, "6"}, {300, "9"}}));
    const std::string later = co_await report.call("x");
    EXPECT_EQ(later, "<x>");
    EXPECT_EQ(seen.runs.back().first, 1300);
}

WEIR_TEST(Throttle, WithoutTrailingTheRunBeforeCoversCalls) {
    recorder seen;
    seen.takes = 10ms;
    weir::throttler report({.interval = 100ms, .trailing = false}, seen.body());
    auto first = report.call("a");
    co_await weir::sleep(5ms);
    const std::string covered = co_await report.call("b");  // while it runs
    EXPECT_EQ(covered, "<a>");
    co_await weir::sleep(95ms);
    const std::string next = co_await report.call("c");
    EXPECT_EQ(next, "<c>");
    co_await first;
}

WEIR_TEST(Throttle, WithoutLeadingTheFirstCallWaits) {
    recorder seen;
    weir::throttler report({.interval = 100ms, .leading = false}, seen.body());
    report.call("a");
    co_await weir::sleep(50ms);
    report.call("b");
    co_await weir::sleep(80ms);
    report.call("c");
    co_await weir::sleep(500ms);
    EXPECT_EQ(seen.runs, (runs{{100, "b"}, {200, "c"}}));
    EXPECT_FALSE(report.cancel());
}

WEIR_TEST(Throttle, ASlowBodyDelaysTheNextRun) {
    recorder seen;
    seen.takes = 250ms;
    weir::throttler report({.interval = 100ms}, seen.body());
    for (int i = 0; i < 10; ++i) {
        report.call(std::to_string(i));
        co_await weir::sleep(30ms);
    }
    co_await report.flush();
    EXPECT_EQ(seen.most_inside, 1);
    EXPECT_EQ(seen.runs, (runs{{0, "0"}, {250, "8"}, {500, "9"}}));
}

TEST(Debouncer, BadOptionsAreRefused) {
    const auto body = [](int) {};
    const auto debounce = [&](weir::debounce_options options) {
        weir::debouncer created(options, body);
    };
    const auto throttle = [&](weir::throttle_options options) {
        weir::throttler created(options, body);
    };
    EXPECT_THROW(debounce({.delay = 0s}), weir::invalid_argument);
    EXPECT_THROW(debounce({.delay = -1s}), weir::invalid_argument);
    EXPECT_THROW(debounce({.max_wait = 0s}), weir::invalid_argument);
    EXPECT_THROW(debounce({.leading = false, .trailing = false}), weir::invalid_argument);
    EXPECT_THROW(throttle({.interval = 0s}), weir::invalid_argument);
    EXPECT_THROW(throttle({.leading = false, .trailing = false}), weir::invalid_argument);
    EXPECT_NO_THROW(debounce({.delay = weir::clock::duration::max()}));
    const auto message = [](const auto& create) -> std::string {
        try {
            create();
        } catch (const weir::invalid_argument& error) {
            return error.what();
        }
        return "no error";
    };
    EXPECT_EQ(message([&] { debounce({.delay = -1s, .name = "save"}); }),
              "save: delay is -1 s; it must be more than zero");
    EXPECT_EQ(message([&] { throttle({.leading = false, .trailing = false}); }),
              "throttler: trailing is false; it must be true if leading is false");
}

WEIR_TEST(Debouncer, Metrics) {
    weir::debouncer save({.delay = 1ms, .name = "save"}, [](int value) { return value; });
    save.call(1);
    co_await save.call(2);
    weir::prometheus_writer page;
    save.write_metrics(page);
    EXPECT_NE(page.text().find("weir_coalescer_calls_total{kind=\"debouncer\",name=\"save\"} 2"),
              std::string::npos)
        << page.text();
}

}  // namespace
