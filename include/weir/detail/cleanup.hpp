// SPDX-License-Identifier: MIT
// Deferred clean-up: owned by the frame that registered it, run after the frame's locals are gone.
#pragma once

#include <weir/detail/fiber.hpp>
#include <weir/task.hpp>

#include <exception>

namespace weir::detail {

// How clean-up reports to a frame that still exists: its error, if any, becomes the frame's.
// Returns the error that the frame has ended with; null: a value.
using settle_function = std::exception_ptr (*)(promise_base&, std::exception_ptr) noexcept;

// One registration. Made by weir::defer, consumed by invoke().
struct deferred {
    deferred* next = nullptr;
    settle_function settle = nullptr;
    virtual task<void> invoke() = 0;
    // Nothing will await the clean-up: its frame was dropped on the loop's thread. Ends at once
    // what can be ended without waiting; true: nothing is left to invoke.
    virtual bool drop() noexcept { return false; }
    virtual ~deferred() = default;
};

// The frame was destroyed by a walk: run its clean-up, then continue with the walk.
next_step run_cleanup_in_walk(deferred* cleanup, frame& parent, fiber& on, walk& stop) noexcept;
// Throws the error into the frame as if its callee had thrown it.
next_step inject_error(fiber& on, frame& into, std::exception_ptr error) noexcept;
next_step run_walk(fiber& on) noexcept;

}  // namespace weir::detail
