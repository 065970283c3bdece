// SPDX-License-Identifier: MIT
// GoogleTest's fatal assertions for coroutines: they leave with co_return.
#pragma once

#include <gtest/gtest.h>

#define WEIR_FATAL_FAILURE_(message) \
    co_return GTEST_MESSAGE_(message, ::testing::TestPartResult::kFatalFailure)

#define WEIR_ASSERT_(result)                                                     \
    GTEST_AMBIGUOUS_ELSE_BLOCKER_                                                \
    if (const ::testing::AssertionResult weir_result_ = (result); weir_result_)  \
        ;                                                                        \
    else                                                                         \
        WEIR_FATAL_FAILURE_(weir_result_.failure_message())

#define WEIR_ASSERT_TRUE(condition)                                                       \
    GTEST_AMBIGUOUS_ELSE_BLOCKER_                                                         \
    if (const ::testing::AssertionResult weir_result_ = ::testing::AssertionResult(condition)) \
        ;                                                                                 \
    else                                                                                  \
        WEIR_FATAL_FAILURE_(::testing::internal::GetBoolAssertionFailureMessage(          \
                                weir_result_, #condition, "false", "true")                \
                                .c_str())
#define WEIR_ASSERT_FALSE(condition) WEIR_ASSERT_TRUE(!(condition))
#define WEIR_ASSERT_EQ(a, b) WEIR_ASSERT_(::testing::internal::EqHelper::Compare(#a, #b, a, b))
#define WEIR_ASSERT_NE(a, b) WEIR_ASSERT_(::testing::internal::CmpHelperNE(#a, #b, a, b))
#define WEIR_ASSERT_LT(a, b) WEIR_ASSERT_(::testing::internal::CmpHelperLT(#a, #b, a, b))
#define WEIR_ASSERT_LE(a, b) WEIR_ASSERT_(::testing::internal::CmpHelperLE(#a, #b, a, b))
#define WEIR_ASSERT_GT(a, b) WEIR_ASSERT_(::testing::internal::CmpHelperGT(#a, #b, a, b))
#define WEIR_ASSERT_GE(a, b) WEIR_ASSERT_(::testing::internal::CmpHelperGE(#a, #b, a, b))

// Awaiting the expression must throw the type. A statement; use it inside a coroutine.
#define WEIR_EXPECT_THROW(awaitable, type)                                                   \
    do {                                                                                     \
        bool weir_threw_ = false;                                                            \
        try {                                                                                \
            (void)co_await (awaitable);                                                      \
        } catch (const type&) {                                                              \
            weir_threw_ = true;                                                              \
        } catch (...) {                                                                      \
            ADD_FAILURE() << "awaiting " #awaitable " threw another type than " #type;       \
            weir_threw_ = true;                                                              \
        }                                                                                    \
        EXPECT_TRUE(weir_threw_) << "awaiting " #awaitable " threw nothing, not " #type;     \
    } while (false)
