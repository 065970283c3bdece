// SPDX-License-Identifier: MIT
// What a thread knows about the loop that runs on it: one thread-local block, reached in one
// instruction.
#pragma once

namespace weir::detail {

class fiber;
class loop_core;
struct frame_magazines;
class fault_injector;
struct context_values;

extern frame_magazines no_magazines;

// Constant-initialised and trivially destructible, so that access needs neither a guard nor a
// wrapper function, and initial-exec, since general-dynamic access would cost more than an await.
struct thread_state {
    loop_core* loop = nullptr;        // the loop that runs on this thread now
    loop_core* plain_loop = nullptr;  // the same, unless it is in debug mode
    fiber* running = nullptr;         // the fiber that runs now; null inside plain callbacks
    void* next = nullptr;             // what the trampoline does next: a next_step's word
    int budget = 0;                   // what the step may still do without a yield: see charge()
    unsigned call_depth = 0;          // awaits that are nested on the machine stack
    unsigned eager_depth = 0;         // how many eager spawns are nested on the machine stack
    unsigned scope_serial = 0;        // of the scope that was entered last
    bool error_is_injected = false;   // the task that is awaited was replaced by an error
    bool is_discarding = false;       // what is destroyed unawaited now is no mistake of the user's
    frame_magazines* frames = &no_magazines;  // recycled ones, made on first use
    fault_injector* faults = nullptr;         // of a test that has operations fail; null: none do
    context_values* callback_context = nullptr;  // task-local values of the running plain callback
};

extern constinit thread_local thread_state this_thread __attribute__((tls_model("initial-exec")));

// Each operation costs a step one unit of its budget, some 20 ns. Work that takes longer charges
// the difference, so that a task which never has to wait holds the loop no longer with system calls
// than with operations in memory. The budget may become negative.
inline void charge(int units) noexcept {
    constexpr int lowest = -(1 << 24);
    const int left = this_thread.budget - units;
    this_thread.budget = left < lowest ? lowest : left;
}
// For a system call that moved so many bytes, or failed.
inline void charge_system_call(long bytes) noexcept {
    constexpr int cost = 64;
    constexpr long bytes_per_unit = 64;
    charge(cost + (bytes > 0 ? static_cast<int>(bytes / bytes_per_unit) : 0));
}

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
