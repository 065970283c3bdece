// SPDX-License-Identifier: MIT
// Tests of the order of events, or of calls that do not suspend: one run on its own simulated loop,
// first in first out, regardless of the schedules that the environment requests.
#pragma once

#include <weir/testing/testing.hpp>

inline void run_first_in_first_out(weir::task<void> body) {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(std::move(body), std::move(options));
}

#define FIFO_TEST(suite, name)                                \
    static ::weir::task<void> fifo_test_##suite##_##name();   \
    TEST(suite, name) {                                       \
        run_first_in_first_out(fifo_test_##suite##_##name()); \
    }                                                         \
    static ::weir::task<void> fifo_test_##suite##_##name()
