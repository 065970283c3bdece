// SPDX-License-Identifier: MIT
// What combinators do with a handle that the caller keeps.

#include <weir/testing/testing.hpp>

#include <string>

namespace {

using namespace std::chrono_literals;

weir::task<std::string> long_text() {
    co_await weir::yield();
    co_return std::string(100, 'x');
}

WEIR_TEST(ToTask, AHandleThatIsKeptKeepsItsValue) {
    weir::handle<std::string> text = weir::spawn(long_text());
    const std::string first = co_await weir::timeout(1s, text);
    EXPECT_EQ(first.size(), 100u);
    const std::string& second = co_await text;
    EXPECT_EQ(second.size(), 100u);
    const std::string third = co_await weir::timeout(1s, std::move(text));
    EXPECT_EQ(third.size(), 100u);
}

WEIR_TEST(ToTask, AWaitCanBeLimited) {
    weir::handle<> forever = weir::spawn([]() -> weir::task<> { co_await weir::sleep_forever(); });
    WEIR_EXPECT_THROW(weir::timeout(1s, forever.wait()), weir::timed_out);
    EXPECT_FALSE(forever.done());
    forever.cancel();
    co_await forever.wait();
    EXPECT_TRUE(forever.cancelled());
}

// Debug mode reports tasks that were never awaited. Those that a stop or a time limit kept from
// being awaited are no mistake.
weir::task<> outer_of(weir::task<std::string> inner) {
    (void)co_await std::move(inner);
}

WEIR_TEST(ToTask, WhatAStopKeptFromRunningIsNotReported) {
    weir::loop::current().set_debug(true);
    weir::handle<> unstarted = weir::spawn(outer_of(long_text()));
    unstarted.cancel();
    co_await unstarted.wait();
    WEIR_EXPECT_THROW(weir::timeout(0s, outer_of(long_text())), weir::timed_out);
    auto holding = []() -> weir::task<> {
        weir::task<std::string> later = long_text();
        co_await weir::sleep(1h);
        (void)co_await std::move(later);
    };
    weir::handle<> holds = weir::spawn(holding);
    co_await weir::sleep(1s);
    holds.cancel();
    co_await holds.wait();
    weir::loop::current().set_debug(false);
}

}  // namespace
