// SPDX-License-Identifier: MIT
// How tasks are cancelled, and how a task manager ends. A request takes effect in memory at once: a
// task in the queue is taken out of it, and so can never start; one that is being inserted or
// started is looked at by its fiber when the store has answered; one that runs is stopped.

#include <weir/error.hpp>
#include <weir/flow/task_manager.hpp>

#include <algorithm>

namespace weir::detail {

// ---- cancel
// --------------------------------------------------------------------------------------

bool task_manager_core::cancel_live(const live_pointer& of, std::string_view reason) {
    if (of->phase >= task_phase::finishing) {
        return false;
    }
    of->cancel_requested = true;
    of->cancel_reason = reason;
    of->stop->is_set.store(true, std::memory_order_relaxed);
    if (of->phase == task_phase::queued) {
        queue_.erase(std::find(queue_.begin(), queue_.end(), of));
        of->phase = task_phase::finishing;
        start(drive_to_cancelled(driving(shared_from_this(), of, false)), *of);
    } else if (of->phase == task_phase::running) {
        of->fiber.cancel(reason);
    }  // else its fiber will look
    return true;
}

bool task_manager_core::request_cancel(std::string_view id, std::string_view reason) {
    const auto found = live_.find(id);
    return found != live_.end() && cancel_live(live_pointer(found->second), reason);
}

task<bool> task_manager_core::cancel(core_pointer self, std::string id, std::string reason) {
    const auto found = self->live_.find(id);
    if (found != self->live_.end()) {
        const live_pointer live = found->second;
        if (!self->cancel_live(live, reason)) {
            co_return false;
        }
        co_await live->ended.wait();
        co_return live->record.state == task_state::cancelled;
    }
    // None of ours: left over from another process, perhaps.
    std::optional<managed_task> stored = co_await self->store_.get(id);
    if (self->live_.contains(id)) {  // it was submitted meanwhile
        co_return co_await cancel(self, id, reason);
    }
    if (!stored.has_value() || stored->state != task_state::pending) {
        co_return false;
    }
    stored->state = task_state::cancelled;
    stored->error = reason;
    stored->finished_at = self->wall_now();
    ++stored->revision;
    const save_result done = co_await self->save(*stored, task_state::pending);
    if (done.how != saved::yes) {
        co_return false;
    }
    self->keep(*stored);
    co_return true;
}

// ---- out
// -----------------------------------------------------------------------------------------

void task_manager_core::close(shutdown_mode mode) {
    const core_pointer alive = shared_from_this();
    constexpr std::string_view closing = "the task manager was shut down";
    if (!std::exchange(is_closed_, true)) {
        tell("shut_down");
    }
    cancels_pending_ = cancels_pending_ || mode != shutdown_mode::drain;
    cancels_running_ = cancels_running_ || mode == shutdown_mode::now;
    const std::deque<live_pointer> queued = cancels_pending_ ? queue_ : std::deque<live_pointer>();
    for (const live_pointer& each : queued) {
        cancel_live(each, closing);
    }
    if (cancels_running_) {
        const auto all = live_;
        for (const auto& [id, each] : all) {
            cancel_live(each, closing);
        }
    }
    update_quiet();
}

task<void> task_manager_core::drain(core_pointer self) {
    co_await self->quiet_.wait();
}

task<void> task_manager_core::shutdown(core_pointer self, shutdown_mode mode) {
    self->close(mode);
    co_await self->quiet_.wait();
}

void task_manager_core::update_quiet() noexcept {
    if (unfinished_ != 0 || helpers_ != 0) {
        quiet_.clear();
        return;
    }
    quiet_.set();
    if (is_closed_) {
        feed_->close();
    }
}

}  // namespace weir::detail
