// SPDX-License-Identifier: MIT
// The interval: its ticks in simulated time, with work that takes too long, stops and resets.

#include "support/schedules.hpp"

#include <weir/interval.hpp>
#include <weir/testing/testing.hpp>

#include <random>
#include <vector>

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using weir::clock;
using weir::task;

using times = std::vector<int>;

// The times, in milliseconds from the start, at which ticks come to work that takes so long.
task<times> ticks_of(weir::interval& ticks, std::vector<milliseconds> work) {
    const clock::time_point start = weir::now();
    times came;
    for (const milliseconds each : work) {
        co_await ticks.next();
        came.push_back(static_cast<int>((weir::now() - start) / 1ms));
        co_await weir::sleep(each);
    }
    co_return came;
}

WEIR_TEST(Interval, TicksAtFixedTimes) {
    weir::interval ticks(100ms);
    const std::vector<milliseconds> work1{30ms, 90ms, 0ms, 100ms, 1ms};
    const times came = co_await ticks_of(ticks, work1);
    EXPECT_EQ(came, (times{0, 100, 200, 300, 400}));
    EXPECT_EQ(ticks.missed(), 0u);
    weir::interval later(100ms, {.first_at_once = false});
    const std::vector<milliseconds> work2{30ms, 90ms, 0ms};
    const times waited = co_await ticks_of(later, work2);
    EXPECT_EQ(waited, (times{100, 200, 300}));
}

WEIR_TEST(Interval, MissedTicksAreSkipped) {
    weir::interval ticks(100ms);
    const std::vector<milliseconds> work3{250ms, 10ms, 310ms, 10ms, 0ms};
    const times came = co_await ticks_of(ticks, work3);
    EXPECT_EQ(came, (times{0, 250, 300, 610, 700}));
    EXPECT_EQ(ticks.missed(), 3u);
}

WEIR_TEST(Interval, MissedTicksDelayTheOthers) {
    weir::interval ticks(100ms, {.missed = weir::missed_ticks::delay});
    const std::vector<milliseconds> work4{250ms, 10ms, 10ms, 10ms};
    const times came = co_await ticks_of(ticks, work4);
    EXPECT_EQ(came, (times{0, 250, 350, 450}));
    EXPECT_EQ(ticks.missed(), 1u);
}

WEIR_TEST(Interval, MissedTicksComeInABurst) {
    weir::interval ticks(100ms, {.missed = weir::missed_ticks::burst});
    const std::vector<milliseconds> work5{350ms, 0ms, 0ms, 0ms, 0ms};
    const times came = co_await ticks_of(ticks, work5);
    EXPECT_EQ(came, (times{0, 350, 350, 350, 400}));
    EXPECT_EQ(ticks.missed(), 0u);
}

WEIR_TEST(Interval, AStoppedWaitTakesNoTick) {
    weir::interval ticks(100ms);
    co_await ticks.next();
    const clock::time_point start = weir::now();
    for (int i = 0; i < 5; ++i) {
        const bool came = co_await weir::timeout_or(
            10ms,
            [](weir::interval& from) -> task<bool> {
                co_await from.next();
                co_return true;
            }(ticks),
            false);
        EXPECT_FALSE(came);
    }
    co_await ticks.next();
    EXPECT_EQ(weir::now() - start, 100ms);
}

WEIR_TEST(Interval, ResetsToAPeriodFromNow) {
    weir::interval ticks(100ms);
    co_await ticks.next();
    co_await weir::sleep(70ms);
    ticks.reset();
    const clock::time_point start = weir::now();
    const clock::time_point due = co_await ticks.next();
    EXPECT_EQ(weir::now() - start, 100ms);
    EXPECT_EQ(due, weir::now());
}

TEST(Interval, RefusesAPeriodThatIsNotPositive) {
    EXPECT_THROW(weir::interval(0ms), weir::invalid_argument);
    EXPECT_THROW(weir::interval(-1ms), weir::invalid_argument);
    EXPECT_EQ(weir::interval(std::chrono::duration<double>(0.5)).period(), 500ms);
}

// With skip, no tick comes early and each is due at a multiple of the period; with burst, as many
// come as periods have passed.
WEIR_TEST(Interval, KeepsItsTimesWhateverTheWorkTakes) {
    std::mt19937 random(7);
    for (int round = 0; round < 100; ++round) {
        const auto kind = static_cast<weir::missed_ticks>(random() % 3);
        weir::interval ticks(10ms, {.missed = kind});
        const clock::time_point start = weir::now();
        clock::time_point last = start - 1ms;
        std::uint64_t came = 0;
        for (int i = 0; i < 20; ++i) {
            const std::uint64_t missed = ticks.missed();
            const clock::time_point due = co_await ticks.next();
            ++came;
            EXPECT_GT(due, last);
            EXPECT_LE(due, weir::now());
            if (kind != weir::missed_ticks::delay) {
                EXPECT_EQ((due - start) % 10ms, 0ms);
                EXPECT_EQ(came + missed, static_cast<std::uint64_t>((due - start) / 10ms) + 1)
                    << "each period has its tick, or one that is counted as missed";
            }
            last = due;
            co_await weir::sleep(milliseconds(random() % 25));
        }
    }
}

// One fiber after another takes ticks and is stopped at any time: no tick is lost or comes twice,
// in any order of the fibers.
TEST(Interval, KeepsItsTimesUnderSchedulesAndStops) {
    schedules::expect_under(200, []() -> task<> {
        schedules::dice random;
        const auto kind = static_cast<weir::missed_ticks>(random.below(3));
        weir::interval ticks(10ms, {.missed = kind, .first_at_once = random.one_in(2)});
        const clock::time_point start = weir::now();
        std::vector<clock::time_point> due;
        auto take = [&]() -> task<> {
            for (;;) {
                const clock::time_point tick = co_await ticks.next();
                due.push_back(tick);
                EXPECT_LE(tick, weir::now()) << "early";
                co_await schedules::pause(random, 15);
            }
        };
        auto others = [&]() -> task<> {
            for (;;) {
                co_await schedules::pause(random, 15);
            }
        };
        auto noise = weir::spawn(others);
        for (int i = 0; i < 12; ++i) {
            auto taker = weir::spawn(take);
            co_await weir::sleep(milliseconds(random.below(40)));
            taker.cancel();
            co_await taker.wait();
        }
        noise.cancel();
        co_await noise.wait();
        for (std::size_t i = 1; i < due.size(); ++i) {
            EXPECT_GT(due[i], due[i - 1]) << "twice";
        }
        if (kind != weir::missed_ticks::delay && !due.empty()) {
            const auto first = (due.front() - start) / 10ms;
            const auto periods =
                static_cast<std::uint64_t>((due.back() - start) / 10ms - first + 1);
            for (const clock::time_point each : due) {
                EXPECT_EQ((each - start) % 10ms, 0ms);
            }
            if (kind == weir::missed_ticks::burst) {
                EXPECT_EQ(due.size(), periods) << "lost";
                EXPECT_EQ(ticks.missed(), 0u);
            } else {
                EXPECT_LE(due.size(), periods);
                EXPECT_GE(due.size() + ticks.missed(), periods) << "lost without being counted";
            }
        }
    });
}

}  // namespace
