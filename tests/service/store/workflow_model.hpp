// SPDX-License-Identifier: MIT
// A model of workflows, to compare stores with.
#pragma once

#include "workflows.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace store_test {

// The rules in the simplest implementation.
struct flow_model {
    struct entry {
        task_state state = task_state::pending;
        bool is_cancelling = false;
        std::uint32_t run = 0;
        std::uint32_t crashes = 0;
        std::string node;
        std::string queue;
        std::vector<dependency_record> parents;
        group_id group;
        bool counts = true;  // in its group
        timestamp finished_at{};

        bool is_waiting() const {
            return state == task_state::pending &&
                   std::ranges::any_of(parents, [](const auto& each) { return !each.is_met(); });
        }
    };
    struct group_entry {
        group_state state = group_state::open;
        bool is_sealed = false;
        failure_policy policy{};
        bool runs_on_cancel = true;
        std::uint64_t total = 0;
        std::uint64_t open = 0;
        std::uint64_t failed = 0;
        std::uint64_t cancelled = 0;
        timestamp finished_at{};
        bool is_callback_cancelled = false;
    };
    std::map<task_id, entry> tasks;
    std::map<group_id, group_entry> groups;
    timestamp now{};

    void count(entry& task, task_state state, int change) {
        if (task.group && task.counts) {
            group_entry& group = groups.at(task.group);
            const auto more = static_cast<std::uint64_t>(change);
            group.failed += state == task_state::failed ? more : 0;
            group.cancelled += state == task_state::cancelled ? more : 0;
            group.open -= more;
        }
    }
    static dependency_outcome outcome_of(task_state state) {
        return state == task_state::completed ? dependency_outcome::completed
               : state == task_state::failed  ? dependency_outcome::failed
                                              : dependency_outcome::cancelled;
    }
    static bool is_bad(dependency_outcome outcome) {
        return outcome == dependency_outcome::failed || outcome == dependency_outcome::cancelled;
    }
    // Whether the task must not run, as one that it depends on has ended so.
    static bool is_doomed(const entry& task) {
        return std::ranges::any_of(task.parents, [](const dependency_record& each) {
            return (is_bad(each.outcome) && each.on_failure == failure_policy::cancel) ||
                   (each.outcome == dependency_outcome::gone &&
                    each.on_failure != failure_policy::run);
        });
    }
    void end(task_id id, task_state state) {
        entry& task = tasks.at(id);
        task.state = state;
        task.is_cancelling = false;
        task.finished_at = now;
        count(task, state, 1);
        tell(id, outcome_of(state));
    }
    void tell(task_id parent, dependency_outcome outcome) {
        for (auto& [id, each] : tasks) {
            for (dependency_record& edge : each.parents) {
                const bool is_held = outcome == dependency_outcome::gone &&
                                     edge.on_failure == failure_policy::hold &&
                                     is_bad(edge.outcome);
                if (edge.task == parent && (edge.outcome == dependency_outcome::open || is_held)) {
                    edge.outcome = outcome;
                }
            }
            if (each.state == task_state::pending && is_doomed(each)) {
                end(id, task_state::cancelled);
            }
        }
    }
    void remove(task_id id) {
        entry task = tasks.at(id);
        tasks.erase(id);
        if (!is_final(task.state)) {
            count(task, task_state::cancelled, 1);
        }
        if (task.state != task_state::completed) {
            if (task.group && task.counts && groups.at(task.group).state == group_state::open &&
                groups.at(task.group).policy == failure_policy::hold) {
                groups.at(task.group).policy = failure_policy::cancel;
            }
            tell(id, dependency_outcome::gone);
        }
    }
    change_result cancel(task_id id) {
        const auto found = tasks.find(id);
        if (found == tasks.end()) {
            return change_result::not_found;
        }
        if (is_final(found->second.state) || found->second.is_cancelling) {
            return change_result::no_change;
        }
        if (found->second.state == task_state::running) {
            found->second.is_cancelling = true;
            return change_result::requested;
        }
        end(id, task_state::cancelled);
        return change_result::done;
    }
    change_result retry(task_id id) {
        const auto found = tasks.find(id);
        if (found == tasks.end()) {
            return change_result::not_found;
        }
        entry& task = found->second;
        const bool has_ended_badly =
            task.state == task_state::failed || task.state == task_state::cancelled;
        if (!has_ended_badly || is_doomed(task) ||
            (task.group && task.counts && groups.at(task.group).state == group_state::cancelling)) {
            return change_result::no_change;
        }
        if (task.group && task.counts && is_final(groups.at(task.group).state)) {
            task.counts = false;
        }
        count(task, task.state, -1);
        task.state = task_state::pending;
        task.crashes = 0;
        for (auto& [child, each] : tasks) {
            for (dependency_record& edge : each.parents) {
                if (edge.task == id && edge.on_failure != failure_policy::run &&
                    is_bad(edge.outcome)) {
                    edge.outcome = dependency_outcome::open;
                }
            }
        }
        return change_result::done;
    }
    // At the end of each operation, as stores do at the end of a transaction.
    void end_groups() {
        for (auto& [id, each] : groups) {
            const bool has_bad = each.failed + each.cancelled > 0;
            const bool is_cancelled = each.state == group_state::cancelling;
            if (is_final(each.state) || !each.is_sealed || each.open > 0 ||
                (!is_cancelled && has_bad && each.policy == failure_policy::hold)) {
                continue;
            }
            each.state = is_cancelled ? group_state::cancelled
                         : has_bad    ? group_state::failed
                                      : group_state::completed;
            each.finished_at = now;
            each.is_callback_cancelled =
                (is_cancelled && !each.runs_on_cancel) ||
                (!is_cancelled && has_bad && each.policy != failure_policy::run);
        }
    }
    bool is_claimable(const entry& task) const {
        return task.state == task_state::pending && !task.is_waiting();
    }
};

}  // namespace store_test
