// SPDX-License-Identifier: MIT
// limiter<Decision>: a rate limiter that can be waited for. token_bucket, sliding_window,
// leaky_bucket and fixed_window are this, each around its own decision.
//
//     weir::token_bucket bucket({.rate = 10, .burst = 20});
//     co_await bucket.acquire();                  // waits for its turn; gives the time it waited
//     if (auto in = bucket.try_acquire(); !in) { tell(in.refusal().retry_after); }
//
// Waiters are let through in the order of asking, and nobody overtakes: who asks for much is not
// starved by those who ask for little. (Or the newest first, if the options say so: serve.hpp.) A
// fiber that is stopped while it waits leaves the line without a trace, and the next ones move up;
// one that was let through and is stopped before it goes on gives back what it took. A wait that
// would be longer than max_wait, or than the deadline around the caller leaves, is refused at once.
// Belongs to one loop; the decision may be shared with other loops and threads. If it is destroyed
// while fibers wait, they throw invalid_state.
#pragma once

#include <weir/flow/call.hpp>
#include <weir/flow/limiter_line.hpp>
#include <weir/flow/limiter_operations.hpp>
#include <weir/flow/policy.hpp>
#include <weir/flow/reservation.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace weir {

// The options of a limiter around a decision of your own.
template <decision::limiter_decision Decision>
struct limiter_options;

template <decision::limiter_decision Decision, class Options = limiter_options<Decision>>
class limiter final : private detail::limiter_line {
    static constexpr bool has_turns = decision::minds_completion<Decision>;

public:
    using decision_type = Decision;
    using limits = typename Decision::limits;
    // What try_acquire() and admit() give to those let through. Where the end of a call matters, it
    // is to be kept as long as the call lasts.
    using pass = std::conditional_t<has_turns, detail::limiter_turn<limiter>, let_through>;
    // What acquire() gives: the time waited, or the pass where it has to be kept.
    using acquired = std::conditional_t<has_turns, pass, clock::duration>;
    static constexpr policy_kind kind = policy_kind::rate_limiter;

    // Throws invalid_argument if the options make no sense.
    explicit limiter(const Options& options) : limiter_line(options.line()) {
        decision_ = &own_.emplace(options.limiter_limits());
    }
    // Around a decision that others use too, on other loops and threads; the options say how to
    // wait. Each limiter has a line of its own: between lines there is no order.
    limiter(std::shared_ptr<Decision> shared, const Options& options)
        requires decision::is_shareable<Decision>
        : limiter_line(options.line()), shared_(std::move(shared)), decision_(shared_.get()) {}
    ~limiter() { close(); }

    using limiter_line::name;
    using limiter_line::stats;
    using limiter_line::write_metrics;

    // At once. Refused while others wait who go first. Throws invalid_argument, as all that take a
    // weight do, if it is not a positive number, or more than can ever pass at once.
    admission<pass> try_acquire(double weight = 1) {
        check(weight, capacity());
        admission<pass> in = try_pass(weir::now(), weight);
        if (!in) {
            count_refused();
        }
        return in;
    }
    // co_await admit(): admission<pass>, after waiting if that may help.
    [[nodiscard]] detail::limiter_admit<limiter> admit(double weight = 1) {
        check(weight, capacity());
        return {*this, weight};
    }
    // co_await acquire(): how long it waited. Throws refused if it may not wait.
    [[nodiscard]] detail::limiter_acquire<limiter> acquire(double weight = 1) {
        check(weight, capacity());
        return {*this, weight};
    }
    // A place in the line, at once; to be used or given back.
    admission<reservation> reserve(double weight = 1)
        requires(!has_turns)
    {
        check(weight, capacity());
        return reservation::ask(*this, weight);
    }

    // co_await run(fn), settle(fn): calls it when its turn has come. fn is as in flow/call.hpp.
    template <class Work>
    auto run(Work&& work, double weight = 1) {
        WEIR_CHECK_CALLABLE(Work);
        check(weight, capacity());
        return run_behind(*this, detail::held_t<Work>(std::forward<Work>(work)), weight);
    }
    template <class Work>
    auto settle(Work&& work, double weight = 1) {
        WEIR_CHECK_CALLABLE(Work);
        check(weight, capacity());
        return settle_behind(*this, detail::held_t<Work>(std::forward<Work>(work)), weight);
    }

    // How long a request that comes now would wait, behind all who go first. refusal::never if that
    // cannot be foreseen.
    clock::duration retry_after(double weight = 1) {
        const clock::time_point now = weir::now();
        const clock::time_point due = due_of_new(now, weight);
        return due == clock::time_point::max() ? refusal::never : due - now;
    }
    // The most that can pass at once.
    double capacity() const noexcept { return decision_->capacity(); }

    // From now on; those who wait are told anew. What the limiter has saved up stays as it is: no
    // burst comes from a change. Those who can never pass now, or too late for them, are refused.
    void set_rate(const limits& changed) {
        const clock::time_point now = weir::now();
        decision_->set_rate(now, changed);
        revise(now);
    }

    Decision& decision() noexcept { return *decision_; }
    const Decision& decision() const noexcept { return *decision_; }

    // As a policy: a gate that may make calls wait. A call that can never pass is refused.
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

    // Behind those who wait, if there are any: how long that takes is not worked out here.
    decision::verdict attempt(clock::time_point now, double weight) noexcept {
        if (has_ahead()) [[unlikely]] {
            return {false, weight <= capacity() ? clock::duration::zero() : refusal::never};
        }
        return decision_->try_take(now, weight);
    }
    admission<pass> try_pass(clock::time_point now, double weight) noexcept {
        const decision::verdict said = attempt(now, weight);
        if (said.granted) [[likely]] {
            count_granted();
            return make_pass(weight, {});
        }
        if (has_ahead() && said.wait != refusal::never) {
            const clock::time_point due = due_of_new(now, weight);
            return refusal{refusal_reason::rate_limited,
                           due == clock::time_point::max() ? clock::duration::zero() : due - now};
        }
        return refusal{refusal_reason::rate_limited, detail::foreseen(said.wait)};
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
        if (here == nullptr) {  // it has outlived its loop: nobody knows when it ended
            decision_->completed(clock::time_point::min(), weight);
            return;
        }
        const clock::time_point now = here->now();
        decision_->completed(now, weight);
        move_up(now);
    }

    template <class Work>
    static task<outcome<detail::call_value_t<std::remove_reference_t<Work>>>> settle_behind(
        limiter& gate, Work work, double weight) {
        using result = outcome<detail::call_value_t<std::remove_reference_t<Work>>>;
        admission<pass> in = co_await gate.admit(weight);
        if (!in) {
            co_return result::from_refusal(in.refusal());
        }
        call_context call(gate.name(), weight);
        result ended = co_await detail::settle_call(work, call);
        co_return ended;
    }
    template <class Work>
    static task<detail::call_value_t<std::remove_reference_t<Work>>> run_behind(limiter& gate,
                                                                                Work work,
                                                                                double weight) {
        auto ended = co_await settle_behind<std::remove_reference_t<Work>&>(gate, work, weight);
        co_return detail::value_of(std::move(ended), gate.name());
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

    typename Decision::limits limits{};
    std::size_t max_waiting = 65536;  // 0: nobody waits
    weir::when_full when_full = weir::when_full::refuse_newest;
    queue_order order = queue_order::oldest_first;
    clock::duration max_wait = clock::duration::max();  // longer ones are refused at once
    std::string_view name{};
    weir::observer* observer = nullptr;

    const typename Decision::limits& limiter_limits() const noexcept { return limits; }
    detail::line_options line() const noexcept {
        return {"limiter", name, max_waiting, when_full, order, max_wait, observer};
    }
};

}  // namespace weir
