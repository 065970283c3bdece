// SPDX-License-Identifier: MIT
// The first policy of a host: its rate, and the time until which it must not be used.
#pragma once

#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/http/host_policies.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <optional>

namespace weir::http::detail {

// Admits requests to one host at its rate, unless its Retry-After runs or its circuit is open: a
// request that the breaker would refuse need not wait in line first.
class host_gate {
public:
    static constexpr policy_kind kind = policy_kind::rate_limiter;
    using pass = let_through;

    host_gate(const host_policies_options& options, circuit_breaker& breaker)
        : breaker_(breaker), max_wait_(options.max_wait) {
        if (options.rate != host_policies_options::unlimited) {
            rate_.emplace(token_bucket_options{.rate = options.rate,
                                               .burst = options.burst,
                                               .max_waiting = options.max_waiting,
                                               .max_wait = options.max_wait,
                                               .name = "host_policies"});
        }
    }

    void close_until(clock::time_point when) noexcept {
        closed_until_ = std::max(closed_until_, when);
    }
    clock::duration time_left(clock::time_point now) noexcept {
        return std::max({closed_until_ - now, breaker_.open_time_left(), clock::duration::zero()});
    }

    admission<pass> try_enter(call_context& call) noexcept {
        if (const clock::duration left = breaker_.open_time_left();
            left > clock::duration::zero()) {
            return refusal{refusal_reason::circuit_open, left};
        }
        if (closed_until_ > call.now()) {
            return refusal{refusal_reason::rate_limited, closed_until_ - call.now()};
        }
        return rate_ ? rate_->try_enter(call) : admission<pass>(pass{});
    }
    task<admission<pass>> enter(call_context& call) {
        for (;;) {
            admission<pass> in = try_enter(call);
            if (in || in.refusal().reason == refusal_reason::circuit_open) {
                co_return in;
            }
            const clock::duration left = closed_until_ - call.now();
            if (left > clock::duration::zero()) {
                if (left > max_wait_) {
                    co_return refusal{refusal_reason::wait_too_long, left};
                }
                if (closed_until_ >= current_deadline()) {
                    co_return refusal{refusal_reason::past_deadline, left};
                }
                co_await sleep(left);
                call.time_passed();
                continue;
            }
            in = co_await rate_->enter(call);
            // A Retry-After may have arrived meanwhile.
            if (!in || closed_until_ <= call.now()) {
                co_return in;
            }
        }
    }
    std::size_t waiting() const noexcept { return rate_ ? rate_->stats().waiting : 0; }

private:
    circuit_breaker& breaker_;
    clock::duration max_wait_;
    clock::time_point closed_until_{};
    std::optional<token_bucket> rate_;
};

}  // namespace weir::http::detail
