// SPDX-License-Identifier: MIT
// A call of a debouncer or throttler that joins others allocates nothing: bursts may be long.

#include "counting.hpp"

#include <weir/flow/debouncer.hpp>

#include <memory>

namespace {

using namespace std::chrono_literals;

TEST(AllocationsOfDebouncer, CallsInABurst) {
    auto debounce = std::make_shared<std::unique_ptr<weir::debouncer<int(int)>>>();
    auto call = [debounce]() -> weir::task<> {
        if (*debounce == nullptr) {
            const weir::debounce_options how{.delay = 1h};
            *debounce = std::make_unique<weir::debouncer<int(int)>>(how, [](int x) { return x; });
        }
        (*debounce)->call(1);
        co_return;
    };
    EXPECT_EQ(counting::in_steady_state(call), 0u);
}

TEST(AllocationsOfThrottler, CallsWithinAnInterval) {
    auto throttle = std::make_shared<std::unique_ptr<weir::throttler<int(int)>>>();
    auto call = [throttle]() -> weir::task<> {
        if (*throttle == nullptr) {
            const weir::throttle_options how{.interval = 1h};
            *throttle = std::make_unique<weir::throttler<int(int)>>(how, [](int x) { return x; });
        }
        (*throttle)->call(1);
        co_return;
    };
    EXPECT_EQ(counting::in_steady_state(call), 0u);
}

}  // namespace
