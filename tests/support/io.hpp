// SPDX-License-Identifier: MIT
// Tests of real I/O: each runs on epoll and on io_uring, on the real clock, and must leave no
// descriptor behind.
#pragma once

#include <weir/io/uring.hpp>
#include <weir/run.hpp>
#include <weir/timeout.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

namespace weir_test {

inline std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// Fewer are no fault: a helper of the test before may have ended meanwhile.
inline void expect_descriptors(std::ptrdiff_t before) {
    // A thread of a pool that has just posted its result may hold the driver a moment longer.
    for (int wait = 0; wait < 1000 && open_descriptors() > before; ++wait) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_LE(open_descriptors(), before) << "descriptors were left open";
}

inline weir::task<> within_limits(weir::task<> (*body)()) {
    co_await weir::timeout(std::chrono::seconds(100), body());  // before ctest ends it
}

inline void run_io(weir::driver_kind kind, weir::task<> (*body)()) {
    const std::ptrdiff_t before = open_descriptors();
    try {
        weir::run(within_limits(body), {.driver = kind});
    } catch (...) {
        // A missing peer skips the test and unwinds it; a group on the way wraps what unwinds it.
        if (!testing::Test::IsSkipped()) {
            throw;
        }
    }
    expect_descriptors(before);
}

}  // namespace weir_test

#define WEIR_IO_TEST(suite, name)                                            \
    static weir::task<> suite##_##name##_body();                             \
    TEST(suite, name##_on_epoll) {                                           \
        weir_test::run_io(weir::driver_kind::epoll, &suite##_##name##_body); \
    }                                                                        \
    TEST(suite, name##_on_uring) {                                           \
        if (weir::io::make_uring_driver() == nullptr) {                      \
            GTEST_SKIP() << "there is no io_uring here";                     \
        }                                                                    \
        weir_test::run_io(weir::driver_kind::uring, &suite##_##name##_body); \
    }                                                                        \
    static weir::task<> suite##_##name##_body()
