// SPDX-License-Identifier: MIT
// The words of a refusal.

#include <weir/refusal.hpp>

#include <cstdio>
#include <string>

namespace weir {

std::string_view to_string(refusal_reason reason) noexcept {
    switch (reason) {
        case refusal_reason::rate_limited:
            return "the rate limit is reached";
        case refusal_reason::concurrency_limited:
            return "all places are taken";
        case refusal_reason::queue_full:
            return "too many wait already";
        case refusal_reason::wait_too_long:
            return "the wait would be too long";
        case refusal_reason::past_deadline:
            return "the wait would last past the deadline";
        case refusal_reason::circuit_open:
            return "the circuit is open";
        case refusal_reason::circuit_isolated:
            return "the circuit is isolated";
        case refusal_reason::circuit_on_trial:
            return "the circuit is on trial";
        case refusal_reason::displaced:
            return "displaced by another";
        case refusal_reason::too_many_keys:
            return "too many keys are in use";
        case refusal_reason::budget_exhausted:
            return "the budget is exhausted";
        case refusal_reason::shut_down:
            return "shut down";
        case refusal_reason::duplicate:
            return "the id is taken";
    }
    return "refused";
}

namespace {

std::string message(const refusal& why, std::string_view by) {
    std::string text;
    if (!by.empty()) {
        text.append(by).append(": ");
    }
    text.append(to_string(why.reason));
    if (why.retry_after > clock::duration::zero() && why.retry_after != refusal::never) {
        char seconds[64];
        std::snprintf(seconds, sizeof seconds, ", retry after %g s",
                      std::chrono::duration<double>(why.retry_after).count());
        text.append(seconds);
    }
    return text;
}

}  // namespace

refused::refused(refusal why, std::string_view by)
    : std::runtime_error(message(why, by)), why_(why) {}

}  // namespace weir
