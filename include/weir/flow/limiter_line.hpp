// SPDX-License-Identifier: MIT
// The line in front of a rate limiter: the part of limiter.hpp that does not depend on how it
// decides.
//
// First come, first served, or the newest first, with one timer, for whoever is next. The line is
// as in detail/wait_list.hpp: in front those who were let through and whose fibers have not run
// yet, behind them those who wait.
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

namespace weir {

class reservation;

// Who goes when as many wait as may.
enum class when_full : unsigned char {
    refuse_newest,    // whoever asks is refused: queue_full
    displace_oldest,  // whoever has waited longest is refused: displaced
};

// Counted since the limiter was made.
struct limiter_stats {
    std::uint64_t granted = 0;      // let through
    std::uint64_t waited = 0;       // of them, those who had to wait
    std::uint64_t refused = 0;      // told no, the displaced included
    std::uint64_t displaced = 0;    // told no after having waited, to make room
    std::uint64_t cancelled = 0;    // stopped while they waited, or before they went on
    clock::duration time_waited{};  // by those let through, together
    std::size_t waiting = 0;        // now
    double weight_waiting = 0;      // now
};

namespace detail {

class limiter_line;

// For a refusal: what nobody can foresee is told as zero.
constexpr clock::duration foreseen(clock::duration wait) noexcept {
    return wait == decision::verdict::unforeseen ? clock::duration::zero() : wait;
}

// One place in the line.
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
    virtual void answered(loop_core& home) noexcept = 0;

    double weight_;
    clock::time_point since_{};
    clock::time_point latest_ = clock::time_point::max();  // later is too late
    clock::time_point granted_{};
    weir::refusal why_{};
    wait_state state_ = wait_state::idle;  // refused: why_ says why
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

    // For operations. True: it is in the line, or answered already; false: this is another loop.
    bool enter(limiter_waiter& asking) noexcept;
    // Lets it through at once, waits for it, or refuses, with why_.
    wait_state place(limiter_waiter& asking, clock::time_point now) noexcept;
    // It does not wait any more, or does not want what it was granted.
    void leave(limiter_waiter& gone) noexcept;
    // Its fiber goes on with what it was granted.
    void went_on(limiter_waiter& granted) noexcept {
        line_.remove_granted(granted);
        granted.state_ = wait_state::idle;
    }
    // After it could not pass at once: must it be refused, rather than wait? Fills in why_.
    bool must_refuse(limiter_waiter& asking, clock::time_point now,
                     clock::duration wait_alone) noexcept;

protected:
    friend class weir::reservation;
    explicit limiter_line(const line_options& options);
    ~limiter_line() = default;

    virtual decision::verdict take(clock::time_point now, double weight) noexcept = 0;
    virtual void give_back(clock::time_point now, double weight,
                           clock::time_point taken) noexcept = 0;
    // When would such a weight pass, if it came now?
    virtual clock::time_point due_of_new(clock::time_point now, double weight) noexcept = 0;
    // When will this one, who waits, pass?
    virtual clock::time_point due_of(clock::time_point now,
                                     const limiter_waiter& waiting) noexcept = 0;
    // Refuses those who will not pass before it is too late for them.
    virtual void refuse_late(clock::time_point now) noexcept = 0;

    bool has_waiting() const noexcept { return line_.has_waiting(); }
    // Does who comes now wait behind others?
    bool has_ahead() const noexcept { return line_.has_waiting() && !newest_first_; }
    double weight_waiting() const noexcept { return weight_waiting_; }
    // The first who waits for whom this holds, in order; null if there is none.
    template <class Predicate>
    limiter_waiter* find_waiting(Predicate holds) const {
        wait_link* each = &line_.first_waiting();
        for (std::size_t left = waiting_; left > 0; --left) {
            if (holds(at(*each))) {
                return &at(*each);
            }
            each = each->next;
        }
        return nullptr;
    }
    // Refuses, in order, all for whom this holds, or just the first. Were there any?
    template <class Predicate>
    bool refuse_if(Predicate holds, bool just_one = false) {
        bool found = false;
        wait_link* each = &line_.first_waiting();
        for (std::size_t left = waiting_; left > 0 && !(found && just_one); --left) {
            limiter_waiter& waiting = at(*each);
            each = each->next;
            if (holds(waiting)) {
                refuse(waiting, {refusal_reason::wait_too_long, {}});
                found = true;
            }
        }
        return found;
    }
    void count_granted() noexcept { ++granted_; }
    void count_refused() noexcept { ++refused_; }
    // Something has ended, or was given back: lets through whoever may pass now.
    void move_up(clock::time_point now) noexcept {
        if (has_waiting()) {
            serve(now);
        }
    }
    // The decision has changed: lets through whoever may pass now, refuses those who never will.
    void revise(clock::time_point now) noexcept;
    // Tells all who are in the line that it is gone.
    void close() noexcept;
    // Throws invalid_argument unless it is a weight that can ever pass.
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
    void pass(limiter_waiter& first, clock::time_point now) noexcept;
    bool wait_for_turn(limiter_waiter& first, clock::time_point now, clock::duration wait) noexcept;
    bool bind() noexcept;
    // The loop, if it is the one that runs here: a place may outlive it.
    loop* running_home() const noexcept;
    void add_waiting(limiter_waiter& added) noexcept;
    limiter_waiter& oldest() const noexcept {
        return at(newest_first_ ? line_.last() : line_.first_waiting());
    }
    // When those who came later have made the oldest wait as long as it may.
    clock::time_point end_of_oldest() const noexcept {
        return newest_first_ ? after(oldest().since_, max_wait_) : clock::time_point::max();
    }
    void remove_waiting(limiter_waiter& gone) noexcept;
    void refuse(limiter_waiter& waiting, const refusal& why) noexcept;
    clock::time_point timer_due() const noexcept {
        return clock::time_point(clock::duration(timer::deadline()));
    }

    split_list line_;
    loop* home_ = nullptr;       // alive as long as anybody waits
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

}  // namespace detail

}  // namespace weir
