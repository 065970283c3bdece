// SPDX-License-Identifier: MIT
// Retry under random options and random failures: attempts exact, delays within bounds, no time
// lost and none overdrawn. The same check finds the mistakes of the loops in naive_retry.hpp.

#include "naive_retry.hpp"
#include "trial.hpp"

#include <weir/weir.hpp>

namespace {

using namespace retry_tests;

// Runs a call and returns the violated rule, if any.
template <class Subject>
task<std::string> check(Subject& subject, trial& call) {
    call.cancelled = weir::spawn(weir::sleep(1h, 1));
    call.cancelled.cancel();
    co_await call.cancelled.wait();
    auto fn = [&call] { return call.attempt(); };
    call.begun = weir::now();
    const outcome<int> ended = co_await subject(call.options, fn);
    call.ended = weir::now();
    co_return violation(call, ended);
}

struct real_retry {
    template <class Fn>
    task<outcome<int>> operator()(weir::retry_options options, Fn& fn) {
        weir::retry_policy policy(options);
        co_return co_await policy.settle(fn);
    }
};
// The visible loop does the same, but cannot stop a running attempt: it is given quick ones.
struct real_loop {
    template <class Fn>
    task<outcome<int>> operator()(weir::retry_options options, Fn& fn) {
        weir::retry_loop tries(options);
        for (;;) {
            co_await tries.next();
            outcome<int> ended = co_await weir::settle(fn());
            if (!tries.failed(ended)) {
                co_return ended;
            }
        }
    }
};

WEIR_TEST(RetryProperties, RandomOptionsAndFailures) {
    weir::testing::once_is_enough();
    random_trials random(1);
    real_retry subject;
    for (int i = 0; i < 5000; ++i) {
        trial call = random.make();
        const std::string wrong = co_await check(subject, call);
        WEIR_ASSERT_EQ(wrong, "") << "trial " << i;
    }
}

WEIR_TEST(RetryProperties, TheVisibleLoopToo) {
    weir::testing::once_is_enough();
    random_trials random(2);
    real_loop subject;
    for (int i = 0; i < 3000; ++i) {
        trial call = random.make();
        for (attempt_plan& each : call.plan) {
            each.takes = 0s;
        }
        const std::string wrong = co_await check(subject, call);
        WEIR_ASSERT_EQ(wrong, "") << "trial " << i;
    }
}

// So many of 300 calls go wrong. Options that the naive loop knows: doubling without jitter.
task<int> mistakes_found(naive_mistakes made, std::string* example = nullptr) {
    random_trials random(3);
    naive_retry subject(made);
    int found = 0;
    for (int i = 0; i < 300; ++i) {
        trial call = random.make();
        call.options.backoff = weir::exponential_backoff(
            std::chrono::milliseconds(1 + random.below(2000)), 4s,
            made.jitter_after_the_cap ? weir::jitter::by(0.5) : weir::jitter::none());
        for (attempt_plan& each : call.plan) {
            each.takes = 0s;  // it cannot stop a running attempt
        }
        const std::string wrong = co_await check(subject, call);
        if (!wrong.empty()) {
            ++found;
            if (example != nullptr) {
                *example = wrong;
            }
        }
    }
    co_return found;
}

WEIR_TEST(RetryProperties, TheNaiveLoopWithoutMistakesPasses) {
    weir::testing::once_is_enough();
    std::string wrong;
    const int found = co_await mistakes_found({}, &wrong);
    EXPECT_EQ(found, 0) << wrong;
}

WEIR_TEST(RetryProperties, EveryNaiveMistakeIsFound) {
    weir::testing::once_is_enough();
    std::string wrong;
    int found = co_await mistakes_found({.retries_cancellation = true}, &wrong);
    EXPECT_GT(found, 10);
    EXPECT_NE(wrong.find("a cancellation was retried"), std::string::npos) << wrong;
    found = co_await mistakes_found({.sleeps_after_the_last = true}, &wrong);
    EXPECT_GT(found, 10);
    EXPECT_NE(wrong.find("a delay after the last attempt"), std::string::npos) << wrong;
    found = co_await mistakes_found({.one_attempt_more = true}, &wrong);
    EXPECT_GT(found, 10);
    EXPECT_NE(wrong.find("more attempts than allowed"), std::string::npos) << wrong;
    found = co_await mistakes_found({.jitter_after_the_cap = true}, &wrong);
    EXPECT_GT(found, 10);
    EXPECT_NE(wrong.find("out of bounds"), std::string::npos) << wrong;
    found = co_await mistakes_found({.sleeps_past_the_limit = true}, &wrong);
    EXPECT_GT(found, 10);
}

}  // namespace
