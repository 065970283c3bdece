// SPDX-License-Identifier: MIT
// What the tests of pools, debouncers and the task manager share.
#pragma once

#include <weir/testing/testing.hpp>

#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace flow_tests {

using namespace std::chrono_literals;
using weir::task;
using weir::testing::settle_all;

// A broken rule, told in words; none: all is well.
using violation = std::optional<std::string>;

// The body must hold under so many schedules.
inline void expect_always(const weir::testing::test_body& body, std::uint64_t schedules = 200) {
    weir::testing::explore_options options;
    options.schedules = schedules;
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

// A little time: none, a turn of the loop, or some milliseconds.
inline task<> pause(dice& random) {
    const int choice = random.below(4);
    if (choice == 1) {
        co_await weir::yield();
    } else if (choice > 1) {
        co_await weir::sleep(random.milliseconds_below(5));
    }
}

struct test_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace flow_tests
