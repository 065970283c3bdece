// SPDX-License-Identifier: MIT
// Each rule of the decision, by example: when it opens, how long, and how it closes again.

#include "flow/breaker/support.hpp"

namespace flow_breaker {
namespace {

using weir::decision::breaker;
using verdict = breaker::verdict;
using time_point = weir::clock::time_point;

const time_point start(1000s);

void call(breaker& on, verdict result, time_point begin, weir::clock::duration takes = 0s) {
    auto let_in = on.begin(begin);
    ASSERT_TRUE(let_in);
    on.end(let_in.pass(), result, begin + takes);
}
void calls(breaker& on, const char* endings, time_point at) {
    for (; *endings != '\0'; ++endings) {
        call(on, *endings == '+' ? verdict::success : verdict::failure, at);
    }
}

TEST(Breaker, AWindowOfTimeMayWantMoreCallsThanAWindowOfCallsHas) {
    breaker tried({.failure_rate = 0.5, .window_time = 10s, .minimum_calls = 1000});
    EXPECT_EQ(tried.state(start), circuit_state::closed);
    EXPECT_THROW(breaker({.failure_rate = 0.5, .window_calls = 10, .minimum_calls = 11}),
                 weir::invalid_argument);
}

TEST(Breaker, RefusesNegativeTimes) {
    EXPECT_THROW(breaker({.consecutive_failures = 3, .slow_after = -1s}), weir::invalid_argument);
    EXPECT_THROW(breaker({.consecutive_failures = 3, .window_time = -1s}), weir::invalid_argument);
    EXPECT_THROW(breaker({.consecutive_failures = 3, .stuck_after = -1s}), weir::invalid_argument);
    EXPECT_THROW(breaker({.consecutive_failures = 3, .ramp = -1s}), weir::invalid_argument);
}

TEST(Breaker, FailuresInARow) {
    breaker tried({.consecutive_failures = 3});
    calls(tried, "--+--", start);
    EXPECT_EQ(tried.state(start), circuit_state::closed);
    calls(tried, "-", start);
    EXPECT_EQ(tried.state(start), circuit_state::open);
}

TEST(Breaker, WithoutAnyRuleFiveInARow) {
    breaker tried(circuit_breaker_options{});
    calls(tried, "----", start);
    EXPECT_EQ(tried.state(start), circuit_state::closed);
    calls(tried, "-", start);
    EXPECT_EQ(tried.state(start), circuit_state::open);
}

TEST(Breaker, ShareOfTheLastCalls) {
    breaker tried({.failure_rate = 0.5, .window_calls = 10, .minimum_calls = 4});
    calls(tried, "---", start);
    EXPECT_EQ(tried.state(start), circuit_state::closed);  // too few to tell
    calls(tried, "+++++++++", start);
    EXPECT_EQ(tried.stats().window_calls, 10u);
    EXPECT_EQ(tried.stats().window_failures, 1u);  // the others have gone
    calls(tried, "---", start);
    EXPECT_EQ(tried.stats().window_failures, 3u);
    calls(tried, "--", start);
    EXPECT_EQ(tried.state(start), circuit_state::open);
}

TEST(Breaker, ASuccessNeverOpensIt) {
    breaker tried({.failure_rate = 0.5, .window_calls = 10, .minimum_calls = 4});
    calls(tried, "---+", start);
    EXPECT_EQ(tried.state(start), circuit_state::closed);
    calls(tried, "-", start);
    EXPECT_EQ(tried.state(start), circuit_state::open);
}

TEST(Breaker, ShareOfTheCallsOfATime) {
    breaker tried(
        {.failure_rate = 0.5, .window_time = 10s, .window_buckets = 10, .minimum_calls = 4});
    calls(tried, "---", start);
    calls(tried, "+++", start + 10s);  // the failures are too old by then
    EXPECT_EQ(tried.stats().window_calls, 3u);
    calls(tried, "-", start + 10s);
    EXPECT_EQ(tried.state(start + 10s), circuit_state::closed);
    calls(tried, "--", start + 12s);
    EXPECT_EQ(tried.state(start + 12s), circuit_state::open);
}

TEST(Breaker, SlowCalls) {
    breaker tried({.slow_rate = 0.5, .slow_after = 1s, .window_calls = 4, .minimum_calls = 4});
    call(tried, verdict::success, start, 999ms);
    call(tried, verdict::success, start + 1s, 1s);
    call(tried, verdict::success, start + 2s, 10ms);
    EXPECT_EQ(tried.stats().slow, 1u);
    EXPECT_EQ(tried.state(start + 3s), circuit_state::closed);
    call(tried, verdict::success, start + 3s, 2s);
    EXPECT_EQ(tried.state(start + 5s), circuit_state::open);
    // A slow trial has not succeeded.
    call(tried, verdict::success, start + 60s, 2s);
    EXPECT_EQ(tried.state(start + 62s), circuit_state::open);
    call(tried, verdict::success, start + 100s, 10ms);
    EXPECT_EQ(tried.state(start + 101s), circuit_state::closed);
}

TEST(Breaker, CallsStuckInFlight) {
    breaker tried({.stuck_calls = 3, .stuck_after = 10s});
    std::vector<breaker::token> hung;
    for (int i = 0; i < 4; ++i) {
        hung.push_back(tried.begin(start + i * 1s).pass());
    }
    tried.stop(hung[1]);
    EXPECT_EQ(tried.state(start + 12s), circuit_state::closed);  // two have been for long
    EXPECT_TRUE(tried.begin(start + 12999ms));
    EXPECT_FALSE(tried.begin(start + 13s));
    EXPECT_EQ(tried.state(start + 13s), circuit_state::open);
    for (const int each : {0, 2, 3}) {
        tried.end(hung[static_cast<std::size_t>(each)], verdict::success, start + 14s);
    }
    EXPECT_EQ(tried.state(start + 14s), circuit_state::open);
    EXPECT_EQ(tried.stats().late, 3u);
    // Calls that still hang from the last period do not count against it.
    call(tried, verdict::success, start + 43s);
    EXPECT_EQ(tried.state(start + 80s), circuit_state::closed);
}

TEST(Breaker, RefusalsSayWhenToAskAgain) {
    breaker tried({.consecutive_failures = 1, .open_for = 30s});
    calls(tried, "-", start);
    auto refused = tried.begin(start + 10s);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.refusal(), (weir::refusal{refusal_reason::circuit_open, 20s}));
    EXPECT_EQ(tried.open_time_left(start + 29s), 1s);
    EXPECT_TRUE(tried.begin(start + 30s));
    EXPECT_EQ(tried.open_time_left(start + 30s), 0s);
}

TEST(Breaker, OpenTimesGrowUpToAMaximum) {
    breaker tried(
        {.consecutive_failures = 1, .open_for = 1s, .open_factor = 2, .max_open_for = 5s});
    time_point now = start;
    for (const auto expected : {1s, 2s, 4s, 5s, 5s}) {
        calls(tried, "-", now);
        EXPECT_EQ(tried.open_time_left(now), expected);
        now += expected;
    }
    calls(tried, "+-", now);  // closed once: from the beginning
    EXPECT_EQ(tried.open_time_left(now), 1s);
}

TEST(Breaker, OpenTimesDoNotOverflow) {
    breaker tried({.consecutive_failures = 1, .open_for = 1s, .open_factor = 1e300});
    time_point now = start;
    for (int i = 0; i < 20; ++i) {
        calls(tried, "-", now);
        EXPECT_EQ(tried.open_time_left(now), i == 0 ? 1s : 10min);
        now += 10min;
    }
}

TEST(Breaker, OpenTimesOfOnesOwn) {
    breaker tried({.consecutive_failures = 1,
                   .open_for = 1s,
                   .max_open_for = 30s,
                   .open_time = [](unsigned openings, weir::clock::duration usual) {
                       return openings < 3 ? usual + openings * 100ms : 1h;
                   }});
    calls(tried, "-", start);
    EXPECT_EQ(tried.open_time_left(start), 1100ms);
    calls(tried, "-", start + 2s);
    EXPECT_EQ(tried.open_time_left(start + 2s), 1200ms);
    calls(tried, "-", start + 4s);
    EXPECT_EQ(tried.open_time_left(start + 4s), 30s);  // never beyond the maximum
}

TEST(Breaker, AShareOfTheTrialsMustSucceed) {
    breaker tried(
        {.consecutive_failures = 1, .open_for = 1s, .trial_calls = 4, .close_ratio = 0.75});
    calls(tried, "-", start);
    calls(tried, "+-+", start + 1s);
    EXPECT_EQ(tried.state(start + 1s), circuit_state::half_open);
    calls(tried, "+", start + 1s);
    EXPECT_EQ(tried.state(start + 1s), circuit_state::closed);
    calls(tried, "-", start + 2s);
    calls(tried, "-+-", start + 3s);
    EXPECT_EQ(tried.state(start + 3s), circuit_state::open);  // 3 of 4 cannot be any more
}

TEST(Breaker, ReadmissionIsGradual) {
    breaker tried({.consecutive_failures = 2, .open_for = 1s, .ramp = 100s});
    calls(tried, "--", start);
    calls(tried, "+", start + 1s);
    EXPECT_EQ(tried.state(start + 1s), circuit_state::recovering);
    const auto admitted_of_hundred = [&](weir::clock::duration into) {
        int count = 0;
        for (int i = 0; i < 100; ++i) {
            auto let_in = tried.begin(start + 1s + into);
            if (let_in) {
                tried.end(let_in.pass(), verdict::success, start + 1s + into);
                ++count;
            }
        }
        return count;
    };
    EXPECT_EQ(admitted_of_hundred(0s), 0);
    EXPECT_EQ(admitted_of_hundred(10s), 10);
    EXPECT_EQ(admitted_of_hundred(50s), 50);
    EXPECT_EQ(admitted_of_hundred(75s), 75);
    EXPECT_EQ(tried.state(start + 100s), circuit_state::recovering);
    EXPECT_EQ(admitted_of_hundred(100s), 100);
    EXPECT_EQ(tried.state(start + 101s), circuit_state::closed);
}

TEST(Breaker, FailuresDuringTheRampOpenItAgainForLonger) {
    breaker tried({.consecutive_failures = 1, .open_for = 1s, .open_factor = 3, .ramp = 10s});
    calls(tried, "-", start);
    calls(tried, "+", start + 1s);
    EXPECT_FALSE(tried.begin(start + 6s));  // every second
    calls(tried, "-", start + 6s);
    EXPECT_EQ(tried.state(start + 6s), circuit_state::open);
    EXPECT_EQ(tried.open_time_left(start + 6s), 3s);
}

TEST(Breaker, OldTimeStampsDoNoHarm) {
    breaker tried({.consecutive_failures = 1, .open_for = 30s});
    calls(tried, "-", start);
    EXPECT_FALSE(tried.begin(start - 500s));
    EXPECT_FALSE(tried.begin(time_point::min()));
    EXPECT_EQ(tried.open_time_left(time_point::min()), 30s);
    EXPECT_TRUE(tried.begin(start + 30s));
    EXPECT_EQ(tried.state(start), circuit_state::half_open);
}

TEST(Breaker, InitialStates) {
    breaker open({.open_for = 30s, .initial = circuit_state::open});
    EXPECT_FALSE(open.begin(start));
    EXPECT_EQ(open.open_time_left(start), 30s);  // from the first time it sees
    EXPECT_TRUE(open.begin(start + 30s));

    breaker half_open({.initial = circuit_state::half_open});
    EXPECT_TRUE(half_open.begin(start));
    EXPECT_FALSE(half_open.begin(start));

    breaker isolated({.initial = circuit_state::isolated});
    EXPECT_EQ(isolated.begin(start).refusal().reason, refusal_reason::circuit_isolated);
    EXPECT_FALSE(isolated.begin(start + 1000h));

    breaker disabled({.consecutive_failures = 1, .initial = circuit_state::disabled});
    calls(disabled, "-----", start);
    EXPECT_EQ(disabled.state(start), circuit_state::disabled);
    disabled.close(start);
    calls(disabled, "-", start);
    EXPECT_EQ(disabled.state(start), circuit_state::open);
}

TEST(Breaker, CountsEveryCallOnce) {
    breaker tried({.consecutive_failures = 3});
    calls(tried, "+-+", start);
    call(tried, verdict::ignored, start);
    tried.stop(tried.begin(start).pass());
    const auto late = tried.begin(start).pass();
    tried.isolate(start);
    (void)tried.begin(start);
    tried.end(late, verdict::success, start);
    const weir::circuit_breaker_stats stats = tried.stats();
    EXPECT_EQ(stats.admitted, 6u);
    EXPECT_EQ(stats.succeeded, 2u);
    EXPECT_EQ(stats.failed, 1u);
    EXPECT_EQ(stats.ignored, 1u);
    EXPECT_EQ(stats.stopped, 1u);
    EXPECT_EQ(stats.late, 1u);
    EXPECT_EQ(stats.refused, 1u);
    EXPECT_EQ(stats.in_flight(), 0u);
}

TEST(Breaker, CountsOpeningsUntilItCloses) {
    breaker tried({.consecutive_failures = 1, .open_for = 10s, .open_factor = 2});
    EXPECT_EQ(tried.stats().openings_in_a_row, 0u);
    calls(tried, "-", start);
    EXPECT_EQ(tried.stats().openings_in_a_row, 1u);
    call(tried, verdict::failure, start + 10s);
    EXPECT_EQ(tried.stats().openings_in_a_row, 2u);
    EXPECT_EQ(tried.open_time_left(start + 10s), 20s);
    call(tried, verdict::success, start + 30s);
    EXPECT_EQ(tried.state(start + 30s), circuit_state::closed);
    EXPECT_EQ(tried.stats().openings_in_a_row, 0u);
    EXPECT_EQ(tried.stats().openings, 2u);
    calls(tried, "-", start + 30s);
    EXPECT_EQ(tried.open_time_left(start + 30s), 10s);  // as the first time
}

TEST(Breaker, CountsSlowCallsInTheWindow) {
    breaker tried({.slow_rate = 1, .slow_after = 1s, .window_calls = 4, .minimum_calls = 4});
    call(tried, verdict::success, start, 999ms);
    call(tried, verdict::success, start + 1s, 1s);
    call(tried, verdict::failure, start + 2s, 2s);
    EXPECT_EQ(tried.stats().window_slow, 2u);
    EXPECT_EQ(tried.stats().window_failures, 1u);
    EXPECT_EQ(tried.stats().slow, 2u);
    calls(tried, "++", start + 4s);  // the second one replaces the first of all
    EXPECT_EQ(tried.stats().window_calls, 4u);
    EXPECT_EQ(tried.stats().window_slow, 2u);
    calls(tried, "++++", start + 4s);
    EXPECT_EQ(tried.stats().window_slow, 0u);
    EXPECT_EQ(tried.stats().window_failures, 0u);
}

// Options at the end of what a duration can hold.
TEST(Breaker, TimesWithoutEnd) {
    constexpr auto endless = weir::clock::duration::max();
    breaker tried({.consecutive_failures = 100,
                   .failure_rate = 1,
                   .slow_rate = 1,
                   .slow_after = endless,
                   .window_time = endless,
                   .window_buckets = 3,
                   .minimum_calls = 3,
                   .stuck_calls = 1,
                   .stuck_after = endless,
                   .open_for = endless,
                   .max_open_for = endless,
                   .max_trial_time = endless});
    call(tried, verdict::failure, start);
    call(tried, verdict::failure, start + 24h * 365);
    EXPECT_EQ(tried.state(start + 24h * 365), circuit_state::closed);
    call(tried, verdict::failure, start + 24h * 365 * 2);
    EXPECT_EQ(tried.state(start + 24h * 365 * 2), circuit_state::open);
    EXPECT_EQ(tried.stats().openings, 1u);
    EXPECT_FALSE(tried.begin(start + 24h * 365 * 100));
}

}  // namespace
}  // namespace flow_breaker
