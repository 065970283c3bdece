// SPDX-License-Identifier: MIT
// The budgets under random traffic, and naive ones that fail.

#include "flow/retry/naive_budget.hpp"
#include "flow/retry/support.hpp"

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

// A random trace of calls and retries; returns the violated rule, if any.
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

TEST(RetryBudgetDecision, TheRatioIsNeverExceededNorWithheld) {
    for (unsigned seed = 0; seed < 1000; ++seed) {
        const std::string wrong =
            ratio_violation<weir::decision::ratio_budget>(random_ratio(seed), seed);
        ASSERT_EQ(wrong, "") << "seed " << seed;
    }
}

TEST(RetryBudgetDecision, NaiveBudgetsAreFoundOut) {
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

TEST(RetryBudgetDecision, ATimeThatGoesBackMintsNothing) {
    weir::decision::ratio_budget budget({.ratio = 0, .reserve_per_second = 1, .window = 10s});
    clock::time_point now{100s};
    int granted = 0;
    for (int i = 0; i < 1000; ++i) {
        granted += budget.try_spend(now + (i % 2 == 0 ? 0s : -50s));
    }
    EXPECT_EQ(granted, 10);
}

TEST(RetryBudgetDecision, TokensAllowRetriesAboveHalf) {
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

}  // namespace
