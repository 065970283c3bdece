// SPDX-License-Identifier: MIT
// What the tests of pools, debouncers and the task manager share.
#pragma once

#include "support/schedules.hpp"

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

// A description of a broken rule; empty: all rules hold.
using violation = std::optional<std::string>;

// The body must hold under so many schedules.
inline void expect_always(const weir::testing::test_body& body, std::uint64_t count = 200) {
    schedules::expect_under(count, body);
}

using schedules::dice;

// A little time: none, a turn of the loop, or some milliseconds.
inline task<> pause(dice& random) {
    return schedules::pause(random, 5);
}

struct test_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace flow_tests
