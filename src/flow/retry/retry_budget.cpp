// SPDX-License-Identifier: MIT
// Passes events to the decision that needs them: the ratio counts beginnings, the tokens count
// endings, the share in flight counts both. Calls and extra attempts are counted by objects of the
// same lifetime, so a stop leaves the counts correct.

#include <weir/flow/retry_budget.hpp>

namespace weir {

retry_budget::call retry_budget::begin(clock::time_point now) noexcept {
    ++stats_.calls;
    ++stats_.calls_in_flight;
    if (auto* ratio = std::get_if<decision::ratio_budget>(&kind_)) {
        ratio->call_begins(now);
    } else if (auto* share = std::get_if<decision::in_flight_budget>(&kind_)) {
        share->call_begins();
    }
    return call(*this);
}

void retry_budget::call_ends() noexcept {
    --stats_.calls_in_flight;
    if (auto* share = std::get_if<decision::in_flight_budget>(&kind_)) {
        share->call_ends();
    }
}

retry_budget::extra retry_budget::try_spend(clock::time_point now) noexcept {
    bool allowed = false;
    if (auto* ratio = std::get_if<decision::ratio_budget>(&kind_)) {
        allowed = ratio->try_spend(now);
    } else if (auto* tokens = std::get_if<decision::token_budget>(&kind_)) {
        allowed = tokens->may_spend();
    } else if (auto* share = std::get_if<decision::in_flight_budget>(&kind_)) {
        allowed = share->try_spend();
    }
    if (!allowed) {
        ++stats_.refused;
        return {};
    }
    ++stats_.spent;
    ++stats_.extra_in_flight;
    return extra(*this);
}

void retry_budget::extra_ends() noexcept {
    --stats_.extra_in_flight;
    if (auto* share = std::get_if<decision::in_flight_budget>(&kind_)) {
        share->extra_ends();
    }
}

void retry_budget::succeeded() noexcept {
    if (auto* tokens = std::get_if<decision::token_budget>(&kind_)) {
        tokens->succeeded();
    }
}

void retry_budget::failed() noexcept {
    if (auto* tokens = std::get_if<decision::token_budget>(&kind_)) {
        tokens->failed();
    }
}

void retry_budget::write_metrics(metric_writer& to) const {
    to.counter("weir_retry_budget_calls_total", "Calls that count towards the budget",
               {{"name", name_}}, static_cast<double>(stats_.calls));
    to.counter("weir_retry_budget_spent_total", "Extra attempts within the budget",
               {{"name", name_}}, static_cast<double>(stats_.spent));
    to.counter("weir_retry_budget_refused_total", "Extra attempts refused by the budget",
               {{"name", name_}}, static_cast<double>(stats_.refused));
    to.gauge("weir_retry_budget_extra_in_flight", "Extra attempts in flight or delayed",
             {{"name", name_}}, static_cast<double>(stats_.extra_in_flight));
}

}  // namespace weir
