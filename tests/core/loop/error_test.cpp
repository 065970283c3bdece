// SPDX-License-Identifier: MIT
// The messages and types of errors.

#include <weir/testing/testing.hpp>

#include <csignal>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

TEST(ErrorGroup, FindsBaseClassesInsideNestedGroups) {
    auto wrap = [](auto... errors) {
        return weir::error_group({std::make_exception_ptr(errors)...});
    };
    const auto group = wrap(wrap(std::out_of_range("far")), weir::timed_out(), 7);
    // Both groups and timed_out are runtime_errors; a group counts as its contents.
    const auto* failure = group.find<std::runtime_error>();
    ASSERT_NE(failure, nullptr);
    EXPECT_STREQ(failure->what(), "timed out");
    EXPECT_STREQ(group.find<std::exception>()->what(), "far");
    EXPECT_EQ(group.find<weir::error_group>()->size(), 1u);
    EXPECT_EQ(*group.find<int>(), 7);
    EXPECT_FALSE(group.contains<std::bad_alloc>());
}

TEST(ErrorGroup, SaysHowManyFailedAndWithWhat) {
    const auto failure = [](const char* what) {
        return std::make_exception_ptr(std::runtime_error(what));
    };
    EXPECT_STREQ(weir::error_group({failure("one")}).what(), "1 task failed: one");
    EXPECT_STREQ(weir::error_group({failure("one"), failure("two")}).what(),
                 "2 tasks failed: one; two");
    const weir::error_group many(std::vector<std::exception_ptr>(10, failure("x")));
    EXPECT_EQ(std::string(many.what()), "10 tasks failed: x; x; x; x; x; x; x; x; and 2 more");
}

TEST(Error, MisuseIsALogicErrorAndFailuresAreRuntimeErrors) {
    EXPECT_THROW(throw weir::invalid_state("x"), std::logic_error);
    EXPECT_THROW(throw weir::invalid_argument("x"), weir::misuse);
    EXPECT_THROW(throw weir::loop_error("x"), weir::misuse);
    EXPECT_THROW(throw weir::wrong_thread("x"), weir::misuse);
    EXPECT_THROW(throw weir::timed_out(), std::runtime_error);
    EXPECT_THROW(throw weir::broken_promise(), std::runtime_error);
    static_assert(!std::is_base_of_v<std::exception, weir::cancelled>);
}

TEST(Error, AnInterruptionNamesTheSignal) {
    EXPECT_STREQ(weir::interrupted(SIGTERM).what(), "interrupted by SIGTERM");
    EXPECT_EQ(weir::interrupted(SIGINT).signal(), SIGINT);
}

TEST(Error, DescribeKnowsAllKinds) {
    EXPECT_EQ(weir::describe(nullptr), "no error");
    EXPECT_EQ(weir::describe(std::make_exception_ptr(std::runtime_error("bad"))), "bad");
    EXPECT_EQ(weir::describe(std::make_exception_ptr(weir::cancelled("late"))), "cancelled: late");
    EXPECT_EQ(weir::describe(std::make_exception_ptr(weir::cancelled())), "cancelled");
    EXPECT_EQ(weir::describe(std::make_exception_ptr(7)),
              "an exception that is not a std::exception");
}

}  // namespace
