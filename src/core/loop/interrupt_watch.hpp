// SPDX-License-Identifier: MIT
// Turns the first SIGINT or SIGTERM during a run into the cancellation of the main task.
#pragma once

#include "core/loop/loop_state.hpp"

#include <weir/base/timer_wheel.hpp>
#include <weir/loop.hpp>

#include <exception>

namespace weir::detail {

// Watches from the beginning of a run to the end of its shutdown, with those signals that the
// loop's options name and that nothing else in the process handles. A second signal ends the
// process from its handler, since the loop itself may hang.
class interrupt_watch final : timer {
public:
    interrupt_watch(loop& home, fiber& main);
    interrupt_watch(const interrupt_watch&) = delete;
    interrupt_watch& operator=(const interrupt_watch&) = delete;
    ~interrupt_watch();

    // Before the shutdown: did the task end by the signal alone, or not end in time after it?
    bool ended_main() const noexcept;
    // A signal that came during the shutdown, after the task had ended with success.
    bool came_too_late() const noexcept;
    std::exception_ptr error() const;

private:
    void take(int number) noexcept;
    void fire() noexcept override;  // the deadline that the signal began

    loop& loop_;
    fiber& main_;
    int signal_ = 0;  // the one that has cancelled the main task
    bool has_signals_ = false;
    bool has_dump_ = false;
    bool is_overdue_ = false;
};

}  // namespace weir::detail
