// SPDX-License-Identifier: MIT
// The boundary that timeouts and cancel scopes are made of.
#pragma once

#include <weir/base/child_call.hpp>
#include <weir/base/timer_wheel.hpp>
#include <weir/clock.hpp>
#include <weir/detail/request_reason.hpp>

namespace weir::detail {

class timed_scope : public scope, private timer {
public:
    static constexpr const char* boundary_name = "scope";
    enum class expiry : unsigned char {
        at_suspension,  // a deadline that has passed takes effect at the first suspension of the body
        before_start,  // a deadline that has passed: the work is not even started
        at_next_turn,  // a deadline that has passed takes effect when the work has begun to wait
        not_yet,       // the deadline lies ahead: the caller has just looked at the clock
    };

    explicit timed_scope(clock::time_point deadline, expiry when = expiry::at_suspension) noexcept
        : scope(table_of<timed_scope>), timer(deadline.time_since_epoch().count()), when_(when) {}
    timed_scope(timed_scope&&) noexcept = default;

    clock::time_point deadline() const noexcept {
        return clock::time_point(clock::duration(timer::deadline()));
    }
    // While entered.
    void reschedule(clock::time_point deadline) noexcept;
    // The deadline has taken effect. Work that does not suspend after it has not expired.
    bool expired() const noexcept { return expired_ || (is_late_ && (delivered || answered)); }
    // The work was stopped by a request aimed at this scope.
    bool caught() const noexcept { return caught_; }
    // The reasons of requests to stop the work; null: none can be given.
    request_reason* reason() const noexcept { return reason_; }

    next_step advance(fiber& on) noexcept {
        if (where != nullptr) {
            if (is_armed()) {
                disarm();
            }
            leave_scope(*this);
        }
        return return_to_parent(*this, on);
    }
    next_step stopped(fiber& on, walk& stop) noexcept;
    // Arms the timer: only now is it needed.
    void child_suspended() noexcept;

protected:
    // Enters; true if the work is to be started.
    bool begin(fiber& on) noexcept {
        if (when_ != expiry::not_yet) {
            return begin_in_time(on);
        }
        enter_scope(*this, on);
        return true;
    }

    // Was it this scope that ended the work, which has thrown this error? As its stop, thrown by
    // catchable; or as its deadline, foreseen by a component that would have had to wait past it.
    bool is_own_end(const std::exception_ptr& error) noexcept;
    // Says, if the deadline was foreseen, which component would have had to wait.
    [[noreturn]] void throw_timed_out(const std::exception_ptr& error) const;

    std::exception_ptr lost_to_;  // the error that clean-up inside threw while the work was stopped
    request_reason* reason_ = nullptr;
    bool work_is_gone_ = false;  // a walk destroyed it
    bool caught_ = false;

private:
    void fire() noexcept override;
    bool begin_in_time(fiber& on) noexcept;
    void disarm() noexcept;

    bool expired_ = false;
    bool foreseen_ = false;  // the work ended because it would have had to wait past the deadline
    bool is_late_ = false;   // the deadline had passed at the entry: the stop is requested already
    expiry when_;
};

// With the work, whose result await_resume of the derived class gives.
template <class Derived, class T>
class scoped_call : public bounded<Derived, timed_scope> {
public:
    scoped_call(task<T>&& work, clock::time_point deadline, timed_scope::expiry when)
        : bounded<Derived, timed_scope>(deadline, when), work_(std::move(work)) {}
    scoped_call(scoped_call&&) noexcept = default;
    ~scoped_call() {
        if (this->work_is_gone_) {
            work_.lost();
        }
    }

    void enter(fiber& on) noexcept {
        if (this->begin(on)) {
            work_.enter(*this, on);
        } else {
            work_.skip(*this);
            skip_child(*this, on);
        }
    }

protected:
    // Was it this scope that ended the work?
    bool ended_by_own_stop() {
        return this->caught_ ||
               (!this->work_is_gone_ && !work_.has_value() && this->is_own_end(work_.error()));
    }
    [[noreturn]] void throw_timed_out() const {
        timed_scope::throw_timed_out(this->work_is_gone_ ? nullptr : work_.error());
    }
    T take() {
        if (this->work_is_gone_) {
            work_.lost();
            std::rethrow_exception(this->lost_to_);
        }
        return work_.take();
    }

    given_work<T> work_;
};

}  // namespace weir::detail
