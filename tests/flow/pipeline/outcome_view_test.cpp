// SPDX-License-Identifier: MIT
// Outcomes of any type as predicates see them.

#include <weir/flow/outcome_view.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace {

using weir::outcome;
using weir::outcome_view;

TEST(OutcomeView, FindsAValueOfItsExactType) {
    const auto ended = outcome<int>::from_value(7);
    const outcome_view view(ended);
    EXPECT_TRUE(view.has_value());
    ASSERT_NE(view.value<int>(), nullptr);
    EXPECT_EQ(*view.value<int>(), 7);
    EXPECT_EQ(view.value<long>(), nullptr);
    EXPECT_EQ(view.error<std::exception>(), nullptr);
    EXPECT_TRUE(outcome_view(outcome<>::from_value()).has_value());
}

TEST(OutcomeView, FindsAnErrorAsAHandlerWould) {
    const auto ended =
        outcome<int>::from_error(std::make_exception_ptr(std::out_of_range("too far")));
    const outcome_view view(ended);
    EXPECT_TRUE(view.has_error());
    ASSERT_NE(view.error<std::logic_error>(), nullptr);
    EXPECT_STREQ(view.error<std::logic_error>()->what(), "too far");
    EXPECT_EQ(view.error<std::runtime_error>(), nullptr);
    EXPECT_NE(view.error_ptr(), nullptr);
    EXPECT_EQ(view.value<int>(), nullptr);
}

TEST(OutcomeView, RefusalsAndCancellationsAreNoErrors) {
    const auto refused = outcome<int>::from_refusal({weir::refusal_reason::queue_full});
    const outcome_view refusal(refused);
    EXPECT_TRUE(refusal.is_refused());
    EXPECT_FALSE(refusal.has_error());
    ASSERT_NE(refusal.refusal(), nullptr);
    EXPECT_EQ(refusal.refusal()->reason, weir::refusal_reason::queue_full);
    const auto stopped = outcome<int>::from_cancellation("enough");
    const outcome_view cancellation(stopped);
    EXPECT_TRUE(cancellation.is_cancelled());
    EXPECT_FALSE(cancellation.has_error());
    EXPECT_EQ(cancellation.refusal(), nullptr);
}

struct lost : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct reset : lost {
    using lost::lost;
};

TEST(OutcomeView, ErrorIsAPredicateForTypes) {
    const auto of = [](auto error) {
        return outcome<int>::from_error(std::make_exception_ptr(error));
    };
    EXPECT_TRUE(weir::error_is<lost>(of(lost("x"))));
    EXPECT_TRUE(weir::error_is<lost>(of(reset("x"))));
    EXPECT_FALSE(weir::error_is<reset>(of(lost("x"))));
    EXPECT_FALSE(weir::error_is<lost>(of(std::runtime_error("x"))));
    EXPECT_TRUE((weir::error_is<weir::timed_out, lost>(of(lost("x")))));
    EXPECT_TRUE((weir::error_is<weir::timed_out, lost>(of(weir::timed_out()))));
    EXPECT_FALSE((weir::error_is<weir::timed_out, lost>(of(std::logic_error("x")))));
    EXPECT_FALSE(weir::error_is<lost>(outcome<int>::from_value(1)));
    EXPECT_FALSE(weir::error_is<std::exception>(outcome<int>::from_cancellation("gone")));
    const auto refused = outcome<int>::from_refusal({weir::refusal_reason::queue_full});
    EXPECT_TRUE(weir::error_is<weir::refused>(refused));
    EXPECT_TRUE(weir::error_is<std::exception>(refused));
    EXPECT_FALSE(weir::error_is<lost>(refused));
}

}  // namespace
