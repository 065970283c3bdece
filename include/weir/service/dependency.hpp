// SPDX-License-Identifier: MIT
// Dependencies between tasks: a task that comes after others waits until all of them have ended.
//
//     service::new_task load("load", payload);
//     load.after.emplace_back(extracted.id);        // runs when that task has completed
//
// Each dependency says what happens if the other task fails or is cancelled. workflow.hpp submits
// tasks that come after each other in one call.
#pragma once

#include <weir/service/task_id.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace weir::service {

// What becomes of the dependent task if the other task fails or is cancelled.
enum class failure_policy : unsigned char {
    cancel,  // it is cancelled, too; its error names the other task
    run,     // it runs nevertheless, and sees the outcome
    hold,    // it waits until the other task is retried and completes
};
std::string_view to_string(failure_policy policy) noexcept;
std::optional<failure_policy> parse_failure_policy(std::string_view text) noexcept;

enum class dependency_outcome : unsigned char {
    open,  // it has not ended
    completed,
    failed,
    cancelled,
    gone,  // it was removed before it could complete, or never existed
};
std::string_view to_string(dependency_outcome outcome) noexcept;

// Of a task to submit.
struct dependency {
    dependency() = default;
    explicit dependency(task_id known, failure_policy policy = failure_policy::cancel) noexcept
        : task(known), on_failure(policy) {}

    // The same dependency with another policy, or one whose result becomes the payload.
    dependency with(failure_policy policy) const noexcept {
        dependency changed = *this;
        changed.on_failure = policy;
        return changed;
    }
    dependency as_payload() const noexcept {
        dependency changed = *this;
        changed.gives_payload = true;
        return changed;
    }

    task_id task;              // empty: number `position` of the same workflow
    std::size_t position = 0;  // less than that of the dependent task: so there are no cycles
    failure_policy on_failure = failure_policy::cancel;
    // The result of this task replaces the payload of the dependent one, if it completes. For one
    // dependency of a task at most.
    bool gives_payload = false;
};
inline constexpr std::size_t max_dependencies = 100;  // of a task

// Of a task in a store.
struct dependency_record {
    task_id task;  // which may have been removed since
    failure_policy on_failure = failure_policy::cancel;
    dependency_outcome outcome = dependency_outcome::open;

    // Whether the dependent task need not wait for it any more.
    bool is_met() const noexcept {
        return outcome == dependency_outcome::completed ||
               (outcome != dependency_outcome::open && on_failure == failure_policy::run);
    }
};

}  // namespace weir::service
