// SPDX-License-Identifier: MIT
#include <weir/outcome.hpp>
#include <weir/testing/testing.hpp>

#include <memory>
#include <string>

namespace {

using weir::outcome;

TEST(Outcome, OfAValue) {
    auto got = outcome<std::unique_ptr<int>>::from_value(std::make_unique<int>(3));
    EXPECT_TRUE(got.has_value());
    EXPECT_TRUE(static_cast<bool>(got));
    EXPECT_EQ(got.error(), nullptr);
    EXPECT_EQ(*got.value(), 3);
    EXPECT_EQ(*std::move(got).value(), 3);
}

TEST(Outcome, OfAnError) {
    const auto failed = outcome<int>::from_error(std::make_exception_ptr(std::range_error("far")));
    EXPECT_TRUE(failed.has_error());
    EXPECT_FALSE(failed.is_cancelled());
    EXPECT_THROW(failed.value(), std::range_error);
    EXPECT_EQ(failed.value_or(9), 9);
    EXPECT_EQ(weir::describe(failed.stored_error()), "far");
}

TEST(Outcome, OfACancellation) {
    const auto seen = outcome<int>::from_error(std::make_exception_ptr(weir::cancelled("enough")));
    EXPECT_TRUE(seen.is_cancelled());
    EXPECT_FALSE(seen.is_stop());  // another task's
    EXPECT_FALSE(seen.has_error());
    EXPECT_EQ(seen.reason(), "enough");
    EXPECT_THROW(seen.value(), weir::cancelled);
}

TEST(Outcome, OfARefusal) {
    const weir::refusal why{weir::refusal_reason::queue_full, std::chrono::seconds(2)};
    const auto seen = outcome<>::from_error(std::make_exception_ptr(weir::refused(why)));
    EXPECT_TRUE(seen.is_refused());
    EXPECT_EQ(seen.refusal(), why);
    EXPECT_THROW(seen.value(), weir::refused);
    EXPECT_NE(seen.error(), nullptr);
}

TEST(Outcome, OfAReference) {
    int number = 1;
    auto got = outcome<int&>::from_value(number);
    got.value() = 2;
    EXPECT_EQ(number, 2);
}

WEIR_TEST(Outcome, MayBeAwaited) {
    auto good = outcome<int>::from_value(4);
    const int got = co_await std::move(good);
    EXPECT_EQ(got, 4);
    auto bad = outcome<int>::from_cancellation("elsewhere");
    bool threw = false;
    try {
        (void)co_await std::move(bad);
    } catch (const weir::cancelled& stop) {
        threw = stop.reason() == "elsewhere";
    }
    EXPECT_TRUE(threw);
}

}  // namespace
