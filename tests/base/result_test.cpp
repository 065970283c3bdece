// SPDX-License-Identifier: MIT
#include <weir/base/result.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

namespace {

using weir::detail::result;

std::exception_ptr some_error() {
    return std::make_exception_ptr(std::runtime_error("failed"));
}

TEST(Result, GivesTheValueOut) {
    result<std::unique_ptr<int>> held;
    EXPECT_FALSE(held.has_value());
    EXPECT_FALSE(held.has_error());
    held.set_value(std::make_unique<int>(7));
    EXPECT_TRUE(held.has_value());
    EXPECT_EQ(held.error(), nullptr);
    EXPECT_EQ(*held.take(), 7);
}

TEST(Result, ThrowsTheError) {
    result<int> held;
    held.set_error(some_error());
    EXPECT_TRUE(held.has_error());
    EXPECT_NE(held.error(), nullptr);
    EXPECT_THROW(held.take(), std::runtime_error);
}

TEST(Result, TheLatestReplacesTheFormer) {
    const auto counted = std::make_shared<int>(1);
    result<std::shared_ptr<int>> held;
    held.set_value(counted);
    EXPECT_EQ(counted.use_count(), 2);
    held.set_error(some_error());
    EXPECT_EQ(counted.use_count(), 1);
    EXPECT_FALSE(held.has_value());
    held.set_value(counted);
    EXPECT_EQ(*held.take(), 1);
}

TEST(Result, OfVoidAndOfReferences) {
    result<void> nothing;
    nothing.set_value();
    EXPECT_TRUE(nothing.has_value());
    nothing.take();
    nothing.set_error(some_error());
    EXPECT_THROW(nothing.take(), std::runtime_error);
    int number = 3;
    result<int&> reference;
    reference.set_value(number);
    reference.take() = 4;
    EXPECT_EQ(number, 4);
}

}  // namespace
