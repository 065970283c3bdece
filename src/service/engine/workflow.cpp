// SPDX-License-Identifier: MIT
// Names of policies, outcomes and states, and checks of workflows. What one task must fulfil is
// checked in task.cpp.

#include "base/quoted.hpp"

#include <weir/http/json.hpp>
#include <weir/service/workflow.hpp>

#include <boost/json/object.hpp>

#include <array>
#include <cstddef>

namespace weir::service {

namespace {

constexpr std::array<std::string_view, 3> policy_names = {"cancel", "run", "hold"};
constexpr std::array<std::string_view, 5> outcome_names = {"open", "completed", "failed",
                                                           "cancelled", "gone"};
constexpr std::array<std::string_view, 5> group_state_names = {"open", "cancelling", "completed",
                                                               "failed", "cancelled"};

template <class Value, std::size_t Count>
std::optional<Value> parse_one_of(const std::array<std::string_view, Count>& names,
                                  std::string_view text) noexcept {
    for (std::size_t i = 0; i < Count; ++i) {
        if (names[i] == text) {
            return static_cast<Value>(i);
        }
    }
    return std::nullopt;
}

void check_dependencies(const new_task& task, std::size_t position) {
    if (task.after.size() > max_dependencies) {
        throw invalid_value("after", "a task comes after " + std::to_string(task.after.size()) +
                                         " others; up to " + std::to_string(max_dependencies) +
                                         " are allowed");
    }
    std::size_t payloads = 0;
    for (const dependency& each : task.after) {
        if (!each.task && each.position >= position) {
            throw invalid_value("after", "task " + std::to_string(position) + " comes after task " +
                                             std::to_string(each.position) +
                                             "; it must come after earlier tasks of the workflow");
        }
        payloads += each.gives_payload ? 1 : 0;
    }
    if (payloads > 1) {
        throw invalid_value("payload_from", "the payload of a task comes from one task alone");
    }
}

void check_group_callback(const new_task& callback) {
    const auto refuse = [](const std::string& reason) {
        throw invalid_value("callback", "group: callback: " + reason);
    };
    if (!callback.idempotency_key.empty() || !callback.unique_key.empty()) {
        refuse("it must have no idempotency_key and no unique_key: it is created once anyway");
    }
    if (!callback.after.empty()) {
        refuse("it must not come after other tasks: it comes after all members");
    }
    if (callback.run_at.has_value() || callback.expires_at.has_value()) {
        refuse("it must have no run_at and no expires_at: it runs when the group has ended");
    }
    const boost::json::value payload = http::parse_json(callback.payload);
    const boost::json::value* where = &payload;
    if (callback.kind == callback_kind && payload.is_object()) {
        where = payload.get_object().if_contains("body");
    }
    if (where != nullptr && !where->is_object() && !where->is_null()) {
        refuse(
            "its payload must be an object or null, and so must the body of a delivery: the "
            "member 'group' is added to it");
    }
}

}  // namespace

std::string_view to_string(failure_policy policy) noexcept {
    return policy_names[static_cast<std::size_t>(policy)];
}

std::optional<failure_policy> parse_failure_policy(std::string_view text) noexcept {
    return parse_one_of<failure_policy>(policy_names, text);
}

std::string_view to_string(dependency_outcome outcome) noexcept {
    return outcome_names[static_cast<std::size_t>(outcome)];
}

std::string_view to_string(group_state state) noexcept {
    return group_state_names[static_cast<std::size_t>(state)];
}

std::optional<group_state> parse_group_state(std::string_view text) noexcept {
    return parse_one_of<group_state>(group_state_names, text);
}

void check(const workflow& flow) {
    if (flow.tasks.size() > max_workflow_tasks) {
        throw invalid_value("tasks", "there are " + std::to_string(flow.tasks.size()) +
                                         " tasks; up to " + std::to_string(max_workflow_tasks) +
                                         " are taken at once");
    }
    for (std::size_t i = 0; i < flow.tasks.size(); ++i) {
        check_dependencies(flow.tasks[i], i);
    }
    if (!flow.group.has_value()) {
        return;
    }
    if (flow.join) {
        throw invalid_value("group", "the tasks join a group, or are members of a new one");
    }
    if (flow.group->name.size() > max_group_name) {
        throw invalid_value("name", "group: name is " + base::quoted(flow.group->name, 60) +
                                        "; it must have up to " + std::to_string(max_group_name) +
                                        " bytes");
    }
    if (flow.group->callback.has_value()) {
        check_group_callback(*flow.group->callback);
    }
}

std::string queue_of(const workflow& flow) {
    if (!flow.group.has_value() || !flow.group->queue.empty()) {
        return flow.group.has_value() ? flow.group->queue : std::string();
    }
    return flow.group->callback.has_value() ? flow.group->callback->queue
           : flow.tasks.empty()             ? std::string(default_queue)
                                            : flow.tasks.front().queue;
}

}  // namespace weir::service
