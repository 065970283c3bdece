// SPDX-License-Identifier: MIT
// The loop that the caller writes.

#include "support.hpp"

namespace {

using namespace retry_tests;

task<int> in_sight(flaky& work, std::vector<weir::clock::duration>& waits) {
    weir::retry_loop tries({.max_attempts = 4, .backoff = doubling});
    for (;;) {
        co_await tries.next();
        try {
            co_return co_await work();
        } catch (const flaky_error&) {
            tries.failed();
            waits.push_back(tries.delay());
        }
    }
}

WEIR_TEST(RetryLoop, ReadsLikeALoop) {
    flaky work(2);
    delays waits;
    const int got = co_await in_sight(work, waits);
    EXPECT_EQ(got, 3);
    EXPECT_EQ(waits, (delays{1s, 2s}));
    EXPECT_EQ(work.gaps(), waits);
    flaky hopeless(100);
    WEIR_EXPECT_THROW(in_sight(hopeless, waits), flaky_error);
    EXPECT_EQ(hopeless.calls, 4);
}

WEIR_TEST(RetryLoop, ResultsMayBeUnacceptable) {
    weir::retry_loop tries({.max_attempts = 3, .backoff = doubling});
    int made = 0;
    auto poll = [&]() -> task<> {
        for (;;) {
            co_await tries.next();
            ++made;
            EXPECT_EQ(tries.attempt(), made);
        }
    };
    WEIR_EXPECT_THROW_WITH(poll(), weir::retries_exhausted, "3 attempts");
    EXPECT_EQ(made, 3);
}

WEIR_TEST(RetryLoop, TakesOutcomes) {
    weir::retry_policy policy({.max_attempts = 3, .backoff = doubling});
    weir::retry_loop tries(policy);
    flaky work(2);
    bool more = true;
    while (more) {
        co_await tries.next();
        const outcome<int> ended = co_await weir::settle(work());
        more = tries.failed(ended);
    }
    EXPECT_EQ(work.calls, 3);
    EXPECT_EQ(policy.stats().succeeded_on_retry, 1u);
    WEIR_EXPECT_THROW(tries.next(), weir::invalid_state);
}

WEIR_TEST(RetryLoop, MisuseIsNamed) {
    weir::retry_loop tries({});
    EXPECT_THROW(tries.failed(), weir::invalid_state);
    try {
        throw flaky_error();
    } catch (...) {
        EXPECT_THROW(tries.failed(), weir::invalid_state);
    }
    co_return;
}

WEIR_TEST(RetryLoop, ThrowsThatItIsExhaustedWhereThatIsWanted) {
    auto fail = []() -> task<> {
        weir::retry_loop tries(
            {.max_attempts = 2, .backoff = doubling, .exhausted = weir::when_exhausted::throws});
        for (;;) {
            co_await tries.next();
            try {
                throw flaky_error();
            } catch (...) {
                tries.failed();
            }
        }
    };
    WEIR_EXPECT_THROW_WITH(fail(), weir::retries_exhausted, "2 attempts");
}

}  // namespace
