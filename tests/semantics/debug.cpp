// SPDX-License-Identifier: MIT
// D: the reports of problems that no task waits for.

#include <support/loops.hpp>

#include <weir/testing/testing.hpp>

#include <cstdlib>
#include <functional>
#include <thread>

namespace {

using namespace std::chrono_literals;
using weir_test::contains;
using weir_test::report_log;
using weir_test::simulated;

weir::loop_options telling(report_log& log, bool debug = false) {
    weir::loop_options options = simulated();
    options.on_report = log.handler();
    options.debug = debug;
    return options;
}

weir::task<int> failing() {
    co_await weir::sleep(1s);
    throw std::runtime_error("lost");
}

TEST(Semantics, D_01) {
    report_log log;
    auto main = [&]() -> weir::task<> {
        {
            weir::handle<int> kept = weir::spawn(failing());
            weir::handle<int> copy = kept;
            co_await weir::sleep(2s);
            EXPECT_TRUE(log.reports.empty());
            kept = {};
            EXPECT_TRUE(log.reports.empty()) << "a handle is left";
        }
        EXPECT_EQ(log.reports.size(), 1u);
        weir::spawn(failing());  // no handle is kept
        co_await weir::sleep(2s);
        EXPECT_EQ(log.reports.size(), 2u);
        {
            weir::handle<int> awaited = weir::spawn(failing());
            WEIR_EXPECT_THROW(awaited, std::runtime_error);
            weir::handle<int> asked = weir::spawn(failing());
            co_await asked.wait();
            EXPECT_THROW(asked.result(), std::runtime_error);
            weir::handle<int> looked_at = weir::spawn(failing());
            co_await looked_at.wait();
            EXPECT_NE(looked_at.error(), nullptr);
        }
        auto works = []() -> weir::task<int> { co_return 1; };
        weir::spawn(works());
        weir::handle<int> stopped = weir::spawn(failing());
        stopped.cancel();
        co_await stopped.wait();
        stopped = {};
        weir::spawn(failing()).cancel();
        co_await weir::yield();
    };
    weir::run(main(), telling(log));
    ASSERT_EQ(log.reports.size(), 2u) << log.text();
    for (const weir::report& each : log.reports) {
        EXPECT_EQ(each.kind, weir::report_kind::unretrieved_error);
        EXPECT_TRUE(contains(each.message, "lost"));
        EXPECT_THROW(std::rethrow_exception(each.error), std::runtime_error);
        // A report may be kept: its task lives as long.
        EXPECT_TRUE(each.source.failed());
    }
}

TEST(Semantics, D_01_after_the_loop) {
    weir::handle<int> outlives;
    auto main = [&]() -> weir::task<> {
        outlives = weir::spawn(failing());
        co_await weir::sleep(2s);
    };
    weir::run(main(), simulated());
    ::testing::internal::CaptureStderr();
    outlives = {};
    EXPECT_TRUE(contains(::testing::internal::GetCapturedStderr(), "lost"));
}

TEST(Semantics, D_02) {
    report_log log;
    auto main = []() -> weir::task<> {
        weir::handle<int> failed = weir::spawn(failing());
        co_await failed.wait();
        EXPECT_FALSE(failed.cancel());
    };
    weir::run(main(), telling(log));
    EXPECT_TRUE(log.reports.empty()) << log.text();
}

TEST(Semantics, D_03) {
    for (const bool debug : {false, true}) {
        report_log log;
        {
            weir::loop loop(telling(log, debug));
            auto idle = []() -> weir::task<> { co_await weir::sleep(1h); };
            loop.spawn(idle(), {.name = "forgotten"});
            auto main = []() -> weir::task<> { co_await weir::sleep(1s); };
            loop.run_until(main());
        }
        ASSERT_EQ(log.count(weir::report_kind::pending_destroyed), debug ? 1u : 0u) << log.text();
        if (debug) {
            EXPECT_TRUE(contains(log.reports[0].message, "forgotten"));
            EXPECT_TRUE(contains(log.reports[0].created, "debug.cpp:")) << log.reports[0].created;
        }
    }
    // run cancels the remaining tasks, and does not report those that it owns itself.
    report_log log;
    auto main = []() -> weir::task<> {
        auto idle = []() -> weir::task<> { co_await weir::sleep(1h); };
        weir::spawn(idle());
        co_await weir::yield();
    };
    weir::run(main(), telling(log, true));
    EXPECT_TRUE(log.reports.empty()) << log.text();
}

void hold(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

weir::task<> holds_the_loop() {
    co_await weir::yield();
    hold(30ms);
    co_await weir::yield();
}

TEST(Semantics, D_04) {
    for (const bool debug : {false, true}) {
        report_log log;
        weir::loop_options options;
        options.on_report = log.handler();
        options.debug = debug;
        options.slow_step = 25ms;
        auto main = []() -> weir::task<> {
            weir::loop::current().call_soon([] { hold(30ms); });
            weir::handle<> slow = weir::spawn(holds_the_loop(), {.name = "hog"});
            co_await slow;
        };
        weir::run(main(), std::move(options));
        if (!debug) {
            EXPECT_TRUE(log.reports.empty());
            continue;
        }
        ASSERT_EQ(log.count(weir::report_kind::slow_step), 2u) << log.text();
        EXPECT_TRUE(contains(log.reports[0].message, "callback registered at")) << log.text();
        EXPECT_TRUE(contains(log.reports[0].message, "debug.cpp:")) << log.text();
        EXPECT_TRUE(contains(log.reports[1].message, "hog held the loop for")) << log.text();
        EXPECT_TRUE(contains(log.reports[1].message, "holds_the_loop at ")) << log.text();
        EXPECT_TRUE(contains(log.reports[1].message, " to the await in ")) << log.text();
        EXPECT_EQ(log.reports[1].source.name(), "hog");
    }
}

bool is_refused_elsewhere(const std::function<void()>& call) {
    bool is_refused = false;
    std::thread([&] {
        try {
            call();
        } catch (const weir::wrong_thread& error) {
            is_refused = contains(error.what(), "loop.post");
        }
    }).join();
    return is_refused;
}

// As in asyncio, a loop that does not run belongs to no thread. Without debug mode, too.
TEST(Semantics, D_05) {
    for (const bool debug : {true, false}) {
        report_log log;
        auto main = []() -> weir::task<> {
            weir::loop& loop = weir::loop::current();
            EXPECT_TRUE(is_refused_elsewhere([&] { loop.call_soon([] {}); }));
            EXPECT_TRUE(is_refused_elsewhere([&] { loop.call_later(1s, [] {}); }));
            EXPECT_TRUE(is_refused_elsewhere([&] { loop.call_at(loop.now(), [] {}); }));
            co_return;
        };
        weir::run(main(), telling(log, debug));
        weir::loop idle(telling(log, debug));
        EXPECT_FALSE(is_refused_elsewhere([&] { idle.call_soon([] {}); }));
    }
}

TEST(Semantics, D_06) {
    report_log log;
    weir::loop loop(telling(log, true));
    auto main = [&]() -> weir::task<> {
        weir::spawn(failing(), {.name = "culprit"});
        loop.call_soon([] { throw std::logic_error("in a callback"); });
        co_await weir::sleep(2s);
    };
    loop.run_until(main());
    ASSERT_EQ(log.reports.size(), 2u) << log.text();
    const weir::report& callback = log.reports[0];
    EXPECT_EQ(callback.kind, weir::report_kind::callback_error);
    EXPECT_TRUE(contains(callback.message, "in a callback"));
    EXPECT_THROW(std::rethrow_exception(callback.error), std::logic_error);
    EXPECT_TRUE(contains(callback.created, "debug.cpp:"));
    const weir::report& task = log.reports[1];
    EXPECT_EQ(task.source.name(), "culprit");
    EXPECT_THROW(std::rethrow_exception(task.error), std::runtime_error);
    EXPECT_TRUE(contains(task.created, "debug.cpp:"));
    log.reports.clear();
    loop.on_report({});
    ::testing::internal::CaptureStderr();
    loop.call_soon([] { throw std::logic_error("by default"); });
    loop.stop();
    loop.run_forever();
    EXPECT_TRUE(contains(::testing::internal::GetCapturedStderr(), "by default"));
    EXPECT_TRUE(log.reports.empty());
}

TEST(Semantics, D_07) {
    weir::loop_options options = simulated();
    options.on_report = [](const weir::report&) { throw std::runtime_error("broken handler"); };
    weir::loop loop(std::move(options));
    ::testing::internal::CaptureStderr();
    bool went_on = false;
    loop.call_soon([] { throw std::logic_error("original"); });
    loop.call_soon([&] { went_on = true; });
    loop.stop();
    loop.run_forever();
    EXPECT_TRUE(went_on);
    const std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_TRUE(contains(text, "original")) << text;
    EXPECT_TRUE(contains(text, "broken handler")) << text;
    // A handler that replaces itself.
    int told = 0;
    loop.on_report([&](const weir::report&) {
        ++told;
        loop.on_report([&](const weir::report&) { told += 10; });
        EXPECT_EQ(told, 1) << "what it captured is still there";
    });
    loop.call_soon([] { throw std::logic_error("one"); });
    loop.call_soon([] { throw std::logic_error("two"); });
    loop.stop();
    loop.run_forever();
    EXPECT_EQ(told, 11);
}

weir::local<std::string> request{"nobody's"};

TEST(Semantics, D_08) {
    std::vector<std::string> seen;
    weir::loop_options options = simulated();
    options.on_report = [&](const weir::report&) { seen.push_back(request.get()); };
    auto main = []() -> weir::task<> {
        auto child = []() -> weir::task<> {
            request.set("the task's");
            throw std::runtime_error("lost");
            co_return;
        };
        weir::spawn(child());
        request.set("the callback's");
        weir::loop::current().call_soon([] { throw std::runtime_error("lost too"); });
        request.set("main's");
        co_await weir::sleep(1s);
        EXPECT_EQ(request.get(), "main's");
    };
    weir::run(main(), std::move(options));
    EXPECT_EQ(seen, (std::vector<std::string>{"the task's", "the callback's"}));
}

TEST(Semantics, D_08_settings) {
    const auto debug_of = [](std::optional<bool> explicitly) {
        auto asks = []() -> weir::task<bool> { co_return weir::loop::current().debug(); };
        weir::loop_options options = simulated();
        options.debug = explicitly;
        return weir::run(asks(), std::move(options));
    };
    const char* former = std::getenv("WEIR_DEBUG");
    const std::string restored = former != nullptr ? former : "";
    ::unsetenv("WEIR_DEBUG");
    EXPECT_FALSE(debug_of(std::nullopt));
    EXPECT_TRUE(debug_of(true));
    ::setenv("WEIR_DEBUG", "1", 1);
    EXPECT_TRUE(debug_of(std::nullopt));
    EXPECT_FALSE(debug_of(false)) << "the explicit setting wins";
    ::setenv("WEIR_DEBUG", "0", 1);
    EXPECT_FALSE(debug_of(std::nullopt));
    ::setenv("WEIR_DEBUG", "", 1);
    EXPECT_FALSE(debug_of(std::nullopt));
    if (former != nullptr) {
        ::setenv("WEIR_DEBUG", restored.c_str(), 1);
    } else {
        ::unsetenv("WEIR_DEBUG");
    }
    weir::loop loop(simulated());
    loop.set_debug(true);
    EXPECT_TRUE(loop.debug());
    loop.set_debug(false);
    EXPECT_FALSE(loop.debug());
}

}  // namespace
