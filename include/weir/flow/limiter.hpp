// SPDX-License-Identifier: MIT
// limiter<Decision>: a rate limiter that can be waited for. token_bucket, sliding_window, leaky_bucket
// and fixed_window are this, each around its own decision.
//
//     weir::token_bucket bucket({.rate = 10, .burst = 20});
//     co_await bucket.acquire();                  // waits for its turn; gives the time it waited
//     if (auto in = bucket.try_acquire(); !in) { tell(in.refusal().retry_after); }
//
// Waiters are let through in the order of asking, and nobody overtakes: who asks for much is not starved
// by those who ask for little. A fiber that is stopped while it waits leaves the line without a trace, and
// the next ones move up; one that was let through and is stopped before it goes on gives back what it
// took. A wait that would be longer than max_wait, or than the deadline around the caller leaves, is
// refused at once. Belongs to one loop; the decision may be shared with other loops and threads. If
// it is destroyed while fibers wait, they throw invalid_state.
#pragma once

#include <weir/flow/limiter_line.hpp>
#include <weir/flow/policy.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace weir {

// Let through; and how long it had to wait.
struct let_through {
    clock::duration waited{};
};

namespace detail {

template <class Limiter>
class limiter_operation;
template <class Limiter>
class limiter_admit;
template <class Limiter>
class limiter_acquire;

}  // namespace detail

// The options of a limiter around a decision of your own.
template <decision::limiter_decision Decision>
struct limiter_options;

template <decision::limiter_decision Decision, class Options = limiter_options<Decision>>
class limiter final : private detail::limiter_line {
public:
    using decision_type = Decision;
    using limits = typename Decision::limits;
    using pass = let_through;
    static constexpr policy_kind kind = policy_kind::rate_limiter;

    // Throws invalid_argument if the options make no sense.
    explicit limiter(const Options& options) : limiter_line(options.line()) {
        decision_ = &own_.emplace(options.limiter_limits());
    }
    // Around a decision that others use too, on other loops and threads; the options say how to wait.
    // Each limiter has a line of its own: between lines there is no order.
    limiter(std::shared_ptr<Decision> shared, const Options& options)
        requires(Decision::is_shareable)
        : limiter_line(options.line()), shared_(std::move(shared)), decision_(shared_.get()) {}
    ~limiter() { close(); }

    using limiter_line::name;
    using limiter_line::stats;
    using limiter_line::write_metrics;

    // At once. Refused while others wait. Throws invalid_argument if the weight is not a positive number,
    // or more than can ever pass at once.
    admission<pass> try_acquire(double weight = 1) {
        check(weight, decision_->capacity());
        return counted(attempt(weir::now(), weight));
    }
    // co_await admit(): admission<let_through>, after waiting if that may help.
    [[nodiscard]] detail::limiter_admit<limiter> admit(double weight = 1);
    // co_await acquire(): how long it waited. Throws refused if it may not wait.
    [[nodiscard]] detail::limiter_acquire<limiter> acquire(double weight = 1);

    // When a request that comes now would pass, behind all who wait.
    clock::duration retry_after(double weight = 1) {
        const clock::time_point now = weir::now();
        return due_behind_all(now, weight) - now;
    }
    double capacity() const noexcept override { return decision_->capacity(); }

    // From now on; those who wait are told anew. What the limiter has saved up stays as it is: no burst
    // comes from a change. Those who ask for more than can ever pass now are refused.
    void set_rate(const limits& changed) {
        const clock::time_point now = weir::now();
        decision_->set_rate(now, changed);
        revise(now);
    }

    Decision& decision() noexcept { return *decision_; }
    const Decision& decision() const noexcept { return *decision_; }

    // As a policy: a gate that may make calls wait.
    admission<pass> try_enter(call_context& call) noexcept {
        const admission<pass> in = attempt(call.now(), call.weight());
        if (in) {
            count_granted();
        }
        return in;
    }
    task<admission<pass>> enter(call_context& call) {
        auto waiting = detail::limiter_admit<limiter>(*this, call.weight());
        admission<pass> in = co_await std::move(waiting);
        call.time_passed();
        co_return in;
    }

private:
    template <class>
    friend class detail::limiter_operation;
    friend class detail::limiter_admit<limiter>;
    friend class detail::limiter_acquire<limiter>;

    admission<pass> attempt(clock::time_point now, double weight) noexcept {
        if (has_waiting()) [[unlikely]] {
            const clock::time_point due = due_behind_all(now, weight);
            return refusal{refusal_reason::rate_limited,
                           due == clock::time_point::max() ? refusal::never : due - now};
        }
        const decision::verdict said = decision_->try_take(now, weight);
        if (said.granted) [[likely]] {
            return let_through{};
        }
        return refusal{refusal_reason::rate_limited, said.wait};
    }
    admission<pass> counted(admission<pass> in) noexcept {
        if (in) [[likely]] {
            count_granted();
        } else {
            count_refused();
        }
        return in;
    }

    decision::verdict take(clock::time_point now, double weight) noexcept override {
        return decision_->try_take(now, weight);
    }
    void give_back(clock::time_point now, double weight,
                   clock::time_point taken) noexcept override {
        decision_->give_back(now, weight, taken);
    }
    clock::time_point due_behind_all(clock::time_point now, double weight) noexcept override {
        auto line = decision_->plan(now);
        if constexpr (Decision::is_additive) {
            if (has_waiting()) {
                line.skip(weight_waiting());
            }
        } else {
            for_each_waiting([&](double ahead) { line.grant(ahead); });
        }
        return line.grant(weight);
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
    clock::duration max_wait = clock::duration::max();  // longer ones are refused at once
    std::string_view name{};
    weir::observer* observer = nullptr;

    const typename Decision::limits& limiter_limits() const noexcept { return limits; }
    detail::line_options line() const noexcept {
        return {"limiter", name, max_waiting, when_full, max_wait, observer};
    }
};

namespace detail {

template <class Limiter>
class limiter_operation : public operation, protected limiter_waiter {
public:
    bool ready() noexcept override {
        since_ = weir::now();
        const auto in = from_->attempt(since_, weight_);
        if (in) [[likely]] {
            from_->count_granted();
            return true;
        }
        if (from_->must_refuse(*this, since_, in.refusal().retry_after)) {
            state_ = wait_state::refused;
            return true;
        }
        return false;
    }
    bool start() noexcept override { return from_->limiter_line::enter(*this); }
    bool cancel() noexcept override {
        from_->leave(*this);
        return true;
    }

protected:
    limiter_operation(Limiter& from, double weight) noexcept
        : limiter_waiter(weight), from_(&from) {}
    limiter_operation(limiter_operation&& other) noexcept
        : operation(), limiter_waiter(other.weight_), from_(other.from_) {}
    ~limiter_operation() {
        if (state_ == wait_state::waiting || state_ == wait_state::granted) [[unlikely]] {
            from_->leave(*this);
        }
    }

    admission<let_through> answer() {
        switch (state_) {
            case wait_state::idle:
                return let_through{};
            case wait_state::granted:
                from_->settle(*this);
                return let_through{granted_ - since_};
            case wait_state::refused:
                state_ = wait_state::idle;
                return why_;
            default:
                throw_wait_error(std::exchange(state_, wait_state::idle), "rate limiter");
        }
    }

    Limiter* from_;

private:
    void answered(loop_core& home) noexcept override { complete_on(home); }
};

template <class Limiter>
class [[nodiscard]] limiter_admit final : public limiter_operation<Limiter> {
public:
    limiter_admit(Limiter& from, double weight) noexcept
        : limiter_operation<Limiter>(from, weight) {}
    const char* name() const noexcept override { return "limiter.admit"; }
    admission<let_through> resume() { return this->answer(); }
};

template <class Limiter>
class [[nodiscard]] limiter_acquire final : public limiter_operation<Limiter> {
public:
    limiter_acquire(Limiter& from, double weight) noexcept
        : limiter_operation<Limiter>(from, weight) {}
    const char* name() const noexcept override { return "limiter.acquire"; }
    clock::duration resume() { return this->answer().value(this->from_->name()).waited; }
};

}  // namespace detail

template <decision::limiter_decision Decision, class Options>
detail::limiter_admit<limiter<Decision, Options>> limiter<Decision, Options>::admit(double weight) {
    check(weight, decision_->capacity());
    return {*this, weight};
}
template <decision::limiter_decision Decision, class Options>
detail::limiter_acquire<limiter<Decision, Options>> limiter<Decision, Options>::acquire(
    double weight) {
    check(weight, decision_->capacity());
    return {*this, weight};
}

}  // namespace weir
