// SPDX-License-Identifier: MIT
// The delays of a backoff: its shapes, its jitter, its maximum, and invalid options.

#include <weir/error.hpp>
#include <weir/flow/decision/backoff.hpp>

#include <gtest/gtest.h>

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

}  // namespace
