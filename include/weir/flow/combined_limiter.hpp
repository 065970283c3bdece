// SPDX-License-Identifier: MIT
// combined_limiter: passes what all of several limiters let pass, and takes from all or from none.
//
//     weir::token_bucket second({.rate = 10, .burst = 10});
//     weir::token_bucket minute({.rate = 100, .per = 1min, .burst = 100});
//     weir::combined_limiter both(second, minute, per_tenant.for_key("acme"));
//     co_await both.acquire();
//
// Parts are limiters (which must outlive it), keyed limiters with a key filled in, and other
// combined limiters; more users may share a part. Whoever waits takes nothing from any part until
// all can give: so no part runs dry for others meanwhile, and a wait that is cancelled has nothing
// to give back. Waiters are served in the order of asking, and only the first watches the clock.
// Those who wait in the line of a part itself come before those who wait here. Belongs to one loop.
// If it is destroyed while fibers wait, they throw invalid_state.
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
    std::uint64_t waited = 0;   // of them, those who had to wait
    std::uint64_t refused = 0;  // told no
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

// Undoes a try_acquire() of this moment.
template <class Part>
void undo(Part& part, double weight, clock::time_point at) noexcept {
    if constexpr (requires { part.give_back_at(at, weight); }) {
        part.give_back_at(at, weight);
    } else {
        part.decision().give_back(at, weight, at);
    }
}

// Outlives the limiter, if somebody waits when that is destroyed.
struct combined_line {
    mutex turn;  // held by the first who waits
    event gone;  // set when the limiter is destroyed
    std::size_t waiting = 0;

    void check() const {
        if (gone.is_set()) {
            throw_wait_error(wait_state::orphaned, "combined_limiter");
        }
    }
};

// Keeps count of those who wait, however they end.
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

// Parts given as lvalues are referred to, others are kept.
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

    // From all, or nothing. Refused while others wait. A weight that is not above 0 throws
    // invalid_argument; one that a part can never let pass is refused for ever.
    admission<let_through> try_acquire(double weight = 1) {
        detail::check_weight(name_, weight);
        const admission<let_through> said =
            line_->waiting == 0 ? attempt(weight)
                                : admission<let_through>(
                                      refusal{refusal_reason::rate_limited, retry_after(weight)});
        ++(said ? granted_ : refused_);
        return said;
    }
    // The same, after waiting if that may help: until the earliest time at which all let it pass.
    // Cancelled, it leaves no trace.
    task<admission<let_through>> admit(double weight = 1) {
        detail::check_weight(name_, weight);
        return wait(weight);
    }
    // How long it waited. Throws refused.
    task<clock::duration> acquire(double weight = 1) {
        detail::check_weight(name_, weight);
        return wait_or_throw(weight);
    }
    // When all would let it pass at the earliest.
    clock::duration retry_after(double weight = 1) {
        return std::apply(
            [weight](auto&... part) { return std::max({part.retry_after(weight)...}); }, parts_);
    }
    // Undoes a try_acquire() of this moment.
    void give_back_at(clock::time_point at, double weight = 1) noexcept {
        std::apply([&](auto&... part) { (detail::undo(part, weight, at), ...); }, parts_);
        --granted_;
    }

    // What would throw is refused here, and thrown by enter().
    admission<let_through> try_enter(call_context& call) noexcept {
        try {
            return try_acquire(call.weight());
        } catch (...) {
            return refusal{refusal_reason::rate_limited};
        }
    }
    task<admission<let_through>> enter(call_context& call) {
        auto let_in = co_await admit(call.weight());
        call.time_passed();
        co_return let_in;
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
    // All said yes. One that is shared with other threads may have changed its mind: then those
    // before it get back what they gave.
    template <std::size_t... I>
    admission<let_through> take(double weight, std::index_sequence<I...>) {
        admission<let_through> said = let_through{};
        const clock::time_point at = now();
        std::size_t taken = 0;
        const auto ask = [&](auto& part) {
            said = part.try_acquire(weight);
            taken += said ? 1 : 0;
            return said.has_value();
        };
        if (!(ask(std::get<I>(parts_)) && ...)) {
            ((I < taken ? detail::undo(std::get<I>(parts_), weight, at) : void()), ...);
        }
        return said;
    }
    static bool is_never(clock::duration wait) { return wait >= clock::time_point::max() - now(); }
    bool is_too_late(clock::duration wait) const {
        return wait > max_wait_ || detail::after(now(), wait) > current_deadline();
    }
    refusal refuse(refusal_reason why, clock::duration wait) noexcept {
        ++refused_;
        return {why, wait};
    }
    task<admission<let_through>> wait(double weight);
    task<clock::duration> wait_or_throw(double weight) {
        auto let_in = co_await wait(weight);
        co_return std::move(let_in).value(name_).waited;
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
    if (is_too_late(left)) {
        co_return refuse(refusal_reason::wait_too_long, left);
    }
    const std::shared_ptr<detail::combined_line> line = line_;
    const detail::place_in_line counted(line->waiting);
    const auto turn = co_await line->turn.lock();
    for (;;) {
        line->check();
        // Nothing is suspended between taking and returning, so what was taken arrives.
        const auto said = attempt(weight);
        if (said) {
            ++granted_;
            ++waited_;
            co_return let_through{now() - since};
        }
        left = said.refusal().retry_after;
        if (now() - since > max_wait_ - std::min(left, max_wait_) || is_too_late(left)) {
            co_return refuse(refusal_reason::wait_too_long, left);
        }
        co_await timeout_or(left, line->gone.wait(), nullptr);
    }
}

}  // namespace weir
