// SPDX-License-Identifier: MIT
// The timer wheel against the obvious model: a sorted list.

#include <weir/base/timer_wheel.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <list>
#include <map>
#include <random>

namespace {

using weir::detail::timer_wheel;

struct probe final : weir::detail::timer {
    void fire() noexcept override {}
    std::multimap<std::int64_t, probe*>::iterator place{};
};

class model {
public:
    void arm(probe& armed, std::int64_t deadline) {
        if (armed.is_armed()) {
            order_.erase(armed.place);
        }
        armed.place = order_.emplace(deadline, &armed);  // behind its equals
        wheel.arm(armed, deadline);
    }
    void disarm(probe& disarmed) {
        if (disarmed.is_armed()) {
            order_.erase(disarmed.place);
        }
        wheel.disarm(disarmed);
        EXPECT_FALSE(disarmed.is_armed());
    }
    void advance(std::int64_t now) {
        while (!order_.empty() && order_.begin()->first <= now) {
            auto* const due = static_cast<probe*>(wheel.pop_due(now));
            ASSERT_NE(due, nullptr);
            ASSERT_EQ(due->deadline(), order_.begin()->first);
            ASSERT_EQ(due, order_.begin()->second) << "equal deadlines keep their order";
            order_.erase(order_.begin());
        }
        ASSERT_EQ(wheel.pop_due(now), nullptr);
        check();
    }
    void check() {
        ASSERT_EQ(wheel.size(), order_.size());
        ASSERT_EQ(wheel.empty(), order_.empty());
        ASSERT_EQ(wheel.next_deadline(),
                  order_.empty() ? timer_wheel::never : order_.begin()->first);
    }
    timer_wheel wheel;

private:
    std::multimap<std::int64_t, probe*> order_;
};

// Deadlines near and far, past, equal, at digit borders and at the ends of time.
std::int64_t draw_deadline(std::mt19937_64& random, std::int64_t now) {
    switch (random() % 10) {
        case 0:
            return now;
        case 1:
            return now - static_cast<std::int64_t>(random() % 1000);
        case 2:
            return now + static_cast<std::int64_t>(random() % 64);
        case 3:
            return now + static_cast<std::int64_t>(random() % 1'000'000);
        case 4:
            return now + static_cast<std::int64_t>(random() % 1'000'000'000'000);
        case 5:
            return (now | 63) + 1 + static_cast<std::int64_t>(random() % 3);
        case 6:
            return (now | 0xffffff) + static_cast<std::int64_t>(random() % 3);
        case 7:
            return static_cast<std::int64_t>(random());  // anything
        case 8:
            return random() % 2 == 0 ? INT64_MAX - 1 : INT64_MIN;
        default:
            return now + 1000;
    }
}

TEST(TimerWheel, BehavesAsASortedList) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        std::mt19937_64 random(seed);
        model tested;
        std::list<probe> timers(100);
        std::int64_t now =
            seed % 2 == 0 ? 0 : static_cast<std::int64_t>(random() % 4'000'000'000'000);
        for (int round = 0; round < 3000; ++round) {
            auto chosen = std::next(timers.begin(), static_cast<int>(random() % timers.size()));
            switch (random() % 8) {
                case 0:
                case 1:
                case 2:
                case 3:
                    tested.arm(*chosen, draw_deadline(random, now));
                    break;
                case 4:
                case 5:
                    tested.disarm(*chosen);
                    break;
                case 6:
                    now += static_cast<std::int64_t>(random() % 2000);
                    break;
                default:
                    now += static_cast<std::int64_t>(random() % (1ULL << (random() % 45)));
            }
            if (round % 3 == 0) {
                tested.advance(now);
            } else if (round % 7 == 0) {
                tested.check();
            }
            ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", round " << round;
        }
        tested.advance(INT64_MAX);
        ASSERT_TRUE(tested.wheel.empty());
    }
}

// The list of a slot has a mark on one of them: sanitizers see it used when that timer is gone.
TEST(TimerWheel, TimersOfAFullSlotMayBeDestroyed) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::mt19937_64 random(seed);
        model tested;
        std::list<probe> timers;
        std::int64_t now = 0;
        for (int round = 0; round < 2000; ++round) {
            tested.arm(timers.emplace_back(), now + static_cast<std::int64_t>(random() % 500'000));
            if (random() % 3 == 0) {
                // Often one of the latest, where the marks are.
                const auto back = static_cast<long>(random() % (random() % 2 == 0 ? 12 : 500));
                const auto gone =
                    std::prev(timers.end(), std::min(back + 1, static_cast<long>(timers.size())));
                tested.disarm(*gone);
                timers.erase(gone);
            }
            if (random() % 50 == 0) {
                now += static_cast<std::int64_t>(random() % 20'000);
                tested.advance(now);
            }
            ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", round " << round;
        }
        tested.advance(INT64_MAX);
        ASSERT_TRUE(tested.wheel.empty());
    }
}

TEST(TimerWheel, NegativeTimes) {
    // The clock may begin anywhere, so the position crosses zero.
    std::mt19937_64 random(7);
    model tested;
    std::list<probe> timers(200);
    std::int64_t now = -1'000'000;
    tested.advance(now);
    for (probe& each : timers) {
        tested.arm(each, now + static_cast<std::int64_t>(random() % 2'000'000));
    }
    for (; now < 1'100'000; now += 997) {
        tested.advance(now);
    }
    EXPECT_TRUE(tested.wheel.empty());
}

TEST(TimerWheel, TheEndsOfTime) {
    model tested;
    probe first, last, never;
    tested.arm(last, INT64_MAX - 1);
    tested.arm(first, INT64_MIN);
    tested.arm(never, INT64_MAX);
    tested.check();
    tested.advance(INT64_MIN);
    tested.check();
    tested.advance(INT64_MAX - 1);
    EXPECT_TRUE(never.is_armed());
    tested.disarm(never);
    EXPECT_TRUE(tested.wheel.empty());
    tested.arm(first, 5);  // long past, when the position is at the end
    tested.advance(INT64_MAX);
    EXPECT_TRUE(tested.wheel.empty());
}

TEST(TimerWheel, RearmsAndDisarmsTwice) {
    model tested;
    probe one;
    tested.disarm(one);
    tested.arm(one, 10);
    tested.arm(one, 20);
    EXPECT_EQ(tested.wheel.size(), 1u);
    tested.advance(15);
    EXPECT_TRUE(one.is_armed());
    tested.disarm(one);
    tested.disarm(one);
    tested.check();
}

}  // namespace
