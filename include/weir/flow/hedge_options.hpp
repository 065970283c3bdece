// SPDX-License-Identifier: MIT
// What can be said about hedging.
#pragma once

#include <weir/flow/hook.hpp>
#include <weir/flow/outcome_view.hpp>
#include <weir/flow/retry_budget.hpp>
#include <weir/flow/telemetry.hpp>

#include <cstdint>
#include <string_view>

namespace weir {

class hedge_policy;

struct hedge_options {
    using policy_type = hedge_policy;

    std::string_view name{};
    // A call that has taken so long is made once more.
    clock::duration delay = std::chrono::milliseconds(100);
    // Not 0: a call that takes longer than this share of the calls of late (0.95: one in twenty).
    // `delay` then serves until `min_samples` calls have been seen.
    double percentile = 0;
    unsigned min_samples = 50;
    clock::duration window = std::chrono::minutes(1);  // what 'of late' means
    clock::duration min_delay{};                       // the percentile is kept within these
    clock::duration max_delay = clock::duration::max();

    int max_hedges = 1;           // attempts beyond the first, each after another delay
    bool replace_failed = false;  // a failed attempt is followed by a hedge at once
    // How long the winner waits for the losers' clean-up. Zero: not at all.
    clock::duration loser_grace = std::chrono::seconds(1);
    // What counts as a success; by default any value.
    hook<bool(const outcome_view&)> accept_if{};
    retry_budget* budget = nullptr;  // must outlive the policy
    weir::observer* observer = nullptr;
};

struct hedge_stats {
    std::uint64_t calls = 0;
    std::uint64_t hedges = 0;      // attempts beyond the first
    std::uint64_t hedge_wins = 0;  // calls that one of these decided
    std::uint64_t failed = 0;      // calls of which all attempts failed
    std::uint64_t budget_refused = 0;
    std::uint64_t stragglers = 0;  // losers that run on now
};

namespace detail {
void check_hedge_options(const hedge_options& options);  // throws invalid_argument
}

}  // namespace weir
