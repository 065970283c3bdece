// SPDX-License-Identifier: MIT
// The state of each parent is looked up when its child is created: one that has ended, or does not
// exist, decides at once, and the child waits for the others. A child that cannot run is created
// and cancelled, so that clients see why.

#include "service/store/sqlite/workflow/graph_submit.hpp"

#include "service/store/group_callback.hpp"
#include "service/store/sqlite/rows/group_rows.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"

#include <algorithm>

namespace weir::service::detail {

workflow_result graph_submit::run(const workflow& flow) {
    if (!find_group(flow)) {
        return result_;
    }
    result_.tasks.reserve(flow.tasks.size());
    for (const new_task& each : flow.tasks) {
        add(each);
    }
    if (result_.group) {
        ends_.joins(result_.group.number(), members_);
    }
    ends_.close();
    books_.close();
    return std::move(result_);
}

bool graph_submit::find_group(const workflow& flow) {
    using verdict = workflow_result::verdict;
    if (flow.join) {
        result_.group = flow.join;
        const std::optional<group_row> found = detail::find_group(session_, flow.join);
        if (!found.has_value()) {
            result_.what = verdict::no_group;
        } else if (found->state != group_state::open ||
                   (found->is_sealed && !is_running_member(flow.from))) {
            result_.what = verdict::group_closed;
        } else if (found->total + flow.tasks.size() > max_group_tasks) {
            result_.what = verdict::group_full;
        }
        return result_.what == verdict::made;
    }
    if (!flow.group.has_value()) {
        return true;
    }
    if (!flow.group->idempotency_key.empty()) {
        result_.group = detail::find_group(session_, flow.group->idempotency_key);
        if (result_.group) {
            result_.what = verdict::duplicate;
            return false;
        }
    }
    result_.group = insert_group(session_, *flow.group, queue_of(flow), now_.at);
    return true;
}

bool graph_submit::is_running_member(const run_key& run) {
    return !session_
                .query(
                    "SELECT 1 FROM tasks WHERE id = ? AND run = ? AND state = 1 AND in_group = ? "
                    "AND is_detached IS NULL",
                    run.id.number(), run.run, result_.group.number())
                .empty();
}

void graph_submit::add(const new_task& task) {
    const std::vector<parent_edge> parents = parents_of(task);
    submitter::placement in;
    if (result_.group) {
        in.group = result_.group.number();
    }
    const parent_edge* obstacle = nullptr;
    for (const parent_edge& each : parents) {
        const verdict_on_child verdict = verdict_for(each.policy, each.outcome);
        in.waits = in.waits.value_or(0) + (verdict == verdict_on_child::released ? 0 : 1);
        if (verdict == verdict_on_child::cancelled && obstacle == nullptr) {
            obstacle = &each;
        }
        if (each.gives_payload) {
            in.payload_from = each.parent;
        }
    }
    const submit_result made = tasks_.add(task, in);
    result_.tasks.push_back(made);
    if (made.what == submit_result::verdict::duplicate) {
        return;
    }
    if (made.what != submit_result::verdict::made) {
        result_.what = workflow_result::verdict::refused;
        result_.refused = result_.tasks.size() - 1;
        throw refused_graph{std::move(result_)};
    }
    members_ += in.group.has_value() ? 1 : 0;
    write_edges(made.id.number(), parents);
    if (obstacle != nullptr) {
        ends_.cancel(made.id.number(),
                     upstream_error(task_id(obstacle->parent), obstacle->outcome));
    }
}

std::vector<graph_submit::parent_edge> graph_submit::parents_of(const new_task& task) {
    std::vector<parent_edge> parents;
    for (const dependency& each : task.after) {
        parent_edge added;
        added.parent = (each.task ? each.task : result_.tasks.at(each.position).id).number();
        added.policy = each.on_failure;
        added.gives_payload = each.gives_payload;
        if (std::ranges::find(parents, added.parent, &parent_edge::parent) == parents.end()) {
            added.outcome = outcome_of_task(added.parent);
            parents.push_back(added);
        }
    }
    return parents;
}

dependency_outcome graph_submit::outcome_of_task(std::int64_t id) {
    const sqlite::rows found = session_.query("SELECT state FROM tasks WHERE id = ?", id);
    return found.empty() ? dependency_outcome::gone
                         : outcome_of(static_cast<task_state>(found[0].get<int>(0)));
}

void graph_submit::write_edges(std::int64_t child, const std::vector<parent_edge>& parents) {
    for (const parent_edge& each : parents) {
        const bool is_open = each.outcome == dependency_outcome::open;
        session_.execute("INSERT INTO edges(child, parent, policy, outcome) VALUES (?, ?, ?, ?)",
                         child, each.parent, static_cast<int>(each.policy),
                         is_open ? std::nullopt : std::optional(static_cast<int>(each.outcome)));
        session_.execute("UPDATE tasks SET has_children = 1 WHERE id = ? AND has_children IS NULL",
                         each.parent);
        if (each.gives_payload && each.outcome == dependency_outcome::completed) {
            write_payload(
                session_, child,
                session_
                    .query("SELECT coalesce(result, 'null') FROM tasks WHERE id = ?", each.parent)
                    .one<std::string>());
        }
    }
}

}  // namespace weir::service::detail
