// SPDX-License-Identifier: MIT
// Judges a test body that may fail: how many failures it has, and whether it reached its end.
#pragma once

#include <weir/testing/testing.hpp>

#include <cstddef>
#include <string>

namespace testing_test {

struct verdict {
    std::size_t failures = 0;
    bool reached_end = false;
    std::string text;
};

template <class Body>
verdict judge(Body body) {
    verdict result;
    auto test = [&]() -> weir::task<> { co_await body(result.reached_end); };
    const weir::testing::exploration found = weir::testing::replay(test, 0);
    result.failures = found.messages.size();
    result.text = found.text();
    return result;
}

}  // namespace testing_test

#define BODY(...)                           \
    [](bool& reached_end) -> weir::task<> { \
        __VA_ARGS__;                        \
        reached_end = true;                 \
        co_return;                          \
    }
#define EXPECT_PASSES(...)                                                        \
    do {                                                                          \
        const testing_test::verdict got = testing_test::judge(BODY(__VA_ARGS__)); \
        EXPECT_EQ(got.failures, 0u) << #__VA_ARGS__ << got.text;                  \
        EXPECT_TRUE(got.reached_end) << #__VA_ARGS__;                             \
    } while (false)
#define EXPECT_LEAVES(...)                                                        \
    do {                                                                          \
        const testing_test::verdict got = testing_test::judge(BODY(__VA_ARGS__)); \
        EXPECT_EQ(got.failures, 1u) << #__VA_ARGS__;                              \
        EXPECT_FALSE(got.reached_end) << #__VA_ARGS__;                            \
    } while (false)
#define EXPECT_FAILS(...)                                                         \
    do {                                                                          \
        const testing_test::verdict got = testing_test::judge(BODY(__VA_ARGS__)); \
        EXPECT_EQ(got.failures, 1u) << #__VA_ARGS__;                              \
        EXPECT_TRUE(got.reached_end) << #__VA_ARGS__;                             \
    } while (false)
