// SPDX-License-Identifier: MIT
// Reports: one hook receives every error that has no caller to throw to.
#pragma once

#include <weir/base/unique_function.hpp>
#include <weir/handle.hpp>

#include <exception>
#include <source_location>
#include <string>
#include <string_view>

namespace weir {

enum class report_kind : unsigned char {
    unretrieved_error,  // a task failed, and nothing retrieved its error
    callback_error,     // a callback threw
    suppressed_error,   // an error that another one took precedence over
    slow_step,          // debug: a task or callback held the loop too long
    never_awaited,      // debug: a task was destroyed without having run
    pending_destroyed,  // debug: a task had not ended when its loop was closed
    deadlock,           // debug: a task waits for its own lock; simulated time: nothing can go on
    shutdown,           // tasks that do not end
    unclosed_scope,     // a task_scope was destroyed while its tasks ran
    long_lease,         // an object of a pool is lent for longer than expected
    dropped_stream,     // a stream was destroyed, and tasks of it that cannot end were given up
};
std::string_view to_string(report_kind kind) noexcept;

struct report {
    report_kind kind;
    std::string message;
    std::exception_ptr error;  // may be null
    any_handle source;         // the task it is about; may be empty
    std::string created;       // debug: where that task was spawned or the callback registered
};

using report_handler = detail::unique_function<void(const report&)>;

}  // namespace weir
