// SPDX-License-Identifier: MIT
// Reports inside a test are failures unless they were expected.

#include <weir/testing/testing.hpp>

#include <stdexcept>
#include <string_view>

namespace {

using namespace std::chrono_literals;
using weir::testing::exploration;
using weir::testing::explore;

bool mentions(const exploration& found, std::string_view text) {
    return found.text().find(text) != std::string::npos;
}

weir::task<> fails() {
    co_await weir::yield();
    throw std::runtime_error("unhandled");
}

TEST(Reports, AreFailures) {
    auto body = []() -> weir::task<> {
        weir::spawn(fails());
        co_await weir::testing::settle_all();
    };
    EXPECT_TRUE(mentions(explore(body), "unhandled"));
}

TEST(Reports, ExpectedReportsAreNot) {
    auto body = []() -> weir::task<> {
        weir::testing::expect_report(weir::report_kind::unretrieved_error, "unhandled");
        weir::spawn(fails());
        co_await weir::testing::settle_all();
        EXPECT_EQ(weir::testing::reports().size(), 1u);
    };
    const exploration found = explore(body, {.schedules = 20});
    EXPECT_FALSE(found.failed) << found.text();
}

TEST(Reports, ExpectedReportsMustCome) {
    auto body = []() -> weir::task<> {
        weir::testing::allow_report(weir::report_kind::callback_error);
        weir::testing::expect_report(weir::report_kind::unretrieved_error, "unhandled", 2);
        weir::spawn(fails());
        co_await weir::testing::settle_all();
    };
    EXPECT_TRUE(mentions(explore(body), "expected 2 report(s)"));
}

TEST(Reports, OneTooManyIsAFailure) {
    auto body = []() -> weir::task<> {
        weir::testing::expect_report(weir::report_kind::unretrieved_error);
        weir::spawn(fails());
        weir::spawn(fails());
        co_await weir::testing::settle_all();
    };
    EXPECT_TRUE(explore(body).failed);
}

TEST(Reports, ReportsOutsideATestAreMisuse) {
    EXPECT_THROW(weir::testing::expect_report(weir::report_kind::shutdown), weir::invalid_state);
    EXPECT_THROW(weir::testing::in_ordinary_order(), weir::invalid_state);
}

}  // namespace
