// SPDX-License-Identifier: MIT
// GoogleTest's fatal assertions for coroutines: they leave with co_return. EXPECT_* need no such
// form. All can be streamed into: WEIR_ASSERT_EQ(a, b) << "after " << n;
#pragma once

#include <gtest/gtest.h>

#define WEIR_FATAL_FAILURE_(message) \
    co_return GTEST_MESSAGE_(message, ::testing::TestPartResult::kFatalFailure)

#define WEIR_ASSERT_(result)                                                    \
    GTEST_AMBIGUOUS_ELSE_BLOCKER_                                               \
    if (const ::testing::AssertionResult weir_result_ = (result); weir_result_) \
        ;                                                                       \
    else                                                                        \
        WEIR_FATAL_FAILURE_(weir_result_.failure_message())

#define WEIR_ASSERT_BOOL_(condition, text, actual, expected)                                   \
    GTEST_AMBIGUOUS_ELSE_BLOCKER_                                                              \
    if (const ::testing::AssertionResult weir_result_ = ::testing::AssertionResult(condition)) \
        ;                                                                                      \
    else                                                                                       \
        WEIR_FATAL_FAILURE_(::testing::internal::GetBoolAssertionFailureMessage(               \
                                weir_result_, text, actual, expected)                          \
                                .c_str())

#define WEIR_ASSERT_TRUE(condition) WEIR_ASSERT_BOOL_(condition, #condition, "false", "true")
#define WEIR_ASSERT_FALSE(condition) WEIR_ASSERT_BOOL_(!(condition), #condition, "true", "false")

#define WEIR_ASSERT_EQ(a, b) WEIR_ASSERT_(::testing::internal::EqHelper::Compare(#a, #b, a, b))
#define WEIR_ASSERT_NE(a, b) WEIR_ASSERT_(::testing::internal::CmpHelperNE(#a, #b, a, b))
#define WEIR_ASSERT_LT(a, b) WEIR_ASSERT_(::testing::internal::CmpHelperLT(#a, #b, a, b))
#define WEIR_ASSERT_LE(a, b) WEIR_ASSERT_(::testing::internal::CmpHelperLE(#a, #b, a, b))
#define WEIR_ASSERT_GT(a, b) WEIR_ASSERT_(::testing::internal::CmpHelperGT(#a, #b, a, b))
#define WEIR_ASSERT_GE(a, b) WEIR_ASSERT_(::testing::internal::CmpHelperGE(#a, #b, a, b))

// C strings, by content.
#define WEIR_ASSERT_STREQ(a, b) WEIR_ASSERT_(::testing::internal::CmpHelperSTREQ(#a, #b, a, b))
#define WEIR_ASSERT_STRNE(a, b) WEIR_ASSERT_(::testing::internal::CmpHelperSTRNE(#a, #b, a, b))
#define WEIR_ASSERT_STRCASEEQ(a, b) \
    WEIR_ASSERT_(::testing::internal::CmpHelperSTRCASEEQ(#a, #b, a, b))
#define WEIR_ASSERT_STRCASENE(a, b) \
    WEIR_ASSERT_(::testing::internal::CmpHelperSTRCASENE(#a, #b, a, b))

#define WEIR_ASSERT_FLOAT_EQ(a, b) \
    WEIR_ASSERT_(::testing::internal::CmpHelperFloatingPointEQ<float>(#a, #b, a, b))
#define WEIR_ASSERT_DOUBLE_EQ(a, b) \
    WEIR_ASSERT_(::testing::internal::CmpHelperFloatingPointEQ<double>(#a, #b, a, b))
#define WEIR_ASSERT_NEAR(a, b, limit) \
    WEIR_ASSERT_(::testing::internal::DoubleNearPredFormat(#a, #b, #limit, a, b, limit))

// Needs <gmock/gmock.h>.
#define WEIR_ASSERT_THAT(value, matcher) \
    WEIR_ASSERT_(::testing::internal::MakePredicateFormatterFromMatcher(matcher)(#value, value))

#define WEIR_FAIL() WEIR_FATAL_FAILURE_("Failed")
// Ends the test without a verdict; GTEST_SKIP() does not compile in a coroutine.
#define WEIR_SKIP() co_return GTEST_MESSAGE_("", ::testing::TestPartResult::kSkip)
