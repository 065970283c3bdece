// SPDX-License-Identifier: MIT
// A turn runs a limited number of entries, so a fiber that yields for ever starves neither timers
// nor sockets; and a turn costs no system call while work is ready and nothing outside is watched.
// In debug mode the clock is read around every step, and slow ones are reported.

#include "core/loop/scheduler.hpp"

#include "base/source_place.hpp"
#include "core/loop/scheduled_call.hpp"

#include <weir/error.hpp>

#include <string>
#include <utility>

namespace weir::detail {

namespace {

constexpr int most_turns_without_poll = 3;

std::string in_milliseconds(clock::duration held) {
    return std::to_string(held / std::chrono::milliseconds(1)) + " ms";
}

std::string describe_await(const std::source_location& where) {
    return plain_function_name(where.function_name()) + " at " + describe_place(where);
}

// Where a suspended fiber is: the await of its innermost coroutine. Empty when it has ended.
std::string describe_position(const fiber& suspended) {
    const frame* at = suspended.top;
    while (at != nullptr && at->is_boundary() && at != &suspended) {
        at = at->parent;
    }
    if (suspended.has(is_done) || at == nullptr || at == &suspended) {
        return {};
    }
    return describe_await(static_cast<const promise_base*>(at)->here);
}

}  // namespace

scheduler::scheduler(loop& home, ready_queue& ready, inbox& mail, signal_table& signals,
                     clock::duration slow_step) noexcept
    : home_(home),
      ready_(ready),
      mail_(mail),
      signals_(signals),
      driver_(mail.driver()),
      slow_step_(slow_step) {
    stop_marker_.flags = is_callback;
}

explorer& scheduler::explore(std::uint64_t seed) {
    explorer_ = std::make_unique<explorer>(seed);
    home_.set_elides_yields(false);
    return *explorer_;
}

// ---- turns --------------------------------------------------------------------------------------

void scheduler::work() {
    run_ready();
    if (!mail_.empty()) [[unlikely]] {
        take_mail();
    }
    if (!timers_.empty()) {
        fire_timers();
    }
}

void scheduler::wait() {
    if (!ready_.empty()) {
        if (driver_.has_sources() && poll_is_due()) {
            driver_.wait(0);
        }
    } else if (idle_waiters_.has_waiting() && mail_.empty()) {
        idle_waiters_.release_first(
            wait_state::granted);  // one at a time: it may make others ready
    } else {
        sleep();
    }
}

bool scheduler::poll_is_due() noexcept {
    if (turn_was_short_ && turns_without_poll_ < most_turns_without_poll &&
        !driver_.has_unsubmitted()) {
        ++turns_without_poll_;
        return false;
    }
    turns_without_poll_ = 0;
    return true;
}

bool scheduler::poll() {
    stop_is_reached_ = false;  // there is no run to stop
    driver_.wait(0);
    work();
    if (ready_.empty() && driver_.has_sources()) {
        driver_.wait(0);  // operations begun now reach the kernel before the host sleeps
    }
    // The host may sleep now: a thread that posts from here on makes the descriptor readable.
    mail_.begin_sleep();
    return has_work();
}

bool scheduler::has_work() const noexcept {
    return !ready_.empty() || !mail_.empty() || driver_.has_unsubmitted();
}

std::optional<clock::time_point> scheduler::next_deadline() noexcept {
    if (has_work()) {
        return now();
    }
    const std::int64_t deadline = timers_.next_deadline();
    if (deadline == timer_wheel::never) {
        return std::nullopt;
    }
    return clock::time_point(clock::duration(deadline));
}

void scheduler::take_events() {
    driver_.wait(0);
    take_mail();
    fire_timers();
}

void scheduler::run_ready() noexcept {
    const bool plain = !home_.debug() && explorer_ == nullptr;
    turn_share share;
    while (!share.is_spent() && !ready_.empty() && !stop_is_reached_) {
        if (plain) [[likely]] {
            home_.run_fibers(share);
            if (share.is_spent() || ready_.empty()) {
                break;
            }
        }
        run_one(explorer_ != nullptr ? explorer_->take(ready_) : ready_.pop(), share);
    }
    turn_was_short_ = share.resumptions > 0;
}

void scheduler::run_one(ready_item& item, turn_share& share) noexcept {
    --share.resumptions;
    if ((item.flags & is_callback) != 0) {
        run_callback(item);
        return;
    }
    auto& ready = static_cast<fiber&>(item);
    const int budget = explorer_ != nullptr ? explorer_->budget() : operations_per_step;
    if (home_.debug()) {
        run_watched(ready, budget);
    } else {
        home_.step(ready, budget);
    }
    share.operations -= budget - this_thread.budget;
}

void scheduler::run_callback(ready_item& item) noexcept {
    if (&item == &stop_marker_) {
        stop_is_queued_ = false;
        stop_is_reached_ = true;
        return;
    }
    auto& call = static_cast<scheduled_call&>(item);
    if (!home_.debug()) [[likely]] {
        call.run();
        return;
    }
    const std::string place = describe_place(call.registered);
    const clock::time_point begin = now();
    call.run();
    const clock::duration held = now() - begin;
    if (held >= slow_step_) {
        home_.tell(
            {report_kind::slow_step,
             "the callback registered at " + place + " held the loop for " + in_milliseconds(held),
             nullptr,
             {},
             place});
    }
}

void scheduler::run_watched(fiber& ready, int budget) noexcept {
    any_handle keep(ready);
    const std::source_location before = ready.top->is_boundary()
                                            ? std::source_location()
                                            : static_cast<const promise_base*>(ready.top)->here;
    const clock::time_point begin = now();
    home_.step(ready, budget);
    const clock::duration held = now() - begin;
    if (held < slow_step_) {
        return;
    }
    std::string message =
        "task " + fiber_name(ready) + " held the loop for " + in_milliseconds(held);
    if (before.line() != 0) {
        message += ", from " + describe_await(before);
    }
    const std::string position = describe_position(ready);
    message += position.empty() ? " to its end" : " to the await in " + position;
    home_.tell({report_kind::slow_step, std::move(message), nullptr, keep, {}});
}

void scheduler::fire_timers() noexcept {
    const std::int64_t now = driver_.now();
    random_source* const shuffle =
        explorer_ != nullptr && explorer_->shuffles() ? &explorer_->random() : nullptr;
    while (timer* due = timers_.pop_due(now, shuffle)) {
        due->fire();
    }
}

void scheduler::take_mail() noexcept {
    if (mail_.has_signals()) {
        signals_.queue_callbacks(mail_.take_signals());
    }
    mail_.deliver(home_);
}

void scheduler::sleep() {
    const std::int64_t deadline = timers_.next_deadline();
    if (driver_.is_simulated() && deadline == timer_wheel::never && !mail_.expects_post() &&
        mail_.empty()) {
        throw_deadlock();
    }
    if (mail_.begin_sleep()) {
        // Simulated time must not run ahead of work that is done elsewhere in real time.
        const bool waits_for_post = driver_.is_simulated() && mail_.expects_post();
        driver_.wait(waits_for_post ? driver::forever : deadline);
    }
    mail_.end_sleep();
    if (!mail_.empty()) {
        take_mail();
    }
    if (!timers_.empty()) {
        fire_timers();
    }
}

void scheduler::throw_deadlock() {
    const std::string message =
        "deadlock: no task is ready, no timer is armed, and nothing outside can wake one\n" +
        home_.dump_tasks();
    if (home_.debug()) {
        home_.tell({report_kind::deadlock, message, nullptr, {}, {}});
    }
    throw deadlock(message);
}

// ---- the end ------------------------------------------------------------------------------------

void scheduler::request_stop() noexcept {
    if (!std::exchange(stop_is_queued_, true)) {
        ready_.push(stop_marker_);
    }
}

void scheduler::forget_stop() noexcept {
    stop_is_reached_ = false;
    if (std::exchange(stop_is_queued_, false)) {
        ready_.remove(stop_marker_);
    }
}

void scheduler::close() noexcept {
    forget_stop();
    while (timer* armed = timers_.pop_due(INT64_MAX)) {
        if (auto* call = dynamic_cast<scheduled_call*>(armed)) {
            call->discard();
        }
    }
    mail_.close();
    // Last, since the destructors above may have queued more, such as the callbacks of a future.
    // Callbacks are dropped; fibers that never ended are leaked.
    while (!ready_.empty()) {
        ready_item& item = ready_.pop();
        if ((item.flags & is_callback) != 0 && &item != &stop_marker_) {
            static_cast<scheduled_call&>(item).discard();
        }
    }
}

}  // namespace weir::detail
