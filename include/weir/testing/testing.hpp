// SPDX-License-Identifier: MIT
// Tests of coroutines on GoogleTest: simulated time, deadlock and leak detection, schedule
// exploration.
//
//     WEIR_TEST(Cache, Expires) {
//         cache c(10min);
//         co_await weir::sleep(1h);            // takes no time
//         WEIR_ASSERT_EQ(c.size(), 0u);        // EXPECT_* work too; ASSERT_* cannot here
//     }
//
// WEIR_SCHEDULES=1000 runs each test under so many orders of ready tasks; a failure prints its
// seed, and WEIR_SEED=n replays it; WEIR_TRACE=1 prints each step. docs/testing.md tells more.
#pragma once

#include <weir/testing/assertions.hpp>
#include <weir/testing/clock.hpp>
#include <weir/testing/expect.hpp>
#include <weir/testing/explore.hpp>
#include <weir/testing/fixture.hpp>
#include <weir/testing/reports.hpp>
#include <weir/weir.hpp>

#include <gtest/gtest.h>

#define WEIR_TEST(suite, name)                                  \
    static ::weir::task<void> weir_test_##suite##_##name();     \
    TEST(suite, name) {                                         \
        ::weir::testing::run_test(&weir_test_##suite##_##name); \
    }                                                           \
    static ::weir::task<void> weir_test_##suite##_##name()

// As TEST_F; see weir/testing/fixture.hpp for what a fixture can be. The body is a member of it.
#define WEIR_TEST_F(fixture, name)                                                              \
    class weir_test_##fixture##_##name final : public ::weir::testing::fixture_of<fixture> {    \
    public:                                                                                     \
        ::weir::task<void> weir_body() override;                                                \
    };                                                                                          \
    TEST(fixture, name) {                                                                       \
        ::weir::testing::run_test(&::weir::testing::run_fixture<weir_test_##fixture##_##name>); \
    }                                                                                           \
    ::weir::task<void> weir_test_##fixture##_##name::weir_body()
