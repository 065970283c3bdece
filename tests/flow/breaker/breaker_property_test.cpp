// SPDX-License-Identifier: MIT
// The decision of the breaker against a plain model: after any sequence of calls that begin, end
// and are stopped, of times that pass or jump back, and of things done by hand, both say the same.

#include "model.hpp"
#include "naive_breaker.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace flow_breaker {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using weir::circuit_breaker_options;
using weir::decision::breaker;

std::string in_words(const std::optional<weir::refusal>& answer) {
    return answer ? std::string(to_string(answer->reason)) + ", retry after " +
                        std::to_string(answer->retry_after.count()) + " ns"
                  : "let in";
}

// One random trace of the seed. Returns the first difference from the model, if any.
template <class Breaker>
std::optional<std::string> violation(Breaker& tried, const circuit_breaker_options& rules,
                                     unsigned seed, int steps = 200) {
    model expected(rules);
    std::mt19937 random(seed);
    const auto below = [&](unsigned end) { return random() % end; };
    std::vector<std::pair<int, breaker::token>> calls;
    time_point now(1s);
    const unsigned failing = 1 + below(9);  // of ten calls
    for (int step = 0; step < steps; ++step) {
        now += below(3) == 0 ? milliseconds(below(400)) : below(40) == 0 ? 2s : 0s;
        const time_point stamp = below(8) == 0 ? now - milliseconds(below(3000)) : now;
        const unsigned action = below(100);
        std::string what;
        if (action < 45) {
            what = "begin";
            weir::refusal why;
            const std::optional<int> number = expected.begin(stamp, why);
            auto let_in = tried.begin(stamp);
            std::optional<weir::refusal> wanted;
            std::optional<weir::refusal> got;
            if (!number) {
                wanted = why;
            }
            if (!let_in) {
                got = let_in.refusal();
            }
            if (wanted != got) {
                return "step " + std::to_string(step) + ": a call should be: " + in_words(wanted) +
                       ", is: " + in_words(got);
            }
            if (number) {
                calls.emplace_back(*number, let_in.pass());
            }
        } else if (action < 85 && !calls.empty()) {
            what = "end";
            const std::size_t which = below(static_cast<unsigned>(calls.size()));
            const auto [number, token] = calls[which];
            calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(which));
            const unsigned drawn = below(12);
            const bool ignored = drawn == 0;
            const bool failed = drawn <= failing;
            expected.end(number,
                         ignored  ? ending::ignored
                         : failed ? ending::failure
                                  : ending::success,
                         stamp);
            tried.end(token,
                      ignored  ? breaker::verdict::ignored
                      : failed ? breaker::verdict::failure
                               : breaker::verdict::success,
                      stamp);
        } else if (action < 93 && !calls.empty()) {
            what = "stop";
            const std::size_t which = below(static_cast<unsigned>(calls.size()));
            expected.stop(calls[which].first);
            tried.stop(calls[which].second);
            calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(which));
        } else if (action < 96) {
            what = "by hand";
            switch (below(5)) {
                case 0:
                    expected.isolate(stamp), tried.isolate(stamp);
                    break;
                case 1:
                    expected.disable(stamp), tried.disable(stamp);
                    break;
                case 2:
                    expected.trip(stamp), tried.trip(stamp);
                    break;
                case 3:
                    expected.close(stamp), tried.close(stamp);
                    break;
                default:
                    expected.reset(stamp), tried.reset(stamp);
            }
        }
        const circuit_state wanted = expected.state(stamp);
        const circuit_state got = tried.state(stamp);
        if (wanted != got) {
            return "step " + std::to_string(step) + " (" + what + "): should be " +
                   std::string(to_string(wanted)) + ", is " + std::string(to_string(got));
        }
    }
    return std::nullopt;
}

circuit_breaker_options random_rules(unsigned seed) {
    std::mt19937 random(seed * 31 + 7);
    const auto below = [&](unsigned end) { return random() % end; };
    circuit_breaker_options rules;
    if (below(2) == 0) {
        rules.consecutive_failures = 1 + below(6);
    }
    if (below(2) == 0) {
        rules.failure_rate = (1 + below(10)) / 10.0;
    }
    if (below(3) == 0) {
        rules.slow_rate = (1 + below(10)) / 10.0;
        rules.slow_after = milliseconds(1 + below(800));
    }
    if (below(2) == 0) {
        rules.window_time = milliseconds(1 + below(5000));
        rules.window_buckets = 1 + below(12);
    }
    rules.window_calls = 1 + below(20);
    rules.minimum_calls = 1 + below(rules.window_calls);
    if (below(3) == 0) {
        rules.stuck_calls = 1 + below(4);
        rules.stuck_after = milliseconds(1 + below(2000));
    }
    if (rules.consecutive_failures == 0 && rules.failure_rate == 0 && rules.slow_rate == 0 &&
        rules.stuck_calls == 0) {
        rules.consecutive_failures = 5;  // as the breaker has it
    }
    rules.open_for = milliseconds(1 + below(1500));
    rules.open_factor = 1 + below(3) * 0.5;
    rules.max_open_for = milliseconds(1 + below(6000));
    rules.trial_calls = 1 + below(5);
    rules.close_ratio = (1 + below(10)) / 10.0;
    rules.max_trial_time = milliseconds(1 + below(3000));
    rules.ramp = below(2) == 0 ? milliseconds(below(3000)) : 0ms;
    constexpr circuit_state initial[] = {circuit_state::closed,   circuit_state::closed,
                                         circuit_state::open,     circuit_state::half_open,
                                         circuit_state::isolated, circuit_state::disabled};
    rules.initial = initial[below(6)];
    return rules;
}

TEST(BreakerProperty, IsAlwaysInTheStateOfThePlainModel) {
    for (unsigned seed = 0; seed < 5000; ++seed) {
        const circuit_breaker_options rules = random_rules(seed);
        breaker tried(rules);
        const auto found = violation(tried, rules, seed);
        ASSERT_FALSE(found) << "seed " << seed << ": " << *found;
        const weir::circuit_breaker_stats stats = tried.stats();
        EXPECT_LE(stats.in_flight(), 200u);
    }
}

TEST(BreakerProperty, TheModelVisitsEveryState) {
    unsigned visits[6] = {};
    unsigned causes[9] = {};
    for (unsigned seed = 0; seed < 500; ++seed) {
        circuit_breaker_options rules = random_rules(seed);
        rules.on_change = [&visits, &causes](const weir::circuit_change& change) {
            ++visits[static_cast<int>(change.to)];
            ++causes[static_cast<int>(change.cause)];
        };
        breaker tried(rules);
        violation(tried, rules, seed);
    }
    for (const unsigned each : visits) {
        EXPECT_GT(each, 50u);
    }
    for (const unsigned each : causes) {
        EXPECT_GT(each, 10u);
    }
}

// ---- naive breakers

circuit_breaker_options simple_rules(unsigned seed) {
    return {.consecutive_failures = 1 + seed % 5,
            .open_for = 1s,
            .trial_calls = 1 + seed % 3,
            .max_trial_time = 1s};
}
// In any of the traces.
std::optional<std::string> violation_with(const mistakes& made) {
    for (unsigned seed = 0; seed < 1000; ++seed) {
        const circuit_breaker_options rules = simple_rules(seed);
        naive_breaker tried(rules, made);
        if (auto found = violation(tried, rules, seed)) {
            return found;
        }
    }
    return std::nullopt;
}

TEST(NaiveBreaker, WithoutItsMistakesTheNaiveBreakerIsRight) {
    const auto found = violation_with({});
    EXPECT_FALSE(found) << *found;
}
TEST(NaiveBreaker, HalfOpenLetsEverybodyTry) {
    EXPECT_TRUE(violation_with({.lets_everybody_try = true}));
}
TEST(NaiveBreaker, LateResultsAreCounted) {
    EXPECT_TRUE(violation_with({.counts_late_results = true}));
}
TEST(NaiveBreaker, AClockThatIsSetBack) {
    EXPECT_TRUE(violation_with({.believes_the_clock = true}));
}
TEST(NaiveBreaker, TrialSlotsLeak) {
    EXPECT_TRUE(violation_with({.leaks_the_trial_slot = true}));
}
TEST(NaiveBreaker, HungTrialsAreWaitedForForEver) {
    EXPECT_TRUE(violation_with({.waits_for_hung_trials = true}));
}
TEST(NaiveBreaker, StoppedCallsAreFailures) {
    EXPECT_TRUE(violation_with({.counts_stopped_calls = true}));
}

}  // namespace
}  // namespace flow_breaker
