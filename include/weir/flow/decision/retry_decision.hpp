// SPDX-License-Identifier: MIT
// Whether to try again, and when: what is known of one call after each failed attempt.
#pragma once

#include <weir/flow/decision/backoff.hpp>

#include <algorithm>
#include <string_view>

namespace weir {

// Why there was no further attempt.
enum class retry_end : unsigned char {
    none,            // there is one
    succeeded,       // no need
    attempts,        // as many as are allowed have been made
    time,            // the next one would begin after the total time, or after a deadline around it
    budget,          // the budget has nothing left
    aborted,         // the outcome is not one to retry
    asked_too_much,  // the outcome asks for a longer wait than is allowed, or says never
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

    // After a failed attempt. `asked`: the least delay that the outcome asks for. An attempt that
    // could only begin when the deadline has come is not worth waiting for.
    verdict failed(clock::time_point now, clock::duration asked, clock::time_point deadline,
                   random_source& random) noexcept {
        ++failures_;
        if (failures_ >= max_attempts_) {
            return {.end = retry_end::attempts};
        }
        const clock::duration delay = std::max(backoff_.next(random), asked);
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
