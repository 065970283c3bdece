// SPDX-License-Identifier: MIT
// The end of run: everything is stopped and awaited; at the deadline shields break; tasks that
// still do not end are named.

#include "support.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace {

using namespace cancel_tests;
using weir::task;

weir::loop_options simulated() {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.shutdown_deadline = 10s;
    return options;
}

task<> shielded_forever(lines& log) {
    noted gone(log, "shielded gone");
    co_await weir::sleep_forever();
}
task<> holds_out(lines& log) {
    noted gone(log, "frame gone");
    co_await weir::shield(shielded_forever(log));
}

TEST(ShutdownSequence, CleanupOfWhatIsStillRunningIsAwaited) {
    lines log;
    auto cleanup = [&]() -> task<> { (void)co_await nap(log, 5s, "cleaned"); };
    auto background = [&]() -> task<> { (void)co_await weir::finally(nap(log, 1h), cleanup); };
    auto main = [&]() -> task<int> {
        weir::spawn(background);
        co_await weir::sleep(1s);
        co_return 1;
    };
    EXPECT_EQ(weir::run(main(), simulated()), 1);
    EXPECT_EQ(log, (lines{"cleaned"}));
}

TEST(ShutdownSequence, IsNotEndedByAStopOfTheLoopThatNoRunHasMet) {
    lines log;
    auto cleanup = [&]() -> task<> { (void)co_await nap(log, 5s, "cleaned"); };
    auto background = [&]() -> task<> { (void)co_await weir::finally(nap(log, 1h), cleanup); };
    {
        weir::loop home(simulated());
        home.run([&]() -> task<> {
            weir::spawn(background);
            co_await weir::sleep(1s);
        }());
        home.stop();
    }
    EXPECT_EQ(log, (lines{"cleaned"}));
}

TEST(ShutdownSequence, ShieldsBreakAtTheDeadline) {
    lines log;
    auto main = [&]() -> task<int> {
        weir::spawn(holds_out(log));
        co_await weir::sleep(1s);
        co_return 1;
    };
    EXPECT_EQ(weir::run(main(), simulated()), 1);
    EXPECT_EQ(log, (lines{"shielded gone", "frame gone"}));
}

TEST(ShutdownSequence, ShieldsOfGroupChildrenBreakToo) {
    lines log;
    auto body = [&](weir::task_group& group) -> task<> {
        group.spawn(holds_out(log));
        co_await weir::sleep_forever();
    };
    auto inner = [&]() -> task<> { co_await weir::with_group(body); };
    auto outer = [&](weir::task_group& group) -> task<> {
        group.spawn(inner);
        co_return;
    };
    auto background = [&]() -> task<> { co_await weir::with_group(outer); };
    auto main = [&]() -> task<int> {
        weir::spawn(background);
        co_await weir::sleep(1s);
        co_return 1;
    };
    EXPECT_EQ(weir::run(main(), simulated()), 1);
    EXPECT_EQ(log, (lines{"shielded gone", "frame gone"}));
}

TEST(ShutdownSequence, CleanupThatDoesNotEndIsStoppedAtTheDeadlineAndNothingLeaks) {
    lines log;
    auto stuck = [&](noted) -> task<> { co_await weir::sleep_forever(); };
    auto deferring = [&]() -> task<> {
        noted gone(log, "frame gone");
        co_await weir::defer(stuck, noted(log, "second's data"));
        co_await weir::defer(stuck, noted(log, "first's data"));
        co_await weir::sleep_forever();
    };
    auto cleanup = [&]() -> task<> { co_await stuck(noted(log, "clean-up's data")); };
    auto cleaning = [&]() -> task<> { co_await weir::finally(weir::sleep_forever(), cleanup); };
    auto main = [&]() -> task<int> {
        weir::spawn(deferring);
        weir::spawn(cleaning);
        co_await weir::sleep(1s);
        co_return 1;
    };
    EXPECT_EQ(weir::run(main(), simulated()), 1);
    std::sort(log.begin(), log.end());
    EXPECT_EQ(log, (lines{"clean-up's data", "first's data", "frame gone", "second's data"}));
}

plan never_lets_go{.lets_go = false};

task<> deaf() {
    co_await planned(never_lets_go);
}

TEST(ShutdownSequence, WhatStillDoesNotEndIsNamedAndRunThrows) {
#if defined(__SANITIZE_ADDRESS__)
    __lsan_disable();  // it is leaked on purpose: its operation is alive
#endif
    int reports = 0;
    auto main = [&]() -> task<int> {
        weir::spawn(deaf(), {.name = "the deaf one"});
        co_await weir::sleep(1s);
        co_return 1;
    };
    weir::loop_options options = simulated();
    options.on_report = [&](const weir::report&) { ++reports; };
    std::string what;
    weir::clock::time_point ended;
    {
        weir::loop used(std::move(options));
        try {
            used.run(main());
        } catch (const weir::shutdown_timeout& error) {
            what = error.what();
        }
        ended = used.now();
    }
#if defined(__SANITIZE_ADDRESS__)
    __lsan_enable();
#endif
    EXPECT_NE(what.find("the deaf one"), std::string::npos) << what;
    EXPECT_NE(what.find("deaf"), std::string::npos) << what;
    EXPECT_NE(what.find("shutdown_sequence_test.cpp:"), std::string::npos) << what;
    EXPECT_NE(what.find("planned"), std::string::npos) << what;
    EXPECT_EQ(never_lets_go.resumed, 0);
    EXPECT_EQ(ended.time_since_epoch(), 12s) << "the deadline, and a second with shields broken";
    EXPECT_LE(reports, 1);
}

}  // namespace
