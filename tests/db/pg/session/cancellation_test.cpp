// SPDX-License-Identifier: MIT
// When a cancel request is sent, step by step and without a server.

#include "db/pg/session/cancellation.hpp"

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using weir::pg::detail::cancellation;
using weir::pg::detail::running_query;
using action = cancellation::action;

constexpr running_query none{};
constexpr weir::clock::time_point start{};

running_query running(std::uint64_t number) {
    return {number, false};
}
running_query abandoned(std::uint64_t number) {
    return {number, true};
}

TEST(Cancellation, LeavesQueriesAloneWhoseTasksWait) {
    cancellation cancels(5ms, 1s);
    EXPECT_EQ(cancels.advance(start, running(1)), action::none);
    EXPECT_TRUE(cancels.is_idle());
    EXPECT_EQ(cancels.next_deadline(), weir::clock::time_point::max());
}

TEST(Cancellation, GivesAQueryTimeToEndByItself) {
    cancellation cancels(5ms, 1s);
    EXPECT_EQ(cancels.advance(start, abandoned(1)), action::none);
    EXPECT_FALSE(cancels.is_idle());
    EXPECT_FALSE(cancels.is_active());
    EXPECT_EQ(cancels.next_deadline(), start + 5ms);
    EXPECT_EQ(cancels.advance(start + 4ms, none), action::none);
    EXPECT_TRUE(cancels.is_idle());
    // The next one gets the whole time, too.
    EXPECT_EQ(cancels.advance(start + 4ms, abandoned(2)), action::none);
    EXPECT_EQ(cancels.advance(start + 5ms, abandoned(2)), action::none);
    EXPECT_EQ(cancels.advance(start + 9ms, abandoned(2)), action::request);
    EXPECT_TRUE(cancels.is_active());
}

TEST(Cancellation, EndsWhenAllQueriesInFlightAreAnswered) {
    cancellation cancels(0ms, 1s);
    cancels.advance(start, abandoned(1));
    EXPECT_EQ(cancels.advance(start, abandoned(1)), action::request);
    cancels.request_ended();
    EXPECT_EQ(cancels.advance(start, running(2)), action::none);
    EXPECT_TRUE(cancels.is_active());  // the request may still hit the second
    EXPECT_EQ(cancels.advance(start, none), action::none);
    EXPECT_TRUE(cancels.is_idle());
}

TEST(Cancellation, WaitsForItsRequestBeforeItEnds) {
    cancellation cancels(0ms, 1s);
    cancels.advance(start, abandoned(1));
    EXPECT_EQ(cancels.advance(start, abandoned(1)), action::request);
    EXPECT_EQ(cancels.advance(start, none), action::none);
    EXPECT_TRUE(cancels.is_active());
    cancels.request_ended();
    cancels.advance(start, none);
    EXPECT_TRUE(cancels.is_idle());
}

TEST(Cancellation, RepeatsARequestThatHadNoEffect) {
    cancellation cancels(5ms, 1s);
    cancels.advance(start, abandoned(1));
    EXPECT_EQ(cancels.advance(start + 5ms, abandoned(1)), action::request);
    cancels.request_ended();
    EXPECT_EQ(cancels.advance(start + 6ms, abandoned(1)), action::none);
    EXPECT_EQ(cancels.next_deadline(), start + 26ms);
    EXPECT_EQ(cancels.advance(start + 26ms, abandoned(1)), action::request);
    // Another abandoned query is cancelled at once.
    cancels.request_ended();
    EXPECT_EQ(cancels.advance(start + 27ms, abandoned(2)), action::request);
}

TEST(Cancellation, GivesUpAfterTheTimeout) {
    cancellation cancels(0ms, 100ms);
    cancels.advance(start, abandoned(1));
    EXPECT_EQ(cancels.advance(start, abandoned(1)), action::request);
    EXPECT_EQ(cancels.next_deadline(), start + 100ms);
    EXPECT_EQ(cancels.advance(start + 99ms, abandoned(1)), action::none);
    EXPECT_EQ(cancels.advance(start + 100ms, abandoned(1)), action::give_up);
    // Another query has the whole time again.
    cancels.request_ended();
    EXPECT_EQ(cancels.advance(start + 90ms, abandoned(2)), action::request);
    EXPECT_EQ(cancels.advance(start + 100ms, abandoned(2)), action::none);
}

}  // namespace
