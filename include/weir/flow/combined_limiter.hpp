// SPDX-License-Identifier: MIT
// combined_limiter: admits a request if all of several limiters do; takes from all or from none.
//
//     weir::token_bucket second({.rate = 10, .burst = 10});
//     weir::token_bucket minute({.rate = 100, .per = 1min, .burst = 100});
//     weir::combined_limiter both(second, minute, per_tenant.for_key("acme"));
//     co_await both.acquire();
//
// Parts are limiters (which must outlive it), keyed limiters with a fixed key, and other combined
// limiters; parts may have other users. A waiter takes tokens from the parts only when all can
// grant them, so a waiter blocks no part for others, and a cancelled wait has nothing to give back.
// Waiters are served in the order of arrival, and only the first uses a timer. Waiters in the line
// of a part go before waiters here. Belongs to one loop. If it is destroyed while fibers wait, they
// throw invalid_state.
#pragma once

#include <weir/flow/admission.hpp>
#include <weir/flow/limiter.hpp>
#include <weir/flow/policy.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/sync/event.hpp>
#include <weir/sync/mutex.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

namespace weir {

struct combined_limiter_options {
    std::size_t max_waiting = 65536;
    clock::duration max_wait = clock::duration::max();
    std::string_view name = "combined_limiter";
};

struct combined_limiter_stats {
    std::uint64_t granted = 0;
    std::uint64_t waited = 0;   // of these, granted after a wait
    std::uint64_t refused = 0;  // requests refused
    std::size_t waiting = 0;
};

template <class Part>
concept limiter_part = requires(Part& part, double weight) {
    { part.retry_after(weight) } -> std::same_as<clock::duration>;
    { part.try_acquire(weight) } -> std::same_as<admission<let_through>>;
};

namespace detail {

void check_combined_options(const combined_limiter_options& options);
void write_combined_metrics(metric_writer& to, std::string_view name,
                            const combined_limiter_stats& stats);
void check_weight(std::string_view name, double weight);

// Undoes a try_acquire() of the same time.
template <class Part>
void undo(Part& part, double weight, clock::time_point at) noexcept {
    if constexpr (requires { part.give_back_at(at, weight); }) {
        part.give_back_at(at, weight);
    } else {
        part.decision().give_back(at, weight, at);
    }
}

// Shared with the waiters, so that it outlives the limiter.
struct combined_line {
    mutex turn;  // held by the first waiter
    event gone;  // set when the limiter is destroyed
    std::size_t waiting = 0;

    void check() const {
        if (gone.is_set()) {
            throw_wait_error(wait_state::orphaned, "combined_limiter");
        }
    }
};

// Counts a waiter during its lifetime.
class [[nodiscard]] place_in_line {
public:
    explicit place_in_line(std::size_t& count) noexcept : count_(count) { ++count_; }
    place_in_line(const place_in_line&) = delete;
    place_in_line& operator=(const place_in_line&) = delete;
    ~place_in_line() { --count_; }

private:
    std::size_t& count_;
};

}  // namespace detail

// Parts passed as lvalues are stored as references, others by value.
template <class... Parts>
    requires(sizeof...(Parts) > 0 && (limiter_part<std::remove_reference_t<Parts>> && ...))
class combined_limiter {
public:
    static constexpr policy_kind kind = policy_kind::rate_limiter;
    using pass = let_through;

    explicit combined_limiter(Parts... parts)
        : combined_limiter(combined_limiter_options{}, std::forward<Parts>(parts)...) {}
    explicit combined_limiter(const combined_limiter_options& options, Parts... parts)
        : parts_(std::forward<Parts>(parts)...),
          max_waiting_(options.max_waiting),
          max_wait_(options.max_wait),
          name_(options.name) {
        detail::check_combined_options(options);
    }
    combined_limiter(const combined_limiter&) = delete;
    combined_limiter& operator=(const combined_limiter&) = delete;
    ~combined_limiter() { line_->gone.set(); }

    // Takes from all parts or none, without waiting. Refused while others wait. Throws
    // invalid_argument unless the weight is above 0; a weight above the capacity of a part is
    // always refused.
    admission<let_through> try_acquire(double weight = 1) {
        detail::check_weight(name_, weight);
        const admission<let_through> answer =
            line_->waiting == 0 ? attempt(weight)
                                : admission<let_through>(
                                      refusal{refusal_reason::rate_limited, retry_after(weight)});
        ++(answer ? granted_ : refused_);
        return answer;
    }
    // co_await admit(): the same, after a wait if that helps. A cancelled wait changes nothing.
    task<admission<let_through>> admit(double weight = 1) {
        detail::check_weight(name_, weight);
        return wait(weight);
    }
    // co_await acquire(): the time waited. Throws refused.
    task<clock::duration> acquire(double weight = 1) {
        detail::check_weight(name_, weight);
        return wait_or_throw(weight);
    }
    // How long until all parts could grant it.
    clock::duration retry_after(double weight = 1) {
        return std::apply(
            [weight](auto&... part) { return std::max({part.retry_after(weight)...}); }, parts_);
    }
    // Undoes a try_acquire() of the same time.
    void give_back_at(clock::time_point at, double weight = 1) noexcept {
        std::apply([&](auto&... part) { (detail::undo(part, weight, at), ...); }, parts_);
        --granted_;
    }

    // If this would throw the call is refused here, and enter() throws.
    admission<let_through> try_enter(call_context& call) noexcept {
        try {
            return try_acquire(call.weight());
        } catch (...) {
            return refusal{refusal_reason::rate_limited};
        }
    }
    task<admission<let_through>> enter(call_context& call) {
        auto admitted = co_await admit(call.weight());
        call.time_passed();
        co_return admitted;
    }

    const std::string& name() const noexcept { return name_; }
    combined_limiter_stats stats() const noexcept {
        return {granted_, waited_, refused_, line_->waiting};
    }
    void write_metrics(metric_writer& to) const {
        detail::write_combined_metrics(to, name_, stats());
    }

private:
    admission<let_through> attempt(double weight) {
        const clock::duration wait = retry_after(weight);
        if (wait > clock::duration::zero()) {
            return refusal{refusal_reason::rate_limited, is_never(wait) ? refusal::never : wait};
        }
        return take(weight, std::index_sequence_for<Parts...>());
    }
    // All parts can grant it. A part that is shared with other threads may refuse after all: then
    // the tokens of the parts before it are given back.
    template <std::size_t... I>
    admission<let_through> take(double weight, std::index_sequence<I...>) {
        admission<let_through> answer = let_through{};
        const clock::time_point at = now();
        std::size_t taken = 0;
        const auto take_from = [&](auto& part) {
            answer = part.try_acquire(weight);
            taken += answer ? 1 : 0;
            return answer.has_value();
        };
        if (!(take_from(std::get<I>(parts_)) && ...)) {
            ((I < taken ? detail::undo(std::get<I>(parts_), weight, at) : void()), ...);
        }
        return answer;
    }
    static bool is_never(clock::duration wait) { return wait >= clock::time_point::max() - now(); }
    refusal refuse(refusal_reason why, clock::duration wait) noexcept {
        ++refused_;
        return {why, wait};
    }
    task<admission<let_through>> wait(double weight);
    task<clock::duration> wait_or_throw(double weight) {
        auto admitted = co_await wait(weight);
        co_return std::move(admitted).value(name_).waited;
    }

    std::tuple<Parts...> parts_;
    std::shared_ptr<detail::combined_line> line_ = std::make_shared<detail::combined_line>();
    std::uint64_t granted_ = 0;
    std::uint64_t waited_ = 0;
    std::uint64_t refused_ = 0;
    std::size_t max_waiting_;
    clock::duration max_wait_;
    std::string name_;
};

template <class... Parts>
    requires(limiter_part<std::remove_reference_t<Parts>> && ...)
combined_limiter(Parts&&...) -> combined_limiter<Parts...>;
template <class... Parts>
combined_limiter(combined_limiter_options, Parts&&...) -> combined_limiter<Parts...>;

template <class... Parts>
    requires(sizeof...(Parts) > 0 && (limiter_part<std::remove_reference_t<Parts>> && ...))
task<admission<let_through>> combined_limiter<Parts...>::wait(double weight) {
    const clock::time_point since = now();
    clock::duration left = retry_after(weight);
    if (line_->waiting == 0 && left <= clock::duration::zero()) {
        auto at_once = attempt(weight);
        if (at_once) {
            ++granted_;
            co_return at_once;
        }
    }
    if (is_never(left)) {
        co_return refuse(refusal_reason::rate_limited, refusal::never);
    }
    if (line_->waiting >= max_waiting_) {
        co_return refuse(refusal_reason::queue_full, left);
    }
    const clock::time_point latest = detail::after(since, max_wait_);
    if (detail::after(since, left) > std::min(current_deadline(), latest)) {
        co_return refuse(detail::late_reason(current_deadline(), latest), left);
    }
    const std::shared_ptr<detail::combined_line> line = line_;
    const detail::place_in_line counted(line->waiting);
    const auto turn = co_await line->turn.lock();
    for (;;) {
        line->check();
        // There is no suspension between taking and returning, so no tokens are lost.
        const auto answer = attempt(weight);
        if (answer) {
            ++granted_;
            ++waited_;
            co_return let_through{now() - since};
        }
        left = answer.refusal().retry_after;
        if (detail::after(now(), left) > std::min(current_deadline(), latest)) {
            co_return refuse(detail::late_reason(current_deadline(), latest), left);
        }
        co_await timeout_or(left, line->gone.wait(), nullptr);
    }
}

}  // namespace weir
