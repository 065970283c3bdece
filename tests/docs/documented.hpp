// SPDX-License-Identifier: MIT
// What the tests made of the documentation's code need; see extract.py.
#pragma once

#include <weir/weir.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <iostream>
#include <string>

namespace documented {

// Runs a fragment: simulated time, debug reports, and one order of ready tasks, since the page
// shows what it prints.
inline void play(weir::task<> fragment) {
    weir::run(std::move(fragment), {.driver = weir::driver_kind::simulated, .debug = true});
}

// The code must not throw, and must print the text where there is one.
inline void check(const std::function<void()>& code, const char* expected) {
    ::testing::internal::CaptureStdout();
    try {
        code();
    } catch (const std::exception& error) {
        ADD_FAILURE() << "threw " << error.what();
    } catch (const weir::cancelled& stop) {
        ADD_FAILURE() << "threw weir::cancelled, reason: " << stop.reason();
    }
    std::cout.flush();
    std::fflush(stdout);
    const std::string printed = ::testing::internal::GetCapturedStdout();
    if (expected != nullptr) {
        EXPECT_EQ(printed, expected);
    }
}

}  // namespace documented
