// SPDX-License-Identifier: MIT
// The hook that all reports go through.

#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <string>
#include <vector>

namespace {

using weir::report_kind;

struct seen {
    report_kind kind;
    std::string message;
};

weir::loop_options reporting_to(std::vector<seen>& log) {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.on_report = [&](const weir::report& about) {
        log.push_back({about.kind, about.message});
    };
    return options;
}

TEST(Report, AnErrorThatWasNotRetrieved) {
    std::vector<seen> log;
    weir::loop home(reporting_to(log));
    home.run([]() -> weir::task<> {
        auto fail = []() -> weir::task<> {
            throw std::runtime_error("lost");
            co_return;
        };
        weir::spawn(fail);
        co_await weir::yield();
    }());
    ASSERT_EQ(log.size(), 1u);
    EXPECT_EQ(log[0].kind, report_kind::unretrieved_error);
    EXPECT_NE(log[0].message.find("lost"), std::string::npos) << log[0].message;
}

TEST(Report, ACallbackThatThrows) {
    std::vector<seen> log;
    weir::loop home(reporting_to(log));
    home.call_soon([] { throw std::runtime_error("in the callback"); });
    home.stop();
    home.run_forever();
    ASSERT_EQ(log.size(), 1u);
    EXPECT_EQ(log[0].kind, report_kind::callback_error);
    EXPECT_EQ(log[0].message, "a callback threw: in the callback");
}

TEST(Report, TheHandlerMayReplaceItself) {
    std::vector<std::string> log;
    weir::loop home({.driver = weir::driver_kind::simulated});
    home.on_report([&](const weir::report& about) {
        log.push_back("first " + about.message);
        home.on_report(
            [&](const weir::report& later) { log.push_back("second " + later.message); });
    });
    home.tell({report_kind::shutdown, "one", nullptr, {}, {}});
    home.tell({report_kind::shutdown, "two", nullptr, {}, {}});
    EXPECT_EQ(log, (std::vector<std::string>{"first one", "second two"}));
}

TEST(Report, AHandlerThatThrowsLosesNothing) {
    weir::loop home({.driver = weir::driver_kind::simulated});
    home.on_report([](const weir::report&) { throw std::runtime_error("broken"); });
    ::testing::internal::CaptureStderr();
    home.tell({report_kind::slow_step, "the report", nullptr, {}, {}});
    const std::string printed = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(printed,
              "weir: slow step: the report\n"
              "weir: error in a callback: the report handler itself threw: broken\n");
}

TEST(Report, IsPrintedWithThePlaceWhereTheTaskWasSpawned) {
    weir::loop home({.driver = weir::driver_kind::simulated});
    ::testing::internal::CaptureStderr();
    home.tell({report_kind::slow_step, "the report", nullptr, {}, "here.cpp:7"});
    const std::string printed = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(printed, "weir: slow step: the report\n  spawned at here.cpp:7\n");
}

TEST(Report, KindsHaveNames) {
    EXPECT_EQ(to_string(report_kind::never_awaited), "task never awaited");
    EXPECT_EQ(to_string(report_kind::long_lease), "long lease");
}

}  // namespace
