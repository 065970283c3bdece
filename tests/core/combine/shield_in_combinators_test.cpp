// SPDX-License-Identifier: MIT

#include "support.hpp"

#include <memory>

namespace {

using namespace combinators;

using handles = std::vector<weir::handle<int>>;

WEIR_TEST(Shield, AStopDuringShieldedWorkTakesEffectAfterIt) {
    int steps = 0;
    auto work = [&]() -> weir::task<int> {
        co_await weir::sleep(10ms);
        ++steps;
        co_await weir::sleep(10ms);
        ++steps;
        co_return 1;
    };
    auto shielding = [&]() -> weir::task<> {
        (void)co_await weir::shield(work);
        ADD_FAILURE() << "went on";
    };
    weir::handle<> running = weir::spawn(shielding);
    co_await weir::sleep(5ms);
    const auto begin = weir::now();
    running.cancel();
    running.cancel();
    co_await running.wait();
    EXPECT_TRUE(running.cancelled());
    EXPECT_EQ(steps, 2);
    EXPECT_EQ(weir::now() - begin, 15ms);
}

WEIR_TEST(Shield, WorkThatThrowsBeatsTheStop) {
    auto shielding = []() -> weir::task<> { (void)co_await weir::shield(failure_after(10ms, 1)); };
    weir::handle<> running = weir::spawn(shielding);
    co_await weir::sleep(5ms);
    running.cancel();
    WEIR_EXPECT_THROW(running, failure);
}

WEIR_TEST(Shield, ATimeoutInsideStillWorks) {
    auto inner = []() -> weir::task<bool> {
        bool expired = false;
        try {
            co_await weir::timeout(10ms, weir::sleep_forever());
        } catch (const weir::timed_out&) {
            expired = true;
        }
        co_return expired;
    };
    const bool expired = co_await weir::shield(inner);
    EXPECT_TRUE(expired);
    const int value = co_await weir::timeout_or(10ms, weir::shield(value_after(20ms, 1)), 2);
    EXPECT_EQ(value, 2);  // the limit was passed while it was shielded: stop beats value
}

}  // namespace
