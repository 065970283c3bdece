// SPDX-License-Identifier: MIT
// Budgets on random traces against plain sums, and around real retries; the latency histogram
// against sorting.

#include "naive_budget.hpp"
#include "support.hpp"

#include <weir/flow/decision/latency_histogram.hpp>
#include <weir/weir.hpp>

#include <algorithm>
#include <cmath>
#include <deque>

namespace {

using namespace retry_tests;
using weir::clock;

struct budget_event {
    clock::time_point at;
    bool is_call = false;
};

// Events of a kind after `from`, up to and including `to`.
double count_within(const std::deque<budget_event>& log, bool calls, clock::time_point from,
                    clock::time_point to) {
    double count = 0;
    for (const budget_event& each : log) {
        if (each.is_call == calls && each.at > from && each.at <= to) {
            ++count;
        }
    }
    return count;
}

// A random trace of calls and wishes to retry; says what the budget did wrong.
template <class Budget>
std::string ratio_violation(const weir::ratio_budget& options, unsigned seed) {
    Budget budget(options);
    std::mt19937 random(seed);
    std::deque<budget_event> log;
    clock::time_point now{1000s};
    const double reserve =
        options.reserve_per_second * std::chrono::duration<double>(options.window).count();
    const clock::duration inner = options.window * 9 / 10;  // whole slots alone
    for (int i = 0; i < 400; ++i) {
        if (random() % 3 == 0) {
            now += options.window * static_cast<int>(random() % 100) / 700;
        }
        if (random() % 50 == 0) {
            now += options.window * 3;
        }
        while (!log.empty() && log.front().at <= now - 2 * options.window) {
            log.pop_front();
        }
        if (random() % 2 == 0) {
            budget.call_begins(now);
            log.push_back({now, true});
            continue;
        }
        const double earned = options.ratio * count_within(log, true, now - inner, now);
        const double spent_at_most = count_within(log, false, now - options.window, now);
        const bool granted = budget.try_spend(now);
        if (granted) {
            log.push_back({now, false});
            const double spent = count_within(log, false, now - inner, now);
            const double most =
                options.ratio * count_within(log, true, now - options.window, now) + reserve;
            if (spent > most + 1e-3) {
                return "overspent: " + std::to_string(spent) + " of " + std::to_string(most);
            }
        } else if (earned + reserve - spent_at_most >= 1 + 1e-3) {
            return "refused though there was " + std::to_string(earned + reserve - spent_at_most);
        }
    }
    return "";
}

weir::ratio_budget random_ratio(unsigned seed) {
    std::mt19937 random(seed);
    return {.ratio = random() % 4 == 0 ? 0 : static_cast<double>(random() % 100) / 100,
            .reserve_per_second = random() % 3 == 0 ? 0 : static_cast<double>(random() % 30) / 10,
            .window = std::chrono::milliseconds(10 + random() % 5000)};
}

TEST(RetryBudget, TheRatioIsNeverExceededNorWithheld) {
    for (unsigned seed = 0; seed < 1000; ++seed) {
        const std::string wrong =
            ratio_violation<weir::decision::ratio_budget>(random_ratio(seed), seed);
        ASSERT_EQ(wrong, "") << "seed " << seed;
    }
}

TEST(RetryBudget, NaiveBudgetsAreFoundOut) {
    int overspent = 0;
    int hoarded = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        const weir::ratio_budget options = random_ratio(seed);
        overspent += !ratio_violation<naive_fixed_window>(options, seed).empty();
        hoarded += !ratio_violation<naive_hoarder>(options, seed).empty();
    }
    EXPECT_GT(overspent, 20);
    EXPECT_GT(hoarded, 20);
}

TEST(RetryBudget, ATimeThatGoesBackMintsNothing) {
    weir::decision::ratio_budget budget({.ratio = 0, .reserve_per_second = 1, .window = 10s});
    clock::time_point now{100s};
    int granted = 0;
    for (int i = 0; i < 1000; ++i) {
        granted += budget.try_spend(now + (i % 2 == 0 ? 0s : -50s));
    }
    EXPECT_EQ(granted, 10);
}

TEST(RetryBudget, TokensAllowRetriesAboveHalf) {
    weir::decision::token_budget budget({.tokens = 10, .per_success = 0.5});
    double plain = 10;
    std::mt19937 random(1);
    for (int i = 0; i < 10000; ++i) {
        if (random() % 3 == 0) {
            budget.failed();
            plain = std::max(0.0, plain - 1);
        } else {
            budget.succeeded();
            plain = std::min(10.0, plain + 0.5);
        }
        ASSERT_DOUBLE_EQ(budget.tokens(), plain);
        ASSERT_EQ(budget.may_spend(), plain > 5);
    }
}

// As many extra attempts as the share of the calls allows, or the minimum; random comings and
// goings.
TEST(RetryBudget, TheShareInFlightIsNeverExceeded) {
    for (unsigned seed = 0; seed < 500; ++seed) {
        std::mt19937 random(seed);
        const double share = static_cast<double>(random() % 60) / 100;
        const unsigned minimum = random() % 4;
        weir::retry_budget budget(weir::in_flight_budget{.share = share, .minimum = minimum});
        std::vector<weir::retry_budget::call> calls;
        std::vector<weir::retry_budget::extra> extras;
        for (int i = 0; i < 200; ++i) {
            switch (random() % 4) {
                case 0:
                    calls.push_back(budget.begin({}));
                    break;
                case 1:
                    if (!calls.empty() && random() % 2 == 0) {
                        calls.pop_back();
                    }
                    break;
                case 2:
                    if (!extras.empty()) {
                        extras.erase(extras.begin());
                    }
                    break;
                default: {
                    const auto most = std::max<std::size_t>(
                        minimum,
                        static_cast<std::size_t>(share * static_cast<double>(calls.size())));
                    auto extra = budget.try_spend({});
                    ASSERT_EQ(static_cast<bool>(extra), extras.size() < most);
                    if (extra) {
                        extras.push_back(std::move(extra));
                    }
                }
            }
            ASSERT_EQ(budget.stats().calls_in_flight, calls.size());
            ASSERT_EQ(budget.stats().extra_in_flight, extras.size());
        }
    }
}

// A dependency that is down gets little more than its ordinary traffic.
WEIR_TEST(RetryBudget, KeepsAStormOfRetriesSmall) {
    weir::testing::once_is_enough();
    const auto load_of = [](weir::retry_budget* budget) -> task<int> {
        weir::retry_policy policy({.max_attempts = 5,
                                   .backoff = {.initial = 100ms, .maximum = 1s},
                                   .budget = budget,
                                   .seed = 1});
        int attempts = 0;
        auto call = [&]() -> task<> {
            const outcome<> ended = co_await policy.settle([&] {
                ++attempts;
                throw flaky_error();
            });
            EXPECT_TRUE(ended.has_error());
        };
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            for (int i = 0; i < 1000; ++i) {
                group.spawn(call);
                co_await weir::sleep(10ms);
            }
        });
        co_return attempts;
    };
    const int without = co_await load_of(nullptr);
    EXPECT_EQ(without, 5000);
    weir::retry_budget by_ratio({.ratio = 0.1, .reserve_per_second = 1});
    const int with_ratio = co_await load_of(&by_ratio);
    EXPECT_GT(with_ratio, 1050);
    EXPECT_LE(with_ratio, 1000 * 1.1 + 30);
    weir::retry_budget by_tokens({.tokens = 100, .per_success = 0.1});
    const int with_tokens = co_await load_of(&by_tokens);
    EXPECT_LE(with_tokens, 1050);
    weir::retry_budget by_share(weir::in_flight_budget{});
    const int with_share = co_await load_of(&by_share);
    EXPECT_LE(with_share, 2000);
    for (const auto* each : {&by_ratio, &by_tokens, &by_share}) {
        EXPECT_EQ(each->stats().calls, 1000u);
        EXPECT_EQ(each->stats().calls_in_flight + each->stats().extra_in_flight, 0u);
        EXPECT_GT(each->stats().refused, 0u);
    }
}

// A retry that has ended makes room for the next one of the same call.
WEIR_TEST(RetryBudget, ACallHasOneRetryInFlightAtMost) {
    weir::retry_budget budget({.share = 0, .minimum = 1});
    weir::retry_policy policy({.max_attempts = 5, .backoff = doubling, .budget = &budget});
    flaky work(100);
    WEIR_EXPECT_THROW(policy.run(work), flaky_error);
    EXPECT_EQ(work.calls, 5);
    EXPECT_EQ(budget.stats().spent, 4u);
}

TEST(RetryBudget, BadOptionsAreNamed) {
    EXPECT_THROW(weir::retry_budget({.ratio = -1}), weir::invalid_argument);
    EXPECT_THROW(weir::retry_budget({.ratio = std::nan("")}), weir::invalid_argument);
    EXPECT_THROW(weir::retry_budget({.reserve_per_second = INFINITY}), weir::invalid_argument);
    EXPECT_THROW(weir::retry_budget({.window = 0s}), weir::invalid_argument);
    EXPECT_THROW(weir::retry_budget({.window = clock::duration::max()}), weir::invalid_argument);
    EXPECT_THROW(weir::retry_budget({.tokens = 0}), weir::invalid_argument);
    EXPECT_THROW(weir::retry_budget({.per_success = -1}), weir::invalid_argument);
    EXPECT_THROW(weir::retry_budget({.share = -0.1}), weir::invalid_argument);
}

// ---- the histogram
// -------------------------------------------------------------------------------

TEST(LatencyHistogram, PercentilesAreExactToAnEighth) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937_64 random(seed);
        weir::decision::latency_histogram histogram;
        std::vector<clock::duration> all;
        for (std::size_t i = 0; i < 1 + seed * 5; ++i) {
            const auto magnitude = random() % 42;
            all.emplace_back(static_cast<std::int64_t>(random() % (std::uint64_t{1} << magnitude)));
            histogram.record(all.back());
        }
        std::sort(all.begin(), all.end());
        for (const double share : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
            const auto rank = static_cast<std::size_t>(
                std::max(1.0, std::ceil(share * static_cast<double>(all.size()))));
            const clock::duration exact = all[rank - 1];
            const clock::duration found = histogram.percentile(share);
            ASSERT_GE(found, exact) << share;
            ASSERT_LE(found, exact + exact / 8 + 2us) << share;
        }
    }
}

TEST(LatencyHistogram, HoldsWhateverItIsGiven) {
    using weir::decision::latency_histogram;
    EXPECT_EQ(latency_histogram().percentile(0.5), 0s);
    EXPECT_EQ(latency_histogram::bucket_of(-5s), 0u);
    EXPECT_EQ(latency_histogram::bucket_of(clock::duration::max()), latency_histogram::buckets - 1);
    for (std::size_t bucket = 1; bucket < latency_histogram::buckets; ++bucket) {
        ASSERT_GT(latency_histogram::end_of(bucket), latency_histogram::end_of(bucket - 1));
        ASSERT_EQ(latency_histogram::bucket_of(latency_histogram::end_of(bucket) - 1ns), bucket);
    }
}

TEST(LatencyHistogram, ForgetsWhatIsLongAgo) {
    weir::decision::recent_latencies recent(1min);
    clock::time_point now{0s};
    for (int i = 0; i < 100; ++i) {
        recent.record(now, 1s);
    }
    now += 1min;
    for (int i = 0; i < 100; ++i) {
        recent.record(now, 10ms);
    }
    EXPECT_EQ(recent.count(now), 200u);
    EXPECT_GE(recent.percentile(now, 0.9), 1s);
    now += 1min;
    EXPECT_EQ(recent.count(now), 100u);
    EXPECT_LE(recent.percentile(now, 0.9), 12ms);
    now += 10min;
    EXPECT_EQ(recent.count(now), 0u);
}

}  // namespace
