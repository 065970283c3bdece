// SPDX-License-Identifier: MIT
// The decision of the keyed limiter on thousands of random traces, and naive ones that fail them.

#include "flow/keyed/keyed_property.hpp"
#include "flow/keyed/naive_keyed.hpp"

#include <weir/error.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace keyed_tests;
using weir::hash_seed;

class subject {
public:
    explicit subject(const traffic& load)
        : rate_(load.rate, "test"), decision_(load.max_keys, false, hash_seed::fixed(load.seed)) {}
    keyed_answer take(int key, double tokens, clock::time_point now) {
        const keyed_answer expected = decision_.look(key, tokens, rate_, now);
        const keyed_answer answer = decision_.take(key, tokens, rate_, now);
        // look() predicts take(), except that only take() finds the table full.
        if (answer.verdict != keyed_verdict::full) {
            EXPECT_EQ(expected.verdict, answer.verdict);
            EXPECT_EQ(expected.wait, answer.wait);
        }
        return answer;
    }
    std::size_t keys() const { return decision_.keys(); }

private:
    pace rate_;
    weir::decision::keyed_gcra<int> decision_;
};

TEST(KeyedGcra, EqualsABucketForEachKeyThatIsNeverForgotten) {
    for (unsigned seed = 0; seed < 3000; ++seed) {
        const traffic load = random_traffic(seed);
        subject ours(load);
        ASSERT_EQ(violation(ours, load), std::nullopt) << "seed " << seed;
    }
}

template <class Naive>
std::optional<std::string> first_violation() {
    for (unsigned seed = 0; seed < 200; ++seed) {
        const traffic load = random_traffic(seed);
        Naive naive(load);
        if (auto found = violation(naive, load)) {
            return found;
        }
    }
    return std::nullopt;
}

TEST(KeyedGcra, ThePropertyFindsNaiveOnes) {
    EXPECT_EQ(first_violation<naive::unbounded>(), "keeps more keys than it may");
    EXPECT_EQ(first_violation<naive::forgets_the_oldest>(), "grants more than the rate");
    EXPECT_EQ(first_violation<naive::never_forgets>(), "full while keys could be forgotten");
}

// Over every interval at most burst + rate * time, and with demand no less than that: no drift.
TEST(KeyedGcra, NoDrift) {
    for (const double rate : {3.0, 7.0, 1000.0, 999'983.0}) {
        const pace limits({.rate = rate, .burst = 5}, "test");
        weir::decision::keyed_gcra<int> decision(10, false, hash_seed::fixed(1));
        clock::time_point now{};
        std::uint64_t granted = 0;
        for (int i = 0; i < 200'000; ++i) {
            const keyed_answer answer = decision.take(1, 1, limits, now);
            if (answer.granted()) {
                ++granted;
            } else {
                now += answer.wait;  // the first moment at which it is granted
            }
        }
        const double seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
        EXPECT_LE(static_cast<double>(granted), 5 + rate * seconds + 1e-6);
        EXPECT_GE(static_cast<double>(granted),
                  (5 + rate * seconds) * (1 - rate / 16e9 - 1e-9) - 1);
    }
}

TEST(KeyedGcra, SharesOneBucketWhenFull) {
    const pace limits({.rate = 1, .burst = 2}, "test");
    weir::decision::keyed_gcra<int> decision(3, true, hash_seed::fixed(1));
    const clock::time_point now{};
    for (int key = 0; key < 3; ++key) {
        EXPECT_TRUE(decision.take(key, 1, limits, now).granted());
    }
    EXPECT_TRUE(decision.take(10, 1, limits, now).from_shared);
    EXPECT_TRUE(decision.take(11, 1, limits, now).granted());
    EXPECT_EQ(decision.look(12, 1, limits, now).wait, 1s);
    const keyed_answer third = decision.take(12, 1, limits, now);
    EXPECT_EQ(third.verdict, keyed_verdict::too_early);
    EXPECT_EQ(third.wait, 1s);
    EXPECT_TRUE(decision.take(1, 1, limits, now).granted());  // those inside have their own
    EXPECT_TRUE(decision.take(12, 1, limits, now + 2s).granted());
    EXPECT_LE(decision.keys(), 3u);
}

TEST(KeyedGcra, RefundsWhatWasTakenAndNoMore) {
    const pace limits({.rate = 1, .burst = 2}, "test");
    weir::decision::keyed_gcra<int> decision(3, false, hash_seed::fixed(1));
    const clock::time_point now{};
    const keyed_answer first = decision.take(1, 2, limits, now);
    EXPECT_FALSE(decision.take(1, 1, limits, now).granted());
    decision.refund(1, first, now);
    EXPECT_TRUE(decision.take(1, 2, limits, now).granted());
    // Two seconds later the bucket would be full anyway.
    decision.refund(1, first, now + 2s);
    EXPECT_TRUE(decision.take(1, 2, limits, now + 2s).granted());
    EXPECT_FALSE(decision.take(1, 1, limits, now + 2s).granted());
}

TEST(KeyedGcra, AnotherRateBringsNoFreshBurst) {
    const pace slow({.rate = 1, .burst = 10}, "test");
    const pace fast({.rate = 100, .burst = 10}, "test");
    for (const bool becomes_faster : {true, false}) {
        const pace& before = becomes_faster ? slow : fast;
        const pace& after = becomes_faster ? fast : slow;
        weir::decision::keyed_gcra<int> decision(3, false, hash_seed::fixed(1));
        const clock::time_point now{};
        EXPECT_TRUE(decision.take(1, 8, before, now).granted());
        decision.rescale(
            now, [&](int) -> const pace& { return before; },
            [&](int) -> const pace& { return after; });
        EXPECT_FALSE(decision.take(1, 3, after, now).granted());
        EXPECT_TRUE(decision.take(1, 2, after, now).granted());
    }
}

// Decades of simulated time, and jumps to the far end of the clock.
TEST(KeyedGcra, AnyTime) {
    const pace limits({.rate = 1, .per = 24h, .burst = 2}, "test");
    weir::decision::keyed_gcra<int> decision(3, false, hash_seed::fixed(1));
    clock::time_point now{-100'000h};
    for (int year = 0; year < 60; ++year) {
        EXPECT_TRUE(decision.take(1, 2, limits, now).granted()) << year;
        EXPECT_FALSE(decision.take(1, 1, limits, now).granted()) << year;
        now += 12h;
        EXPECT_EQ(decision.look(1, 1, limits, now).wait, 12h) << year;
        now += std::chrono::hours(24 * 365);
    }
    EXPECT_TRUE(decision.take(1, 2, limits, clock::time_point::max()).granted());
    EXPECT_FALSE(decision.take(1, 1, limits, clock::time_point::max()).granted());
    EXPECT_FALSE(decision.take(1, 1, limits, clock::time_point::min()).granted());
}

}  // namespace
