// SPDX-License-Identifier: MIT
// Workflows: tasks that come after each other, and groups of tasks with a callback.
//
//     service::workflow flow;
//     const service::dependency extract = flow.add(service::new_task("extract"));
//     flow.add(service::new_task("load"), {extract.as_payload()});
//     flow.group.emplace().callback = service::new_task("report");
//     const service::workflow_result made = co_await tasks.workflows().submit(std::move(flow));
//
// All tasks of a workflow are created, or none. A group counts its members: when the last of them
// has ended and the group is sealed, its callback is created, in the transaction that ended that
// member. So the callback is created once, after all members, whatever crashes. docs/workflows.md
// shows chains, fan-out and fan-in, and the policies for failures.
#pragma once

#include <weir/service/dependency.hpp>
#include <weir/service/store.hpp>
#include <weir/service/task.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::service {

inline constexpr std::size_t max_workflow_tasks = 10'000;  // of one submit
inline constexpr std::uint64_t max_group_tasks = 1'000'000;
inline constexpr std::size_t max_group_name = 200;

enum class group_state : unsigned char {
    open,        // members may run
    cancelling,  // a client has cancelled it: no member starts any more
    completed,   // all members have completed; this and the next two are final
    failed,      // a member has failed, or was cancelled on its own
    cancelled,
};
std::string_view to_string(group_state state) noexcept;
std::optional<group_state> parse_group_state(std::string_view text) noexcept;
inline bool is_final(group_state state) noexcept {
    return state >= group_state::completed;
}

// A group to create.
struct new_group {
    new_group() = default;

    std::string name;  // for people
    // Whose scopes a token needs to see and to cancel the group. Empty: that of the callback, or of
    // the first task.
    std::string queue;
    // Created when the group ends. Its payload is an object or null: it gets the member 'group'
    // with the id, the state and the counts of the group. Deliveries (of kind 'http') get it in
    // their body.
    std::optional<new_task> callback;
    // Whether the callback runs although members have failed or were cancelled: with `cancel`, it
    // is created as a cancelled task; with `hold`, the group waits until they are retried.
    failure_policy on_failure = failure_policy::cancel;
    bool runs_callback_on_cancel = true;  // if the group is cancelled; else it is created cancelled
    // No members are added later, except by running members. Only a sealed group ends.
    bool is_sealed = true;
    // A second group with this key is not created, and neither are its tasks.
    std::string idempotency_key;
};

struct group_record {
    group_record() = default;

    group_id id;
    std::string name;
    std::string queue;
    group_state state = group_state::open;
    bool is_sealed = false;
    failure_policy on_failure = failure_policy::cancel;
    bool runs_callback_on_cancel = true;
    std::uint64_t total = 0;  // members so far, also those that were removed
    std::uint64_t open = 0;   // that have not ended
    std::uint64_t failed = 0;
    std::uint64_t cancelled = 0;
    std::string callback_kind;  // empty: it has no callback
    task_id callback_task;      // once it was created
    timestamp created_at{};
    std::optional<timestamp> finished_at;

    std::uint64_t completed() const noexcept { return total - open - failed - cancelled; }
    // It waits until failed members are retried.
    bool is_held() const noexcept {
        return state == group_state::open && is_sealed && open == 0 && failed + cancelled > 0 &&
               on_failure == failure_policy::hold;
    }
};

// Tasks to submit together.
struct workflow {
    workflow() = default;

    // Adds a task, after others. The result stands for it in the dependencies of later tasks.
    dependency add(new_task task, std::vector<dependency> after = {}) {
        task.after.insert(task.after.end(), after.begin(), after.end());
        tasks.push_back(std::move(task));
        dependency added;
        added.position = tasks.size() - 1;
        return added;
    }

    std::vector<new_task> tasks;
    std::optional<new_group> group;  // the tasks become its members
    group_id join;                   // instead: an existing group
    // With join: the run of a member that adds them, which a sealed group permits as well.
    run_key from;
};

// Throws invalid_value that names the member and the valid values. The tasks are checked as single
// ones are.
void check(const workflow& flow);
// The queue of its group: see new_group::queue.
std::string queue_of(const workflow& flow);

struct workflow_result {
    enum class verdict : unsigned char {
        made,
        duplicate,     // a group with this idempotency key exists: `group`; no task was created
        refused,       // tasks[refused] says why; no task was created
        no_group,      // `join` is unknown
        group_closed,  // `join` is sealed, is being cancelled or has ended
        group_full,    // it would have more than max_group_tasks members
    };
    workflow_result() = default;

    verdict what = verdict::made;
    group_id group;
    // One per task, in their order, if they were made. A task whose idempotency key or unique key
    // is that of an existing one stands for that, which does not become a member.
    std::vector<submit_result> tasks;
    std::size_t refused = 0;
};

struct group_query {
    group_query() = default;

    std::optional<group_state> state;
    group_id before;  // only older groups: the cursor of a list
    std::size_t limit = 50;
};

// Members of a group, the oldest first.
struct member_query {
    member_query() = default;

    task_id after;  // only newer tasks: the cursor
    std::size_t limit = 100;
    bool is_brief = false;  // without payload and result
};

}  // namespace weir::service
