// SPDX-License-Identifier: MIT
// The end of a loop: how its tasks are ended, and until when.
#pragma once

#include "core/loop/scheduler.hpp"

#include <weir/base/closable.hpp>
#include <weir/base/intrusive_list.hpp>
#include <weir/loop.hpp>

#include <string>

namespace weir::detail {

class shutdown_sequence {
public:
    shutdown_sequence(loop& home, scheduler& turns, clock::duration deadline) noexcept
        : home_(home), turns_(turns), deadline_(deadline) {}
    shutdown_sequence(const shutdown_sequence&) = delete;
    shutdown_sequence& operator=(const shutdown_sequence&) = delete;

    // A signal ends the run: the deadline counts from now. Returns when it is.
    clock::time_point interrupt(int signal) noexcept;
    int interrupted_by() const noexcept { return signal_; }
    // Tasks were stopped at the deadline, or abandoned.
    bool was_late() const noexcept { return was_late_; }

    // Objects to close after the tasks and before the loop.
    void add(closable& open) noexcept { closables_.push_front(open); }
    bool has_closables() const noexcept { return !closables_.empty(); }

    // Ends all tasks. Throws shutdown_timeout.
    void run();
    // After a failed run(): tasks that do not end are leaked.
    void abandon() noexcept;

private:
    void end_all_tasks(bool cancelling);
    void await_tasks(bool cancelling, const bool& give_up);
    std::string describe_late_tasks() const;

    loop& home_;
    scheduler& turns_;
    clock::duration deadline_;
    clock::time_point end_by_ = clock::time_point::max();  // set by the signal
    int signal_ = 0;
    bool was_late_ = false;
    intrusive_list<closable, closable_tag> closables_;
};

}  // namespace weir::detail
