// SPDX-License-Identifier: MIT
// The end of a loop: tasks are cancelled and awaited, then generators closed, then the loop. At the
// deadline shields break, and what that stops is named; what still does not end is named and
// leaked, since destroying a live operation would be worse.

#include "core/loop/loop_state.hpp"
#include "core/runtime/fiber_extras.hpp"

#include <weir/detail/group_support.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>

#include <algorithm>
#include <mutex>

namespace weir {

namespace {

// Rings at a time, for a wait that has a limit.
class alarm final : detail::timer {
public:
    alarm(loop& at, clock::time_point when) : at_(at) { at.arm(*this, when); }
    alarm(const alarm&) = delete;
    alarm& operator=(const alarm&) = delete;
    ~alarm() { at_.disarm(*this); }
    const bool& has_rung() const noexcept { return has_rung_; }

private:
    void fire() noexcept override { has_rung_ = true; }
    loop& at_;
    bool has_rung_ = false;
};

}  // namespace

namespace detail {

void closable::register_at(loop_core& loop_of) noexcept {
    home = &loop_of;
    closable*& first = static_cast<loop&>(loop_of).state().closables;
    previous = nullptr;
    next = first;
    if (first != nullptr) {
        first->previous = this;
    }
    first = this;
}

void closable::unregister() noexcept {
    if (home == nullptr) {
        return;
    }
    (previous != nullptr ? previous->next : static_cast<loop*>(home)->state().closables) = next;
    if (next != nullptr) {
        next->previous = previous;
    }
    home = nullptr;
}

}  // namespace detail

// Waits for the tasks that there are now, and then for those that they have started meanwhile.
void loop::await_tasks(bool cancelling, const bool& give_up) {
    constexpr int enough = 1000;  // tasks that start tasks while they end, for ever
    for (int round = 0; root_->child_count > 0 && !give_up && round < enough; ++round) {
        std::vector<any_handle> ending = all_tasks();
        for (const any_handle& each : ending) {
            if (cancelling && each.checked().group == root_) {
                each.cancel();
            }
            if (shields_broken_) {
                detail::release_held_stop(each.checked());
            }
        }
        while (!give_up) {
            while (!ending.empty() && ending.back().done()) {
                ending.pop_back();
            }
            if (ending.empty()) {
                break;
            }
            state_->stop_met = false;
            work();
            if (!ending.back().done() && !give_up) {  // the alarm may just have rung
                wait();
            }
        }
    }
}

std::string loop::describe_late_tasks() {
    return std::to_string(root_->child_count) +
           " task(s) did not end within the shutdown deadline\n" + dump_tasks();
}

// Until the deadline, then once more for a short time without shields.
void loop::end_all_tasks(bool cancelling) {
    constexpr clock::duration last_chance = std::chrono::seconds(1);
    std::string late;
    for (const bool is_last_attempt : {false, true}) {
        if (root_->child_count == 0) {
            break;
        }
        clock::time_point until =
            std::min(state_->end_by, detail::after(now(), state_->shutdown_deadline));
        if (is_last_attempt) {
            state_->ended_late = true;
            late = describe_late_tasks();
            until = detail::after(now(), std::min(last_chance, state_->shutdown_deadline));
        }
        shields_broken_ = is_last_attempt;
        try {
            const alarm limit(*this, until);
            await_tasks(cancelling || is_last_attempt, limit.has_rung());
        } catch (const deadlock&) {
            // Only without an alarm, when the deadline is the end of time. The tasks are named
            // below.
        }
    }
    if (root_->child_count > 0) {
        throw shutdown_timeout(describe_late_tasks());
    }
    if (!late.empty()) {
        tell({report_kind::shutdown,
              late + "They were stopped without their clean-up.",
              nullptr,
              {},
              {}});
    }
}

void loop::shutdown() {
    if (state_->is_closed) {
        return;
    }
    start();
    try {
        detail::running_mark running(*this);
        forget_stop();
        end_all_tasks(true);
        while (state_->closables != nullptr) {
            detail::closable& each = *state_->closables;
            each.unregister();
            each.close_at_shutdown();
        }
        end_all_tasks(false);
        stop();  // the last callbacks, but not those that they queue
        while (!state_->stop_met) {
            work();
        }
        end_all_tasks(true);
    } catch (...) {
        abandon_tasks();
        throw;
    }
    release_everything();
}

void loop::close() {
    if (state_->is_closed) {
        return;
    }
    if (state_->is_running) {
        throw loop_error("close: the loop is running; stop() it first");
    }
    for (detail::fiber* each = root_->first_child; debug_ && each != nullptr;
         each = each->next_sibling) {
        tell({report_kind::pending_destroyed,
              "a task had not ended when its loop was closed: " + detail::fiber_name(*each),
              nullptr, any_handle(*each), detail::creation_site(*each)});
    }
    if (root_->child_count > 0 || state_->closables != nullptr) {
        shutdown();
    } else {
        release_everything();
    }
}

// What does not end is kept for ever, where leak checkers can see it; handles find it cancelled.
void loop::abandon_tasks() noexcept {
    if (state_->is_closed) {
        return;
    }
    static std::mutex mutex;
    static auto& abandoned = *new std::vector<any_handle>;
    std::lock_guard lock(mutex);
    for (any_handle& each : all_tasks()) {
        each.checked().raise(detail::is_done);
        each.checked().raise(detail::is_cancelled);
        abandoned.push_back(std::move(each));
    }
    while (state_->closables != nullptr) {
        state_->closables->unregister();
    }
    release_everything();
}

void loop::release_everything() noexcept {
    state_->is_closed = true;
    state_->signals.reset();
    forget_stop();
    while (detail::timer* armed = state_->timers.pop_due(INT64_MAX)) {
        if (auto* call = dynamic_cast<detail::scheduled_call*>(armed)) {
            call->drop_callback();
            call->release();
        }
    }
    detail::mail_item* each = state_->mail->take_all(true);
    while (each != nullptr) {
        detail::mail_item& lost = *each;
        each = detail::inbox::after(lost);
        lost.get_lost();
    }
    // Last, since what was dropped above may have queued something, such as the callbacks of a
    // future.
    while (ready_head_ != nullptr) {  // callbacks are dropped; fibers that never ended are leaked
        detail::ready_item& item = take(&ready_head_);
        if ((item.flags & detail::is_callback) != 0 && &item != &state_->stop_marker) {
            auto& call = static_cast<detail::scheduled_call&>(item);
            call.drop_callback();
            call.release();
        }
    }
    root_->is_closed = true;
    while (!state_->services.empty()) {  // later ones may use earlier ones
        state_->services.pop_back();
    }
}

}  // namespace weir
