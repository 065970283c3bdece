// SPDX-License-Identifier: MIT
// The expectations about awaits: each passes where it should and fails where it should.

#include "verdict.hpp"

#include <weir/testing/testing.hpp>

#include <stdexcept>

namespace {

using namespace std::chrono_literals;
using testing_test::judge;
using testing_test::verdict;

weir::task<int> gives(int value) {
    co_await weir::yield();
    co_return value;
}
weir::task<int> throws_range_error() {
    co_await weir::yield();
    throw std::range_error("too far");
}
weir::task<> slow() {
    co_await weir::sleep(5s);
}
weir::task<> cancelled_child() {
    auto child = weir::spawn(slow());
    co_await weir::yield();
    child.cancel("enough");
    co_await child;
}
weir::task<> group_with_range_error() {
    auto body = [](weir::task_group& group) -> weir::task<> {
        group.spawn(throws_range_error());
        co_return;
    };
    co_await weir::with_group(body);
}

TEST(Expect, Throw) {
    EXPECT_PASSES(WEIR_EXPECT_THROW(throws_range_error(), std::range_error);
                  WEIR_EXPECT_THROW(throws_range_error(), std::exception);
                  WEIR_ASSERT_THROW(throws_range_error(), std::range_error);
                  WEIR_EXPECT_THROW_WITH(throws_range_error(), std::range_error, "far");
                  WEIR_EXPECT_ANY_THROW(throws_range_error()); WEIR_EXPECT_NO_THROW(gives(1)));
    EXPECT_FAILS(WEIR_EXPECT_THROW(gives(1), std::range_error));
    EXPECT_FAILS(WEIR_EXPECT_THROW(throws_range_error(), std::logic_error));
    EXPECT_FAILS(WEIR_EXPECT_THROW_WITH(throws_range_error(), std::range_error, "near"));
    EXPECT_FAILS(WEIR_EXPECT_ANY_THROW(gives(1)));
    EXPECT_FAILS(WEIR_EXPECT_NO_THROW(throws_range_error()));
    EXPECT_LEAVES(WEIR_ASSERT_THROW(gives(1), std::range_error));
    EXPECT_LEAVES(WEIR_ASSERT_THROW_WITH(throws_range_error(), std::range_error, "near"));
    EXPECT_LEAVES(WEIR_ASSERT_ANY_THROW(gives(1)));
    EXPECT_LEAVES(WEIR_ASSERT_NO_THROW(throws_range_error()));
}

TEST(Expect, MessagesNameWhatHappened) {
    const verdict got = judge(BODY(WEIR_EXPECT_THROW(throws_range_error(), std::logic_error)));
    EXPECT_NE(got.text.find("throws_range_error()"), std::string::npos) << got.text;
    EXPECT_NE(got.text.find("std::logic_error"), std::string::npos) << got.text;
    EXPECT_NE(got.text.find("too far"), std::string::npos) << got.text;
}

TEST(Expect, Timeout) {
    EXPECT_PASSES(WEIR_EXPECT_TIMEOUT(weir::timeout(1s, slow())));
    EXPECT_FAILS(WEIR_EXPECT_TIMEOUT(weir::timeout(10s, slow())));
    EXPECT_LEAVES(WEIR_ASSERT_TIMEOUT(slow()));
}

TEST(Expect, Cancellation) {
    EXPECT_PASSES(WEIR_EXPECT_CANCELLED(cancelled_child());
                  WEIR_EXPECT_THROW_WITH(cancelled_child(), weir::cancelled, "enough"));
    EXPECT_FAILS(WEIR_EXPECT_CANCELLED(slow()));
    EXPECT_FAILS(WEIR_EXPECT_THROW_WITH(cancelled_child(), weir::cancelled, "more"));
    EXPECT_LEAVES(WEIR_ASSERT_CANCELLED(throws_range_error()));
}

TEST(Expect, ErrorGroup) {
    EXPECT_PASSES(WEIR_EXPECT_ERROR_GROUP(group_with_range_error(), std::range_error));
    EXPECT_FAILS(WEIR_EXPECT_ERROR_GROUP(group_with_range_error(), std::logic_error));
    EXPECT_FAILS(WEIR_EXPECT_ERROR_GROUP(throws_range_error(), std::range_error));
    EXPECT_LEAVES(WEIR_ASSERT_ERROR_GROUP(slow(), std::range_error));
}

}  // namespace
