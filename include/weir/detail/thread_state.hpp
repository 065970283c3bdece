// SPDX-License-Identifier: MIT
// What a thread knows about the loop that runs on it: one thread-local block, reached in one
// instruction.
#pragma once

namespace weir::detail {

class fiber;
class loop_core;
class frame_pool;
struct context_values;

// Zero-initialised and trivially destructible, so that access needs neither a guard nor a wrapper
// function, and initial-exec, since general-dynamic access would cost more than an await.
struct thread_state {
    loop_core* loop = nullptr;       // the loop that runs on this thread now
    fiber* running = nullptr;        // the fiber that runs now; null inside plain callbacks
    void* next = nullptr;            // what the trampoline does next: a next_step's word
    unsigned budget = 0;             // operations that may still complete without a yield
    unsigned call_depth = 0;         // awaits that are nested on the machine stack
    unsigned eager_depth = 0;        // how many eager spawns are nested on the machine stack
    unsigned scope_serial = 0;       // of the scope that was entered last
    bool error_is_injected = false;  // the task that is awaited was replaced by an error
    bool is_discarding = false;      // what is destroyed unawaited now is no mistake of the user's
    frame_pool* pool = nullptr;      // recycled frames, made on first use
    context_values* callback_context = nullptr;  // task-local values of the running plain callback
};

extern constinit thread_local thread_state this_thread __attribute__((tls_model("initial-exec")));

// While it lives, tasks that are destroyed without having run are not reported: the library itself
// destroys the frame or the argument that holds them.
class discarding {
public:
    discarding() noexcept : outer_(this_thread.is_discarding) { this_thread.is_discarding = true; }
    discarding(const discarding&) = delete;
    discarding& operator=(const discarding&) = delete;
    ~discarding() { this_thread.is_discarding = outer_; }

private:
    bool outer_;
};

}  // namespace weir::detail
