// SPDX-License-Identifier: MIT
// What tests under many schedules share: exploration as one expectation, and random choices drawn
// from the seed of the running schedule.
#pragma once

#include <weir/testing/testing.hpp>
#include <weir/time.hpp>

#include <chrono>
#include <cstdint>
#include <random>

namespace schedules {

// The body must hold under so many.
inline void expect_under(std::uint64_t count, const weir::testing::test_body& body) {
    weir::testing::explore_options options;
    options.schedules = count;
    const weir::testing::exploration result = weir::testing::explore(body, options);
    EXPECT_FALSE(result.failed) << "schedule " << result.seed << "\n" << result.text();
}

class dice {
public:
    explicit dice(std::uint64_t salt = 0)
        : random_(weir::testing::current_seed() * 7919 + salt * 104729 + 1) {}
    int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
    bool one_in(int count) { return below(count) == 0; }
    std::chrono::milliseconds milliseconds_below(int end) {
        return std::chrono::milliseconds(below(end));
    }

private:
    std::mt19937_64 random_;
};

// A short time: none, a turn of the loop, or less than so many milliseconds.
inline weir::task<> pause(dice& random, int most) {
    const int choice = random.below(4);
    if (choice == 1) {
        co_await weir::yield();
    } else if (choice > 1) {
        co_await weir::sleep(random.milliseconds_below(most));
    }
}

}  // namespace schedules
