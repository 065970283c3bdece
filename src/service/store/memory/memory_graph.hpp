// SPDX-License-Identifier: MIT
// The dependencies and groups of a memory_store, and what the ends of tasks mean for them.
#pragma once

#include <weir/service/workflow_store.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weir::service::detail {

class memory_tasks;

class memory_graph {
public:
    memory_graph() = default;
    memory_graph(const memory_graph&) = delete;
    memory_graph& operator=(const memory_graph&) = delete;

    // See workflow_store.
    workflow_result submit(memory_tasks& tasks, const workflow& flow, moment now);
    std::optional<group_record> seal(memory_tasks& tasks, group_id group, moment now);
    std::optional<group_record> find(group_id group) const;
    std::vector<group_record> list(const group_query& filter) const;
    static std::vector<task_record> members(memory_tasks& tasks, group_id group,
                                            const member_query& query);
    change_result cancel(memory_tasks& tasks, group_id group, moment now);
    change_result cancel_subtree(memory_tasks& tasks, task_id root, moment now);

    // The tasks that depend on this one, at most so many.
    std::vector<task_id> children(task_id parent, std::size_t limit) const;
    // Adds the reasons why the task waits.
    static void add_unmet(const task_record& task, std::vector<hold>& holds);

    // A task has ended, or is removed: work() tells those that depend on it.
    void ended(const task_record& task);
    void removed(const task_record& task);
    // A failed or cancelled task that is to run again. False: it must not. `waits` is the number of
    // its unmet dependencies.
    bool restarts(memory_tasks& tasks, const task_record& task, std::uint32_t& waits);
    // The payload of this task stays as it is, whatever its parents return.
    void keep_payload(task_id child) { payload_from_.erase(child); }
    void work(memory_tasks& tasks, moment now);

    // Since when the retention of a member counts; max() while its group is open. Empty: of none.
    std::optional<timestamp> kept_since(const task_record& task) const;
    void purge(const retention& kept, timestamp now);

private:
    struct memory_group : group_record {
        std::optional<new_task> callback;
        std::string key;
        std::uint64_t present = 0;  // members that were not removed
    };
    // A task whose end its dependents have not been told.
    struct told_end {
        task_id task;
        dependency_outcome outcome{};
    };

    // Null: a task of the workflow is refused.
    std::optional<submit_result> find_refusal(memory_tasks& tasks, const workflow& flow,
                                              std::size_t& at) const;
    workflow_result::verdict open_group(memory_tasks& tasks, const workflow& flow, group_id& group,
                                        moment now);
    submit_result add(memory_tasks& tasks, const new_task& task, group_id group,
                      const std::vector<submit_result>& before, moment now);
    void tell(memory_tasks& tasks, const told_end& end, moment now);
    // The group that counts this task; null: none.
    memory_group* counting(const task_record& task);
    static void count(group_record& group, task_state state, int change) noexcept;
    void end_group(memory_tasks& tasks, memory_group& group, moment now);
    static void cancel_waiting(memory_tasks& tasks, task_id id, const std::string& error,
                               moment now);

    std::map<task_id, std::set<task_id>> children_;  // by parent
    std::map<task_id, task_id> payload_from_;        // by child
    std::map<group_id, memory_group> groups_;
    std::set<task_id> detached_;  // members that were retried after the end of their group
    group_id last_group_;
    std::deque<told_end> ends_;
    std::set<group_id> changed_groups_;
    bool is_working_ = false;
};

}  // namespace weir::service::detail
