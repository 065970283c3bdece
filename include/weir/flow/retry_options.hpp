// SPDX-License-Identifier: MIT
// What can be said about retrying.
#pragma once

#include <weir/flow/decision/retry.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/outcome_view.hpp>
#include <weir/flow/retry_budget.hpp>
#include <weir/flow/telemetry.hpp>

#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace weir {

class retry_policy;

// What hooks are told.
struct retry_event {
    std::string_view name;            // of the policy
    int attempt = 0;                  // the one that has ended, from 1
    clock::duration delay{};          // until the next one, if there is one
    retry_end end = retry_end::none;  // why there is none
    const outcome_view& outcome;      // of that attempt
};

enum class when_exhausted : unsigned char {
    last_failure,  // the last error, refusal or unwanted value, as it is
    throws,        // retries_exhausted, with the last error nested in it
};

struct retry_options {
    using policy_type = retry_policy;
    static constexpr int unlimited = std::numeric_limits<int>::max();

    std::string_view name{};
    // The first one counts: 1 is no retry at all.
    int max_attempts = 3;
    // For all attempts and delays together. An attempt that is running then is stopped and counts
    // as timed_out; a delay that would last until then is not begun.
    clock::duration total_time = clock::duration::max();
    backoff_options backoff{};

    // Which outcomes are tried again. By default: errors and refusals, except refusals that time
    // does not heal (shut down, isolated by hand, a budget, 'never'). It may name values, too.
    // Cancellation never is, and is not even asked about.
    hook<bool(const outcome_view&)> retry_if{};
    // Which ones never are, whatever retry_if says.
    hook<bool(const outcome_view&)> abort_if{};
    // The least delay that an outcome asks for, such as Retry-After; nothing: none. What a refusal
    // asks for is known without it. May be longer than the backoff's maximum.
    hook<std::optional<clock::duration>(const outcome_view&)> delay_from{};
    // Give up when an outcome asks for more.
    clock::duration max_asked_delay = clock::duration::max();

    when_exhausted exhausted = when_exhausted::last_failure;
    retry_budget* budget = nullptr;  // must outlive the policy

    // Called in the middle of things: they must not throw.
    hook<void(const retry_event&)> on_retry{};      // before each delay
    hook<void(const retry_event&)> on_aborted{};    // not an outcome to retry
    hook<void(const retry_event&)> on_exhausted{};  // no attempt, time or budget left
    weir::observer* observer = nullptr;
    // Of the jitter; 0: a different one each time, but always the same in simulated time.
    std::uint64_t seed = 0;
};

// Nested in it (std::rethrow_if_nested): the error of the last attempt, if it had one.
class retries_exhausted : public std::runtime_error, public std::nested_exception {
public:
    // Made where the last error is being handled, or where there is none.
    retries_exhausted(int attempts, retry_end why, std::string_view name);
    int attempts() const noexcept { return attempts_; }
    retry_end why() const noexcept { return why_; }

private:
    int attempts_;
    retry_end why_;
};

// For tests: as long as one lives, no retry policy of the process waits between attempts, or none
// tries again. They nest.
enum class retry_mode : unsigned char { normal, without_waiting, off };
class [[nodiscard]] retry_override {
public:
    explicit retry_override(retry_mode mode) noexcept;
    retry_override(const retry_override&) = delete;
    retry_override& operator=(const retry_override&) = delete;
    ~retry_override();

private:
    retry_mode former_;
};

struct retry_stats {
    std::uint64_t calls = 0;
    std::uint64_t retries = 0;             // attempts after the first
    std::uint64_t succeeded_on_retry = 0;  // calls saved
    std::uint64_t exhausted = 0;           // calls given up: attempts, time, or asked for too much
    std::uint64_t budget_exhausted = 0;    // calls given up: budget
    std::uint64_t aborted = 0;             // calls that ended with something not to retry
    std::uint64_t cancelled = 0;  // calls ended by a cancellation, whatever they made of it
    std::uint64_t waiting = 0;    // calls between two attempts now
};

}  // namespace weir
