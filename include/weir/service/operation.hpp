// SPDX-License-Identifier: MIT
// Operations: one change of all tasks that match a filter, such as 'delete the failed tasks of the
// queue mail'. The service makes them in the background, in small transactions with pauses, so that
// other calls of the store are not held up.
//
//     new_operation cleanup;
//     cleanup.action = task_action::remove;
//     cleanup.filter.queue = "mail";
//     const operation_record begun = tasks.start_operation(cleanup);
//
// Operations live in the memory of their node: a restart ends them, and what they have changed
// stays changed. Start the same operation again to continue.
#pragma once

#include <weir/error.hpp>
#include <weir/service/store.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::service {

struct new_operation {
    new_operation() = default;

    task_action action{};
    // Tasks that match; its before, limit, any_of, is_brief and max_scanned do not count. Without a
    // state: pending and running tasks are cancelled, failed ones retried, ended ones removed.
    task_filter filter;
    bool is_for_all = false;             // must be set if the filter has no condition
    bool is_dry_run = false;             // counts the tasks and changes none
    std::optional<std::uint64_t> limit;  // at most this many tasks, the newest
};
// Throws invalid_value: the filter has no condition and is_for_all is not set, the action cannot
// change tasks in the filter's state, or the limit is 0.
void check(const new_operation& operation);

enum class operation_state : unsigned char {
    running,
    done,     // it has reached all tasks that matched
    stopped,  // by a client, or by the end of the service
    failed,   // the store stayed unavailable: see error
};
std::string_view to_string(operation_state state) noexcept;

struct operation_record : new_operation {
    operation_record() = default;

    std::string id;
    operation_state state = operation_state::running;
    std::uint64_t matched = 0;  // tasks found so far
    std::uint64_t changed = 0;
    // Tasks that could not be changed: their state has changed meanwhile, or another task holds
    // their unique key.
    std::uint64_t skipped = 0;
    timestamp started_at{};
    std::optional<timestamp> ended_at;
    std::string error;
};

// As many operations run already as may run at a time.
class too_many_operations : public invalid_argument {
public:
    using invalid_argument::invalid_argument;
};

}  // namespace weir::service
