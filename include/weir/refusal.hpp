// SPDX-License-Identifier: MIT
// refusal: why something was not let through, and when to ask again. A value first, since refusing
// must be cheap where there is too much work already; weir::refused is the same as an exception.
#pragma once

#include <weir/clock.hpp>

#include <stdexcept>
#include <string_view>

namespace weir {

enum class refusal_reason : unsigned char {
    rate_limited,         // a rate limiter: not now
    concurrency_limited,  // a bulkhead, an adaptive limit, a pool: all places are taken
    queue_full,           // too many wait already
    wait_too_long,        // the wait would be longer than the component allows
    past_deadline,        // the wait would last past the deadline around the caller (timeout.hpp)
    circuit_open,         // a circuit breaker: the dependency is failing
    circuit_isolated,     // a circuit breaker that was opened by hand
    circuit_on_trial,     // a circuit breaker: as many trial calls run as are permitted
    displaced,            // had to make room for a newer or more important one
    too_many_keys,        // something with a place for each key: all are taken by keys that matter
    budget_exhausted,     // no retry or hedge is left in the budget
    shut_down,            // nothing is accepted any more
    duplicate,            // there is one with this id already
};
std::string_view to_string(refusal_reason reason) noexcept;

struct refusal {
    // A retry never helps.
    static constexpr clock::duration never = clock::duration::max();

    refusal_reason reason = refusal_reason::rate_limited;
    // A retry before this time has passed will fail. Zero: unknown.
    clock::duration retry_after{};

    friend bool operator==(const refusal&, const refusal&) = default;
};

namespace detail {
// A copy, member by member. One in a single block would have to wait until the members, which were
// written one by one just before, have reached the cache: some 5 ns each time it is handed on.
inline refusal copy_of(const refusal& why) noexcept {
    return {.reason = why.reason, .retry_after = why.retry_after};
}
}  // namespace detail

// The message names the component that refused, if it is given: 'payments: the circuit is open,
// retry after 2.5 s'.
class refused : public std::runtime_error {
public:
    explicit refused(refusal why, std::string_view by = {});
    const refusal& why() const noexcept { return why_; }
    refusal_reason reason() const noexcept { return why_.reason; }
    clock::duration retry_after() const noexcept { return why_.retry_after; }

private:
    refusal why_;
};

}  // namespace weir
