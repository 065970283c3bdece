// SPDX-License-Identifier: MIT
// Whether and when an attempt follows a failed one.

#include <weir/flow/decision/retry_decision.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using weir::retry_end;

constexpr weir::clock::time_point start(1h);
constexpr auto no_deadline = weir::clock::time_point::max();

TEST(RetryDecision, EndsAfterTheLastAttempt) {
    const weir::backoff_options backoff = weir::exponential_backoff(1s, 1min);
    weir::decision::random_source random(1);
    weir::decision::retry call(3, backoff);
    const auto second = call.failed(start, 0s, no_deadline, random);
    EXPECT_TRUE(second.again());
    EXPECT_EQ(second.delay, 1s);
    EXPECT_EQ(call.failed(start, 0s, no_deadline, random).delay, 2s);
    EXPECT_EQ(call.failed(start, 0s, no_deadline, random).end, retry_end::attempts);
    EXPECT_EQ(call.failures(), 3);
}

TEST(RetryDecision, ARequestedDelayIsALowerBound) {
    const weir::backoff_options backoff = weir::constant_backoff(1s);
    weir::decision::random_source random(1);
    weir::decision::retry call(3, backoff);
    EXPECT_EQ(call.failed(start, 5s, no_deadline, random).delay, 5s);
    EXPECT_EQ(call.failed(start, 500ms, no_deadline, random).delay, 1s);
}

TEST(RetryDecision, AnAttemptMustBeginBeforeTheDeadline) {
    const weir::backoff_options backoff = weir::constant_backoff(1s);
    weir::decision::random_source random(1);
    weir::decision::retry call(10, backoff);
    EXPECT_EQ(call.failed(start, 0s, start + 1s, random).end, retry_end::time);
    EXPECT_TRUE(call.failed(start, 0s, start + 1001ms, random).again());
}

TEST(RetryDecision, EveryEndHasAText) {
    for (auto end : {retry_end::none, retry_end::succeeded, retry_end::attempts, retry_end::time,
                     retry_end::budget, retry_end::aborted, retry_end::asked_too_much,
                     retry_end::cancelled, retry_end::switched_off}) {
        EXPECT_FALSE(to_string(end).empty());
    }
}

}  // namespace
