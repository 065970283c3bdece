// SPDX-License-Identifier: MIT
// Callables in option structs.

#include <weir/flow/hook.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace {

using weir::hook;

int twice(int number) {
    return 2 * number;
}

static_assert(std::is_trivially_destructible_v<hook<int(int)>>);
static_assert(std::is_trivially_copyable_v<hook<int(int)>>);
static_assert(!std::is_constructible_v<hook<int(int)>, int>);

TEST(Hook, IsEmptyByDefault) {
    EXPECT_FALSE(hook<int(int)>());
    EXPECT_FALSE(hook<int(int)>(nullptr));
    int (*const none)(int) = nullptr;
    EXPECT_FALSE(hook<int(int)>(none));
}

TEST(Hook, CallsFunctionsAndLambdas) {
    const hook<int(int)> function = twice;
    EXPECT_EQ(function(21), 42);
    int calls = 0;
    const hook<void()> counting = [&] { ++calls; };
    const hook<void()> copy = counting;
    counting();
    copy();
    EXPECT_EQ(calls, 2);
    const hook<long(int)> converting = [](int number) { return number + 1; };
    EXPECT_EQ(converting(1), 2L);
}

}  // namespace
