// SPDX-License-Identifier: MIT
// Expectations about the result of an await. Statements for coroutines; EXPECT forms continue,
// ASSERT forms leave the coroutine. For plain expressions, GoogleTest's own EXPECT_THROW works as
// it is.
//
//     WEIR_EXPECT_THROW(fetch("nowhere"), network_error);
//     WEIR_EXPECT_THROW_WITH(fetch("nowhere"), network_error, "no such host");
//     WEIR_EXPECT_NO_THROW(fetch("here"));
//     WEIR_EXPECT_TIMEOUT(weir::timeout(1s, slow()));
//     WEIR_EXPECT_CANCELLED(handle);                                  // it was cancelled
//     WEIR_EXPECT_ERROR_GROUP(weir::with_group(body), network_error); // one is in the error_group
#pragma once

#include <weir/error.hpp>
#include <weir/testing/assertions.hpp>

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace weir::testing {

// For the library: the judgements behind the macros, on what an await threw; null: nothing.
template <class Error>
::testing::AssertionResult threw(const std::exception_ptr& thrown, const char* what,
                                 const char* type,
                                 std::optional<std::string_view> text = std::nullopt) {
    if (thrown == nullptr) {
        return ::testing::AssertionFailure()
               << "awaiting " << what << " threw nothing, not " << type;
    }
    try {
        std::rethrow_exception(thrown);
    } catch (const Error& expected) {
        if constexpr (std::is_base_of_v<std::exception, Error>) {
            if (text && std::string_view(expected.what()).find(*text) == std::string_view::npos) {
                return ::testing::AssertionFailure()
                       << "awaiting " << what << " threw " << type << " '" << expected.what()
                       << "', without '" << *text << "'";
            }
        } else if constexpr (std::is_same_v<Error, cancelled>) {
            if (text && expected.reason().find(*text) == std::string::npos) {
                return ::testing::AssertionFailure()
                       << "awaiting " << what << " was cancelled with the reason '"
                       << expected.reason() << "', without '" << *text << "'";
            }
        }
        return ::testing::AssertionSuccess();
    } catch (...) {
        return ::testing::AssertionFailure() << "awaiting " << what << " threw something else than "
                                             << type << ": " << describe(std::current_exception());
    }
}

template <class Error>
::testing::AssertionResult threw_group_with(const std::exception_ptr& thrown, const char* what,
                                            const char* type) {
    if (auto is_group = threw<error_group>(thrown, what, "weir::error_group"); !is_group) {
        return is_group;
    }
    try {
        std::rethrow_exception(thrown);
    } catch (const error_group& group) {
        if (!group.contains<Error>()) {
            return ::testing::AssertionFailure()
                   << "awaiting " << what << " threw an error_group without " << type << ": "
                   << describe(std::current_exception());
        }
    }
    return ::testing::AssertionSuccess();
}

inline ::testing::AssertionResult threw_something(const std::exception_ptr& thrown,
                                                  const char* what) {
    if (thrown == nullptr) {
        return ::testing::AssertionFailure() << "awaiting " << what << " threw nothing";
    }
    return ::testing::AssertionSuccess();
}

inline ::testing::AssertionResult threw_nothing(const std::exception_ptr& thrown,
                                                const char* what) {
    if (thrown != nullptr) {
        return ::testing::AssertionFailure()
               << "awaiting " << what << " threw " << describe(thrown);
    }
    return ::testing::AssertionSuccess();
}

}  // namespace weir::testing

#define WEIR_CHECK_AWAIT_(awaitable, judge, leave)                                    \
    do {                                                                              \
        ::std::exception_ptr weir_thrown_;                                            \
        try {                                                                         \
            (void)co_await (awaitable);                                               \
        } catch (...) {                                                               \
            weir_thrown_ = ::std::current_exception();                                \
        }                                                                             \
        if (const ::testing::AssertionResult weir_judged_ = (judge); !weir_judged_) { \
            ADD_FAILURE() << weir_judged_.failure_message();                          \
            leave;                                                                    \
        }                                                                             \
    } while (false)

#define WEIR_THREW_(awaitable, type) (::weir::testing::threw<type>(weir_thrown_, #awaitable, #type))
#define WEIR_THREW_WITH_(awaitable, type, text) \
    (::weir::testing::threw<type>(weir_thrown_, #awaitable, #type, text))
#define WEIR_THREW_GROUP_(awaitable, type) \
    (::weir::testing::threw_group_with<type>(weir_thrown_, #awaitable, #type))
#define WEIR_THREW_ANY_(awaitable) (::weir::testing::threw_something(weir_thrown_, #awaitable))
#define WEIR_THREW_NONE_(awaitable) (::weir::testing::threw_nothing(weir_thrown_, #awaitable))

#define WEIR_EXPECT_THROW(awaitable, type) \
    WEIR_CHECK_AWAIT_(awaitable, WEIR_THREW_(awaitable, type), (void)0)
#define WEIR_ASSERT_THROW(awaitable, type) \
    WEIR_CHECK_AWAIT_(awaitable, WEIR_THREW_(awaitable, type), co_return)

// The text must be in what(), or in the reason of a weir::cancelled.
#define WEIR_EXPECT_THROW_WITH(awaitable, type, text) \
    WEIR_CHECK_AWAIT_(awaitable, WEIR_THREW_WITH_(awaitable, type, text), (void)0)
#define WEIR_ASSERT_THROW_WITH(awaitable, type, text) \
    WEIR_CHECK_AWAIT_(awaitable, WEIR_THREW_WITH_(awaitable, type, text), co_return)

#define WEIR_EXPECT_ANY_THROW(awaitable) \
    WEIR_CHECK_AWAIT_(awaitable, WEIR_THREW_ANY_(awaitable), (void)0)
#define WEIR_ASSERT_ANY_THROW(awaitable) \
    WEIR_CHECK_AWAIT_(awaitable, WEIR_THREW_ANY_(awaitable), co_return)
#define WEIR_EXPECT_NO_THROW(awaitable) \
    WEIR_CHECK_AWAIT_(awaitable, WEIR_THREW_NONE_(awaitable), (void)0)
#define WEIR_ASSERT_NO_THROW(awaitable) \
    WEIR_CHECK_AWAIT_(awaitable, WEIR_THREW_NONE_(awaitable), co_return)

#define WEIR_EXPECT_TIMEOUT(awaitable) WEIR_EXPECT_THROW(awaitable, ::weir::timed_out)
#define WEIR_ASSERT_TIMEOUT(awaitable) WEIR_ASSERT_THROW(awaitable, ::weir::timed_out)
#define WEIR_EXPECT_CANCELLED(awaitable) WEIR_EXPECT_THROW(awaitable, ::weir::cancelled)
#define WEIR_ASSERT_CANCELLED(awaitable) WEIR_ASSERT_THROW(awaitable, ::weir::cancelled)

#define WEIR_EXPECT_ERROR_GROUP(awaitable, type) \
    WEIR_CHECK_AWAIT_(awaitable, WEIR_THREW_GROUP_(awaitable, type), (void)0)
#define WEIR_ASSERT_ERROR_GROUP(awaitable, type) \
    WEIR_CHECK_AWAIT_(awaitable, WEIR_THREW_GROUP_(awaitable, type), co_return)
