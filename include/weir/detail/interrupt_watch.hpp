// SPDX-License-Identifier: MIT
// Turns the first SIGINT during a run into the cancellation of the main task.
#pragma once

#include <weir/loop.hpp>

namespace weir::detail {

// Does nothing unless the loop was asked to be interruptible and nobody else handles the signal.
class interrupt_watch {
public:
    interrupt_watch(loop& at, fiber& main);
    interrupt_watch(const interrupt_watch&) = delete;
    interrupt_watch& operator=(const interrupt_watch&) = delete;
    ~interrupt_watch();

    // Throws interrupted if the task ended by the interrupt alone.
    void check() const;

private:
    loop& loop_;
    fiber& main_;
    bool is_installed_ = false;
    bool was_interrupted_ = false;
};

}  // namespace weir::detail
