// SPDX-License-Identifier: MIT
// limiter<Decision>: a rate limiter with a waiting line. token_bucket, sliding_window, leaky_bucket
// and fixed_window are limiters, each around its own decision.
//
//     weir::token_bucket bucket({.rate = 10, .burst = 20});
//     co_await bucket.acquire();                  // waits for its turn; returns the time waited
//     if (auto in = bucket.try_acquire(); !in) { use(in.refusal().retry_after); }
//
// Waiters are admitted in the order of arrival (or newest first: queue_order.hpp). No request
// overtakes another, so a heavy one is not starved by light ones. A fiber that is stopped while it
// waits leaves the line, and the others move up; one that was admitted and is stopped before it
// continues gives back its tokens. A request that would have to wait longer than max_wait is
// refused at once (wait_too_long), and so is one that would have to wait past the deadline around
// the caller (past_deadline): timeout.hpp says what a timeout makes of that.
//
// A limiter belongs to one loop; the decision may be shared with other loops and threads. If the
// limiter is destroyed while fibers wait, they throw invalid_state.
//
// All limiters have these options:
//     max_waiting    how many requests may wait; 0: none
//     when_full      which request is refused when the line is full (queue_order.hpp)
//     order          which waiter goes first (queue_order.hpp)
//     max_wait       requests that would wait longer are refused at once
//     name           for messages and metrics
//     observer       notified of "displaced" and "rate changed"
#pragma once

#include <weir/flow/call.hpp>
#include <weir/flow/detail/limiter_line.hpp>
#include <weir/flow/policy.hpp>
#include <weir/flow/reservation.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace weir {

// The options of a limiter around a decision that the user provides.
template <decision::limiter_decision Decision>
struct limiter_options;

template <decision::limiter_decision Decision, class Options = limiter_options<Decision>>
class limiter final : private detail::limiter_line {
    static constexpr bool has_turns = decision::minds_completion<Decision>;

public:
    using decision_type = Decision;
    using limits = typename Decision::limits;
    // The result of try_acquire() and admit(). If the decision measures from completion, keep it
    // until the call has ended.
    using pass = std::conditional_t<has_turns, detail::limiter_turn<limiter>, let_through>;
    // The result of acquire(): the time waited, or the pass if it has to be kept.
    using acquired = std::conditional_t<has_turns, pass, clock::duration>;
    static constexpr policy_kind kind = policy_kind::rate_limiter;

    // Throws invalid_argument for invalid options.
    explicit limiter(const Options& options) : limiter_line(line_of(options)) {
        decision_ = &own_.emplace(options.limiter_limits());
    }
    // Around a decision that is shared with other loops and threads; the options configure the
    // line. Each limiter has its own line; there is no order between lines.
    limiter(std::shared_ptr<Decision> shared, const Options& options)
        requires decision::is_shareable<Decision>
        : limiter_line(line_of(options)), shared_(std::move(shared)), decision_(shared_.get()) {}
    ~limiter() { close(); }

    using limiter_line::name;
    using limiter_line::stats;
    using limiter_line::write_metrics;

    // Does not wait. Refused while others that go first wait. Throws invalid_argument, as all
    // functions that take a weight do, unless the weight is positive and at most capacity().
    admission<pass> try_acquire(double weight = 1) {
        check(weight, capacity());
        admission<pass> in = try_pass(weir::now(), weight);
        if (!in) {
            count_refused();
        }
        return in;
    }
    // co_await admit(): admission<pass>, after a wait if that helps.
    detail::limiter_admit<limiter> admit(double weight = 1) {
        check(weight, capacity());
        return {*this, weight};
    }
    // co_await acquire(): the time waited. Throws refused.
    detail::limiter_acquire<limiter> acquire(double weight = 1) {
        check(weight, capacity());
        return {*this, weight};
    }
    // A place in the line, to be used or given back later.
    admission<reservation> reserve(double weight = 1)
        requires(!has_turns)
    {
        check(weight, capacity());
        return reservation::place(*this, weight);
    }

    // co_await run(fn), settle(fn): calls fn once admitted. For fn see flow/call.hpp.
    template <class Work>
    auto run(Work&& work, double weight = 1) {
        WEIR_CHECK_CALLABLE(Work);
        check(weight, capacity());
        return call_behind<detail::call_view::value, detail::held_t<Work>>(std::forward<Work>(work),
                                                                           weight);
    }
    template <class Work>
    auto settle(Work&& work, double weight = 1) {
        WEIR_CHECK_CALLABLE(Work);
        check(weight, capacity());
        return call_behind<detail::call_view::outcome, detail::held_t<Work>>(
            std::forward<Work>(work), weight);
    }

    // How long a request that arrives now would wait behind the others. refusal::never if that is
    // not predictable.
    clock::duration retry_after(double weight = 1) {
        const clock::time_point now = weir::now();
        const clock::time_point due = due_of_new(now, weight);
        return due == clock::time_point::max() ? refusal::never : due - now;
    }
    // The largest weight that can be admitted.
    double capacity() const noexcept { return decision_->capacity(); }

    // Changes the rate from now on. The saved-up tokens stay as they are, so a change causes no
    // burst. Waiters that can no longer be admitted, or only too late, are refused.
    void set_rate(const limits& changed) {
        const clock::time_point now = weir::now();
        decision_->set_rate(now, changed);
        revise(now);
    }

    Decision& decision() noexcept { return *decision_; }
    const Decision& decision() const noexcept { return *decision_; }

    // As a policy: a gate that calls may wait at. A call above the capacity is refused.
    admission<pass> try_enter(call_context& call) noexcept {
        return try_pass(call.now(), call.weight());
    }
    task<admission<pass>> enter(call_context& call) {
        detail::limiter_admit<limiter> waiting(*this, call.weight());
        admission<pass> in = co_await std::move(waiting);
        call.time_passed();
        co_return in;
    }

private:
    template <class>
    friend class detail::limiter_operation;
    friend class detail::limiter_acquire<limiter>;
    friend class detail::limiter_turn<limiter>;

    // Not granted while others wait; the wait is not computed then.
    decision::verdict attempt(clock::time_point now, double weight) noexcept {
        if (has_ahead()) [[unlikely]] {
            return {false, weight <= capacity() ? clock::duration::zero() : refusal::never};
        }
        return decision_->try_take(now, weight);
    }
    admission<pass> try_pass(clock::time_point now, double weight) noexcept {
        const decision::verdict answer = attempt(now, weight);
        if (answer.granted) [[likely]] {
            count_granted();
            return make_pass(weight, {});
        }
        if (has_ahead() && answer.wait != refusal::never) {
            const clock::time_point due = due_of_new(now, weight);
            return refusal{refusal_reason::rate_limited,
                           due == clock::time_point::max() ? clock::duration::zero() : due - now};
        }
        return refusal{refusal_reason::rate_limited, detail::foreseen(answer.wait)};
    }
    pass make_pass([[maybe_unused]] double weight, clock::duration waited) noexcept {
        if constexpr (has_turns) {
            return pass(*this, weight, waited);
        } else {
            return {waited};
        }
    }
    static acquired to_acquired(pass&& in) noexcept {
        if constexpr (has_turns) {
            return std::move(in);
        } else {
            return in.waited;
        }
    }
    void completed(double weight) noexcept
        requires has_turns
    {
        loop* const here = loop::current_or_null();
        if (here == nullptr) {  // the turn has outlived its loop: there is no clock
            decision_->completed(clock::time_point::min(), weight);
            return;
        }
        const clock::time_point now = here->now();
        decision_->completed(now, weight);
        move_up(now);
    }

    template <detail::call_view View, class Held, class Work>
    auto call_behind(Work&& work, double weight) {
        return detail::call_when_admitted<View, Held>(
            this, detail::limiter_admit<limiter>(*this, weight), std::forward<Work>(work), weight);
    }

    static detail::line_options line_of(const Options& options) noexcept {
        return {Options::kind, options.name,     options.max_waiting, options.when_full,
                options.order, options.max_wait, options.observer};
    }
    decision::verdict take(clock::time_point now, double weight) noexcept override {
        return decision_->try_take(now, weight);
    }
    void give_back(clock::time_point now, double weight,
                   clock::time_point taken) noexcept override {
        decision_->give_back(now, weight, taken);
    }
    clock::time_point due_of_new(clock::time_point now, double weight) noexcept override {
        auto line = decision_->plan(now);
        if constexpr (decision::is_additive<Decision>) {
            if (has_ahead()) {
                line.skip(weight_waiting());
            }
        } else if (has_ahead()) {
            find_waiting([&](const detail::limiter_waiter& ahead) {
                line.grant(ahead.weight());
                return false;
            });
        }
        return line.grant(weight);
    }
    clock::time_point due_of(clock::time_point now,
                             const detail::limiter_waiter& waiting) noexcept override {
        auto line = decision_->plan(now);
        clock::time_point due;
        find_waiting([&](const detail::limiter_waiter& each) {
            due = line.grant(each.weight());
            return &each == &waiting;
        });
        return due;
    }
    void refuse_late(clock::time_point now) noexcept override {
        using plan_type = decltype(decision_->plan(now));
        plan_type line = decision_->plan(now);
        const auto is_late = [&](plan_type& planned, const detail::limiter_waiter& each) {
            const clock::time_point due = planned.grant(each.weight());
            return each.weight() > capacity() ||
                   (due > each.latest() && due != clock::time_point::max());
        };
        if constexpr (std::is_trivially_copyable_v<plan_type>) {
            refuse_if([&](const detail::limiter_waiter& each) {
                plan_type with_it = line;
                const bool late = is_late(with_it, each);
                line = late ? line : with_it;
                return late;
            });
        } else {
            bool found = true;
            while (found) {
                found = refuse_if(
                    [&](const detail::limiter_waiter& each) { return is_late(line, each); }, true);
                line = decision_->plan(now);
            }
        }
    }

    std::optional<Decision> own_;
    std::shared_ptr<Decision> shared_;
    Decision* decision_;  // one of these
};

template <decision::limiter_decision Decision>
struct limiter_options {
    using policy_type = limiter<Decision>;
    static constexpr std::string_view kind = "limiter";

    typename Decision::limits limits{};
    std::size_t max_waiting = 65536;
    weir::when_full when_full = weir::when_full::refuse_newest;
    queue_order order = queue_order::oldest_first;
    clock::duration max_wait = clock::duration::max();
    std::string_view name{};
    weir::observer* observer = nullptr;

    const typename Decision::limits& limiter_limits() const noexcept { return limits; }
};

}  // namespace weir
