// SPDX-License-Identifier: MIT
// Counts allocations of the whole process: malloc and everything built on it, operator new
// included.
#pragma once

#include <weir/testing/testing.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace counting {

std::uint64_t allocations() noexcept;

// Runs the coroutine function `count` times to warm up, then as often again, and gives the number
// of allocations of the second half.
template <class Once>
weir::task<std::uint64_t> steady(Once once, int count = 2000) {
    for (int left = count; left > 0; --left) {
        co_await once();
    }
    const std::uint64_t before = allocations();
    for (int left = count; left > 0; --left) {
        co_await once();
    }
    co_return allocations() - before;
}

// On a loop of its own, without the watches that tests have.
template <class Once>
std::uint64_t in_steady_state(Once once, weir::driver_kind driver = weir::driver_kind::simulated) {
    weir::loop_options options;
    options.driver = driver;
    options.debug = false;
    return weir::run(steady(std::move(once)), std::move(options));
}

}  // namespace counting
