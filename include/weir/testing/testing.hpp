// SPDX-License-Identifier: MIT
// Tests of coroutines on GoogleTest: simulated time, deadlock and leak detection, schedule exploration.
//
//     WEIR_TEST(Cache, Expires) {
//         cache c(10min);
//         co_await weir::sleep(1h);            // takes no time
//         WEIR_ASSERT_EQ(c.size(), 0u);        // EXPECT_* work as they are; ASSERT_* cannot, in a coroutine
//     }
//
// WEIR_SCHEDULES=1000 runs each test under so many orders of ready tasks; a failure prints its seed,
// and WEIR_SEED=n replays it.
#pragma once

#include <gtest/gtest.h>

#include <weir/testing/assertions.hpp>
#include <weir/weir.hpp>

namespace weir::testing {

// Runs the body under the schedules that the environment asks for; failures go to GoogleTest.
void run_test(task<void> (*body)());

}  // namespace weir::testing

#define WEIR_TEST(suite, name)                                       \
    static ::weir::task<void> weir_test_##suite##_##name();          \
    TEST(suite, name) {                                              \
        ::weir::testing::run_test(&weir_test_##suite##_##name);      \
    }                                                                \
    static ::weir::task<void> weir_test_##suite##_##name()
