// SPDX-License-Identifier: MIT
#include <weir/base/unique_function.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>

namespace {

using weir::detail::unique_function;

int twice(int number) {
    return 2 * number;
}

TEST(UniqueFunction, CallsWhatItHolds) {
    unique_function<int(int)> function = &twice;
    EXPECT_TRUE(static_cast<bool>(function));
    EXPECT_EQ(function(4), 8);
    int calls = 0;
    unique_function<void()> counting = [&] { ++calls; };
    counting();
    counting();
    EXPECT_EQ(calls, 2);
}

TEST(UniqueFunction, HoldsCallablesThatCannotBeCopied) {
    unique_function<int()> function = [owned = std::make_unique<int>(5)] { return *owned; };
    unique_function<int()> moved = std::move(function);
    EXPECT_FALSE(static_cast<bool>(function));  // NOLINT: what is left is part of the contract
    EXPECT_EQ(moved(), 5);
}

TEST(UniqueFunction, DestroysWhatItHolds) {
    const auto counted = std::make_shared<int>(0);
    {
        const unique_function<void()> function = [counted] {};
        EXPECT_EQ(counted.use_count(), 2);
    }
    EXPECT_EQ(counted.use_count(), 1);
}

TEST(UniqueFunction, IsEmptyWhenMadeFromNothing) {
    int (*none)(int) = nullptr;
    EXPECT_FALSE(static_cast<bool>(unique_function<int(int)>()));
    EXPECT_FALSE(static_cast<bool>(unique_function<int(int)>(none)));
    EXPECT_FALSE(static_cast<bool>(unique_function<int(int)>(std::function<int(int)>())));
}

}  // namespace
