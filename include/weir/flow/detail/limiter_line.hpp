// SPDX-License-Identifier: MIT
// The waiting line of a rate limiter: the part of limiter.hpp that does not depend on the decision;
// and the operations that wait in it.
//
// Oldest first or newest first, with one timer for the waiter that is next. The line is a
// split_list (base/wait_list.hpp): in front the admitted waiters whose fibers have not run yet,
// behind them the waiters that are not admitted.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/base/timer_wheel.hpp>
#include <weir/base/wait_list.hpp>
#include <weir/flow/admission.hpp>
#include <weir/flow/decision/limiter_decision.hpp>
#include <weir/flow/queue_order.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/loop.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace weir {

class reservation;

// Totals since the limiter was created.
struct limiter_stats {
    std::uint64_t granted = 0;      // requests admitted
    std::uint64_t waited = 0;       // of these, admitted after a wait
    std::uint64_t refused = 0;      // requests refused, including displaced ones
    std::uint64_t displaced = 0;    // refused after a wait to make room for a newer request
    std::uint64_t cancelled = 0;    // stopped while waiting, or before their fiber continued
    clock::duration time_waited{};  // total wait of the admitted requests
    std::size_t waiting = 0;        // now
    double weight_waiting = 0;      // now
};

namespace detail {

class limiter_line;

// The metrics that all rate limiters have.
void write_limiter_metrics(metric_writer& to, std::string_view kind, std::string_view name,
                           const limiter_stats& stats);

// The wait as a refusal reports it: zero if it is not predictable.
constexpr clock::duration foreseen(clock::duration wait) noexcept {
    return wait == decision::verdict::unforeseen ? clock::duration::zero() : wait;
}

// An entry of the line: an awaiting fiber or a reservation.
class limiter_waiter : public wait_link {
public:
    limiter_waiter(const limiter_waiter&) = delete;
    limiter_waiter& operator=(const limiter_waiter&) = delete;

    double weight() const noexcept { return weight_; }
    clock::time_point latest() const noexcept { return latest_; }

protected:
    friend class limiter_line;
    explicit limiter_waiter(double weight) noexcept : weight_(weight) {}
    ~limiter_waiter() = default;
    virtual void notify(loop_core& home) noexcept = 0;

    double weight_;
    clock::time_point since_{};
    clock::time_point latest_ =
        clock::time_point::max();  // latest time at which admission is of use
    clock::time_point granted_{};
    refusal_reason late_ = refusal_reason::wait_too_long;  // why latest_ is the latest
    weir::refusal why_{};
    wait_state state_ = wait_state::idle;  // refused: why_ has the reason
};

struct line_options {
    std::string_view kind;
    std::string_view name;
    std::size_t max_waiting;
    weir::when_full when_full;
    queue_order order;
    clock::duration max_wait;
    weir::observer* observer;
};

class limiter_line : private timer {
public:
    limiter_line(const limiter_line&) = delete;
    limiter_line& operator=(const limiter_line&) = delete;

    std::string_view name() const noexcept { return name_; }
    limiter_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

    // For operations. True: the waiter is in the line, or decided already; false: the line belongs
    // to another loop.
    bool enter(limiter_waiter& waiter) noexcept;
    // Admits the waiter at once, appends it to the line, or refuses it, with why_.
    wait_state place(limiter_waiter& waiter, clock::time_point now) noexcept;
    // The waiter no longer waits, or gives back its grant.
    void leave(limiter_waiter& gone) noexcept;
    // The fiber of the waiter continues with its grant.
    void complete(limiter_waiter& granted) noexcept {
        line_.remove_granted(granted);
        granted.state_ = wait_state::idle;
    }
    // For a waiter that is not admitted at once: whether it must be refused instead of waiting.
    // Sets why_.
    bool must_refuse(limiter_waiter& waiter, clock::time_point now,
                     clock::duration wait_alone) noexcept;

protected:
    friend class weir::reservation;
    explicit limiter_line(const line_options& options);
    ~limiter_line() = default;

    virtual decision::verdict take(clock::time_point now, double weight) noexcept = 0;
    virtual void give_back(clock::time_point now, double weight,
                           clock::time_point taken) noexcept = 0;
    // The time at which a request of this weight that arrives now would be admitted.
    virtual clock::time_point due_of_new(clock::time_point now, double weight) noexcept = 0;
    // The time at which this waiter will be admitted.
    virtual clock::time_point due_of(clock::time_point now,
                                     const limiter_waiter& waiting) noexcept = 0;
    // Refuses the waiters that will not be admitted by their latest time.
    virtual void refuse_late(clock::time_point now) noexcept = 0;

    bool has_waiting() const noexcept { return line_.has_waiting(); }
    // Whether a new request waits behind others.
    bool has_ahead() const noexcept { return line_.has_waiting() && !newest_first_; }
    double weight_waiting() const noexcept { return weight_waiting_; }
    // The first waiter that satisfies the predicate, in order; null if there is none.
    template <class Predicate>
    limiter_waiter* find_waiting(Predicate holds) const {
        wait_link* each = &line_.first_waiting();
        for (std::size_t left = waiting_; left > 0; --left) {
            if (holds(at(*each))) {
                return &at(*each);
            }
            each = each->next();
        }
        return nullptr;
    }
    // Refuses all waiters that satisfy the predicate, in order, or only the first. True: there was
    // one.
    template <class Predicate>
    bool refuse_if(Predicate holds, bool just_one = false) {
        bool found = false;
        wait_link* each = &line_.first_waiting();
        for (std::size_t left = waiting_; left > 0 && !(found && just_one); --left) {
            limiter_waiter& waiting = at(*each);
            each = each->next();
            if (holds(waiting)) {
                refuse(waiting, {waiting.late_, {}});
                found = true;
            }
        }
        return found;
    }
    void count_granted() noexcept { ++granted_; }
    void count_refused() noexcept { ++refused_; }
    // Capacity was returned: admits the waiters that fit now.
    void move_up(clock::time_point now) noexcept {
        if (has_waiting()) {
            serve(now);
        }
    }
    // The rate has changed: admits the waiters that fit now, refuses those that never will.
    void revise(clock::time_point now) noexcept;
    // Ends all waits: the limiter is being destroyed.
    void close() noexcept;
    // Throws invalid_argument unless the weight is positive and at most `most`.
    void check(double weight, double most) const {
        if (!(weight > 0 && weight <= most)) [[unlikely]] {
            throw_bad_weight(weight, most);
        }
    }

private:
    [[noreturn]] void throw_bad_weight(double weight, double most) const;
    static limiter_waiter& at(wait_link& link) noexcept {
        return static_cast<limiter_waiter&>(link);
    }
    void fire() noexcept override;
    void serve(clock::time_point now) noexcept;
    void admit(limiter_waiter& first, clock::time_point now) noexcept;
    bool wait_for_turn(limiter_waiter& first, clock::time_point now, clock::duration wait) noexcept;
    bool bind() noexcept;
    // The line's loop, if it runs on this thread; null otherwise: a reservation may outlive the
    // loop.
    loop* running_home() const noexcept;
    void add_waiting(limiter_waiter& added) noexcept;
    limiter_waiter& oldest() const noexcept {
        return at(newest_first_ ? line_.last() : line_.first_waiting());
    }
    // The time at which the oldest waiter, overtaken by newer ones, has waited for max_wait.
    clock::time_point end_of_oldest() const noexcept {
        return newest_first_ ? after(oldest().since_, max_wait_) : clock::time_point::max();
    }
    void remove_waiting(limiter_waiter& gone) noexcept;
    void refuse(limiter_waiter& waiting, const refusal& why) noexcept;
    clock::time_point timer_due() const noexcept {
        return clock::time_point(clock::duration(timer::deadline()));
    }

    split_list line_;
    loop* home_ = nullptr;       // valid while the line has waiters
    std::uint32_t home_id_ = 0;  // 0: none yet
    std::size_t waiting_ = 0;
    double weight_waiting_ = 0;
    std::size_t max_waiting_;
    clock::duration max_wait_;
    when_full when_full_;
    bool newest_first_;
    observer* observer_;
    std::string kind_;
    std::string name_;
    std::uint64_t granted_ = 0;
    std::uint64_t waited_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t displaced_ = 0;
    std::uint64_t cancelled_ = 0;
    clock::duration time_waited_{};
};

// The pass of a limiter that measures from completion: done(), or the destructor, reports the end
// of the turn. The limiter must outlive it.
template <class Limiter>
class [[nodiscard]] limiter_turn : public let_through {
public:
    limiter_turn(Limiter& from, double weight, clock::duration time_waited) noexcept
        : let_through{time_waited}, from_(&from), weight_(weight) {}
    limiter_turn(limiter_turn&& other) noexcept
        : let_through(other), from_(std::exchange(other.from_, nullptr)), weight_(other.weight_) {}
    limiter_turn& operator=(limiter_turn&& other) noexcept {
        limiter_turn old(std::move(*this));
        let_through::operator=(other);
        from_ = std::exchange(other.from_, nullptr);
        weight_ = other.weight_;
        return *this;
    }
    ~limiter_turn() { done(); }

    void done() noexcept {
        if (from_ != nullptr) {
            std::exchange(from_, nullptr)->completed(weight_);
        }
    }

private:
    Limiter* from_;
    double weight_;
};

template <class Limiter>
class limiter_operation : public operation, protected limiter_waiter {
public:
    bool ready() noexcept override {
        since_ = weir::now();
        const decision::verdict answer = from_->attempt(since_, weight_);
        if (answer.granted) [[likely]] {
            from_->count_granted();
            return true;
        }
        if (from_->must_refuse(*this, since_, answer.wait)) {
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

    auto result() -> admission<typename Limiter::pass> {
        switch (state_) {
            case wait_state::idle:
                return from_->make_pass(weight_, {});
            case wait_state::granted:
                from_->complete(*this);
                return from_->make_pass(weight_, granted_ - since_);
            case wait_state::refused:
                state_ = wait_state::idle;
                return why_;
            default:
                throw_wait_error(std::exchange(state_, wait_state::idle), "rate limiter");
        }
    }

    Limiter* from_;

private:
    void notify(loop_core& home) noexcept override { complete_on(home); }
};

template <class Limiter>
class WEIR_MUST_AWAIT limiter_admit final : public limiter_operation<Limiter> {
public:
    limiter_admit(Limiter& from, double weight) noexcept
        : limiter_operation<Limiter>(from, weight) {}
    const char* name() const noexcept override { return "limiter.admit"; }
    auto resume() { return this->result(); }
};

template <class Limiter>
class WEIR_MUST_AWAIT limiter_acquire final : public limiter_operation<Limiter> {
public:
    limiter_acquire(Limiter& from, double weight) noexcept
        : limiter_operation<Limiter>(from, weight) {}
    const char* name() const noexcept override { return "limiter.acquire"; }
    typename Limiter::acquired resume() {
        return static_cast<typename Limiter::acquired>(
            Limiter::to_acquired(this->result().value(this->from_->name())));
    }
};

}  // namespace detail

}  // namespace weir
