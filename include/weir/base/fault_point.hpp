// SPDX-License-Identifier: MIT
// Places where a test may have an operation fail: every read, write, accept, connect, query and
// timer asks here before it begins. Outside of weir::testing::explore_faults the answer is no, for
// the price of one load.
#pragma once

#include <weir/detail/thread_state.hpp>

namespace weir {

enum class io_point : unsigned char { read, write, accept, connect, query, timer };

namespace detail {

struct fault_answer {
    int error = 0;  // an errno: the operation fails with it
    // Less happens than could: a read gets one byte, a write is cut off in the middle, a timer
    // rings at once.
    bool cut_short = false;
    bool stops = false;  // the task was cancelled: the operation need not begin
};

class fault_injector {
public:
    // `may_stop`: the point is before a suspension of the running task, which may be cancelled.
    virtual fault_answer at(io_point kind, const char* name, bool may_stop) noexcept = 0;

protected:
    ~fault_injector() = default;
};

inline fault_answer fault_at(io_point kind, const char* name, bool may_stop = false) noexcept {
    fault_injector* const active = this_thread.faults;
    return active == nullptr ? fault_answer{} : active->at(kind, name, may_stop);
}

}  // namespace detail
}  // namespace weir
