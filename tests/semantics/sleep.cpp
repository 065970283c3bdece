// SPDX-License-Identifier: MIT
// Group SL: sleep.

#include "support/fifo_test.hpp"

#include <cmath>
#include <limits>

namespace {

using namespace std::chrono_literals;
using weir::task;

FIFO_TEST(Semantics, SL_01) {
    int turns = 0;
    bool is_done = false;
    auto ticker = [&]() -> task<> {
        while (!is_done) {
            ++turns;
            co_await weir::yield();
        }
    };
    auto ticking = weir::spawn(ticker);
    co_await weir::yield();
    for (const auto delay : {0s, -1s, -3600s}) {
        const int before = turns;
        co_await weir::sleep(delay);
        EXPECT_EQ(turns, before + 1) << "exactly one iteration";
    }
    const int before = turns;
    const std::string got = co_await weir::sleep(0s, std::string("value"));
    EXPECT_EQ(got, "value");
    EXPECT_EQ(turns, before + 1);
    EXPECT_EQ(weir::now().time_since_epoch(), 0s);
    is_done = true;
    co_await ticking;
    const int later = co_await weir::sleep(2s, 5);
    EXPECT_EQ(later, 5);
    EXPECT_EQ(weir::now().time_since_epoch(), 2s);
    const std::chrono::duration<double> not_a_number(std::numeric_limits<double>::quiet_NaN());
    EXPECT_THROW((void)weir::sleep(not_a_number), weir::invalid_argument);
    WEIR_EXPECT_THROW(weir::sleep(not_a_number, 1), weir::invalid_argument);
}

}  // namespace
