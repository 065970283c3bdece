// SPDX-License-Identifier: MIT
// The delays of a backoff: its shapes, its jitter, its maximum, and invalid options.

#include <weir/error.hpp>
#include <weir/flow/decision/backoff.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::backoff_options;
using weir::jitter;
using durations = std::vector<weir::clock::duration>;

durations delays(const backoff_options& options, int count) {
    weir::decision::random_source random(1);
    weir::decision::backoff backoff(options);
    durations found;
    for (int i = 0; i < count; ++i) {
        found.push_back(backoff.next(random));
    }
    return found;
}

TEST(Backoff, HasThreeShapes) {
    EXPECT_EQ(delays(weir::constant_backoff(1s), 3), (durations{1s, 1s, 1s}));
    EXPECT_EQ(delays(weir::linear_backoff(1s, 3s), 4), (durations{1s, 2s, 3s, 3s}));
    EXPECT_EQ(delays(weir::exponential_backoff(1s, 5s), 4), (durations{1s, 2s, 4s, 5s}));
    const backoff_options stepped{.shape = weir::backoff_shape::linear,
                                  .initial = 1s,
                                  .step = 500ms,
                                  .jitter = jitter::none()};
    EXPECT_EQ(delays(stepped, 3), (durations{1s, 1500ms, 2s}));
}

TEST(Backoff, RestartBeginsAgain) {
    const backoff_options options = weir::exponential_backoff(1s, 1min);
    weir::decision::random_source random(1);
    weir::decision::backoff backoff(options);
    backoff.next(random);
    backoff.next(random);
    backoff.restart();
    EXPECT_EQ(backoff.next(random), 1s);
}

TEST(Backoff, JitterStaysWithinItsBounds) {
    const auto within = [](jitter spread, weir::clock::duration least, weir::clock::duration most) {
        bool varies = false;
        const durations found = delays(weir::constant_backoff(1s, spread), 1000);
        for (const auto delay : found) {
            EXPECT_GE(delay, least);
            EXPECT_LE(delay, most);
            varies = varies || delay != found.front();
        }
        EXPECT_TRUE(varies);
    };
    within(jitter::full(), 0s, 1s);
    within(jitter::equal(), 500ms, 1s);
    within(jitter::by(100ms), 900ms, 1100ms);
    within(jitter::by(0.25), 750ms, 1250ms);
}

TEST(Backoff, DecorrelatedJitterStaysBetweenInitialAndMaximum) {
    for (const auto delay :
         delays(weir::exponential_backoff(1s, 10s, jitter::decorrelated()), 1000)) {
        EXPECT_GE(delay, 1s);
        EXPECT_LE(delay, 10s);
    }
}

TEST(Backoff, DecorrelatedJitterIsUpToThreeTimesTheDelayBefore) {
    const backoff_options options = weir::exponential_backoff(1s, 1h, jitter::decorrelated());
    weir::decision::random_source random(1);
    weir::decision::backoff backoff(options);
    weir::clock::duration most = 0s;
    for (int i = 0; i < 1000; ++i) {
        backoff.restart();
        const weir::clock::duration first = backoff.next(random);
        most = std::max(most, first);
        EXPECT_LE(backoff.next(random), 3 * first);
    }
    EXPECT_GT(most, 2900ms);
    EXPECT_LE(most, 3s);
}

TEST(Backoff, RefusesInvalidOptions) {
    const auto refused = [](const backoff_options& options, const char* message) {
        try {
            weir::decision::backoff::check(options, "retry");
            ADD_FAILURE() << "accepted; expected: " << message;
        } catch (const weir::invalid_argument& error) {
            EXPECT_STREQ(error.what(), message);
        }
    };
    weir::decision::backoff::check({}, "retry");
    refused({.initial = -1s}, "retry: backoff.initial is -1 s; it must be zero or more");
    refused({.initial = 2s, .maximum = 1s},
            "retry: backoff.maximum is 1 s; it must be at least backoff.initial");
    refused({.factor = 0.5}, "retry: backoff.factor is 0.5; it must be a number from 1 upwards");
    refused({.jitter = jitter::by(2.0)},
            "retry: backoff.jitter is 2; it must be a share from 0 to 1");
}

// A delay that was drawn above the maximum counts as the maximum for the next one: the delays do
// not all end at the maximum, or the callers that failed together would retry together.
TEST(Backoff, DecorrelatedJitterStaysSpreadAtTheMaximum) {
    int below = 0;
    int lower_half = 0;
    for (const auto delay :
         delays(weir::exponential_backoff(1s, 10s, jitter::decorrelated()), 10'000)) {
        below += delay < 10s ? 1 : 0;
        lower_half += delay < 5s ? 1 : 0;
    }
    // After a delay of 10 s, the next is uniform from 1 s to 30 s: 31 % are below the maximum.
    EXPECT_GT(below, 3'500);
    EXPECT_LT(below, 6'500);
    EXPECT_GT(lower_half, 1'500);
}

// The same for the other shapes: delays with jitter fall below the maximum again.
TEST(Backoff, JitterIsNotLostAfterManyAttempts) {
    for (const auto spread : {jitter::full(), jitter::equal(), jitter::by(0.25)}) {
        const durations found = delays(weir::exponential_backoff(1s, 10s, spread), 2'000);
        const durations last(found.end() - 100, found.end());
        int below = 0;
        for (const auto delay : last) {
            below += delay < 10s ? 1 : 0;
        }
        EXPECT_GT(below, 30);
    }
}

}  // namespace
