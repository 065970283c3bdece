// SPDX-License-Identifier: MIT
// Whether and when a failed attempt is followed by another.
#pragma once

#include <weir/flow/decision/backoff.hpp>

#include <algorithm>
#include <string_view>

namespace weir {

// Why there was no further attempt.
enum class retry_end : unsigned char {
    none,            // another attempt follows
    succeeded,       // the last attempt succeeded
    attempts,        // max_attempts have been made
    time,            // the next would begin after the total time or an enclosing deadline
    budget,          // the budget is exhausted
    aborted,         // the outcome is not retried
    asked_too_much,  // the outcome requests a longer delay than allowed, or 'never'
    cancelled,       // cancellation is never retried
    switched_off,    // by retry_override
};
std::string_view to_string(retry_end why) noexcept;

namespace decision {

class retry {
public:
    struct verdict {
        retry_end end = retry_end::none;
        clock::duration delay{};
        bool again() const noexcept { return end == retry_end::none; }
    };

    // The options must outlive it.
    retry(int max_attempts, const backoff_options& delays) noexcept
        : backoff_(delays), max_attempts_(max_attempts) {}

    // After a failed attempt. `requested`: the least delay that the outcome requests. There is no
    // attempt that could only begin at the deadline or later.
    verdict failed(clock::time_point now, clock::duration requested, clock::time_point deadline,
                   random_source& random) noexcept {
        ++failures_;
        if (failures_ >= max_attempts_) {
            return {.end = retry_end::attempts};
        }
        const clock::duration delay = std::max(backoff_.next(random), requested);
        if (deadline != clock::time_point::max() && detail::after(now, delay) >= deadline) {
            return {.end = retry_end::time};
        }
        return {.delay = delay};
    }
    int failures() const noexcept { return failures_; }

private:
    backoff backoff_;
    int max_attempts_;
    int failures_ = 0;
};

}  // namespace decision
}  // namespace weir
