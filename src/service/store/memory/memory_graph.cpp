// SPDX-License-Identifier: MIT
// The edges are kept twice: with the dependent task, in its record, and by parent. Ends of tasks go
// to a list, since telling a dependent may end that, too.

#include "service/store/memory/memory_graph.hpp"

#include "service/store/group_callback.hpp"
#include "service/store/memory/memory_tasks.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace weir::service::detail {

// ---- submitting

workflow_result memory_graph::submit(memory_tasks& tasks, const workflow& flow, moment now) {
    using verdict = workflow_result::verdict;
    workflow_result result;
    if (const std::optional<submit_result> refusal = find_refusal(tasks, flow, result.refused)) {
        result.group = flow.join;
        result.what = verdict::refused;
        result.tasks.assign(result.refused + 1, *refusal);
        return result;
    }
    result.what = open_group(tasks, flow, result.group, now);
    if (result.what != verdict::made) {
        return result;
    }
    is_working_ = true;  // a member that is cancelled at once must not end the group
    for (const new_task& each : flow.tasks) {
        result.tasks.push_back(add(tasks, each, result.group, result.tasks, now));
    }
    is_working_ = false;
    if (result.group) {
        changed_groups_.insert(result.group);
    }
    work(tasks, now);
    return result;
}

std::optional<submit_result> memory_graph::find_refusal(memory_tasks& tasks, const workflow& flow,
                                                        std::size_t& at) const {
    const auto group = groups_.find(flow.join);
    if (flow.join && (group == groups_.end() || group->second.state != group_state::open)) {
        return std::nullopt;  // open_group() says so
    }
    return tasks.find_refusal(flow.tasks, at);
}

workflow_result::verdict memory_graph::open_group(memory_tasks& tasks, const workflow& flow,
                                                  group_id& group, moment now) {
    using verdict = workflow_result::verdict;
    if (flow.join) {
        group = flow.join;
        const auto found = groups_.find(flow.join);
        if (found == groups_.end()) {
            return verdict::no_group;
        }
        const memory_group& known = found->second;
        const memory_task* const from = tasks.find(flow.from.id);
        const bool is_from_member = from != nullptr && from->record.run == flow.from.run &&
                                    from->record.state == task_state::running &&
                                    from->record.group == flow.join &&
                                    !detached_.contains(flow.from.id);
        if (known.state != group_state::open || (known.is_sealed && !is_from_member)) {
            return verdict::group_closed;
        }
        return known.total + flow.tasks.size() > max_group_tasks ? verdict::group_full
                                                                 : verdict::made;
    }
    if (!flow.group.has_value()) {
        return verdict::made;
    }
    const new_group& wanted = *flow.group;
    for (const auto& [id, each] : groups_) {
        if (!wanted.idempotency_key.empty() && each.key == wanted.idempotency_key) {
            group = id;
            return verdict::duplicate;
        }
    }
    last_group_ =
        next_id(last_group_,
                std::chrono::floor<std::chrono::milliseconds>(now.at).time_since_epoch().count());
    group = last_group_;
    memory_group& made = groups_[group];
    made.id = group;
    made.name = wanted.name;
    made.queue = queue_of(flow);
    made.is_sealed = wanted.is_sealed;
    made.on_failure = wanted.on_failure;
    made.runs_callback_on_cancel = wanted.runs_callback_on_cancel;
    made.callback = wanted.callback;
    made.callback_kind = wanted.callback ? wanted.callback->kind : "";
    made.key = wanted.idempotency_key;
    made.created_at = now.at;
    return verdict::made;
}

submit_result memory_graph::add(memory_tasks& tasks, const new_task& task, group_id group,
                                const std::vector<submit_result>& before, moment now) {
    memory_tasks::placement in;
    in.group = group;
    const dependency_record* obstacle = nullptr;
    in.parents.reserve(task.after.size());
    new_task fresh = task;
    task_id payload_from;
    for (const dependency& each : task.after) {
        const task_id parent = each.task ? each.task : before.at(each.position).id;
        if (std::ranges::find(in.parents, parent, &dependency_record::task) != in.parents.end()) {
            continue;
        }
        const memory_task* const known = tasks.find(parent);
        const dependency_outcome outcome =
            known != nullptr ? outcome_of(known->record.state) : dependency_outcome::gone;
        const verdict_on_child verdict = verdict_for(each.on_failure, outcome);
        in.parents.push_back({parent, each.on_failure, outcome});
        in.waits += verdict == verdict_on_child::released ? 0 : 1;
        if (verdict == verdict_on_child::cancelled && obstacle == nullptr) {
            obstacle = &in.parents.back();
        }
        if (each.gives_payload) {
            payload_from = parent;
            if (outcome == dependency_outcome::completed) {
                fresh.payload = known->record.result.empty() ? "null" : known->record.result;
            }
        }
    }
    const std::string error =
        obstacle != nullptr ? upstream_error(obstacle->task, obstacle->outcome) : std::string();
    std::ranges::sort(in.parents, {}, &dependency_record::task);
    const submit_result made = tasks.add(fresh, now, in);
    if (made.what != submit_result::verdict::made) {
        return made;
    }
    for (const dependency_record& each : in.parents) {
        children_[each.task].insert(made.id);
    }
    if (payload_from) {
        payload_from_[made.id] = payload_from;
    }
    if (group) {
        memory_group& counted = groups_.at(group);
        ++counted.total;
        ++counted.open;
        ++counted.present;
    }
    if (!error.empty()) {
        cancel_waiting(tasks, made.id, error, now);
    }
    return made;
}

// ---- groups

std::optional<group_record> memory_graph::find(group_id group) const {
    const auto found = groups_.find(group);
    return found == groups_.end() ? std::nullopt : std::optional<group_record>(found->second);
}

std::optional<group_record> memory_graph::seal(memory_tasks& tasks, group_id group, moment now) {
    const auto found = groups_.find(group);
    if (found != groups_.end() && found->second.state == group_state::open) {
        found->second.is_sealed = true;
        changed_groups_.insert(group);
        work(tasks, now);
    }
    return find(group);
}

std::vector<group_record> memory_graph::list(const group_query& filter) const {
    std::vector<group_record> all;
    for (auto each = groups_.rbegin(); each != groups_.rend() && all.size() < filter.limit;
         ++each) {
        if ((!filter.before || each->first < filter.before) &&
            (!filter.state || each->second.state == *filter.state)) {
            all.push_back(each->second);
        }
    }
    return all;
}

std::vector<task_record> memory_graph::members(memory_tasks& tasks, group_id group,
                                               const member_query& query) {
    std::vector<task_record> found;
    for (auto each = tasks.all().upper_bound(query.after);
         each != tasks.all().end() && found.size() < query.limit; ++each) {
        if (each->second.record.group != group) {
            continue;
        }
        task_record& added = found.emplace_back(each->second.record);
        added.steps.clear();
        if (query.is_brief) {
            added.payload = "null";
            added.result.clear();
        }
    }
    return found;
}

change_result memory_graph::cancel(memory_tasks& tasks, group_id group, moment now) {
    const auto found = groups_.find(group);
    if (found == groups_.end()) {
        return change_result::not_found;
    }
    if (found->second.state != group_state::open) {
        return change_result::no_change;
    }
    found->second.state = group_state::cancelling;
    found->second.is_sealed = true;
    std::vector<task_id> ids;
    for (const auto& [id, each] : tasks.all()) {
        if (each.record.group == group) {
            ids.push_back(id);
        }
    }
    for (const task_id each : ids) {
        static_cast<void>(tasks.cancel(each, now));
    }
    changed_groups_.insert(group);
    work(tasks, now);
    return is_final(found->second.state) ? change_result::done : change_result::requested;
}

// The dependents first: the end of a task lets those run that ignore its failure.
change_result memory_graph::cancel_subtree(memory_tasks& tasks, task_id root, moment now) {
    std::set<task_id> reached;
    std::vector<task_id> order{root};
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto known = children_.find(order[i]);
        if (known == children_.end()) {
            continue;
        }
        for (const task_id each : known->second) {
            const memory_task* const child = tasks.find(each);
            if (child != nullptr && !is_final(child->record.state) &&
                !child->record.is_cancelling && reached.insert(each).second) {
                order.push_back(each);
            }
        }
    }
    for (std::size_t i = order.size() - 1; i > 0; --i) {
        static_cast<void>(tasks.cancel(order[i], now));
    }
    const change_result result = tasks.cancel(root, now);
    return result == change_result::no_change && order.size() > 1 ? change_result::done : result;
}

std::vector<task_id> memory_graph::children(task_id parent, std::size_t limit) const {
    std::vector<task_id> all;
    const auto found = children_.find(parent);
    if (found != children_.end()) {
        for (const task_id each : found->second) {
            if (all.size() < limit) {
                all.push_back(each);
            }
        }
    }
    return all;
}

void memory_graph::add_unmet(const task_record& task, std::vector<hold>& holds) {
    constexpr std::size_t max_unmet = 20;
    for (const dependency_record& each : task.parents) {
        if (task.waits > 0 && !each.is_met() && holds.size() < max_unmet) {
            hold& added = holds.emplace_back();
            added.why = hold::reason::waits_for;
            added.detail = unmet_text(each);
        }
    }
}

// ---- ends of tasks

memory_graph::memory_group* memory_graph::counting(const task_record& task) {
    const auto found = task.group ? groups_.find(task.group) : groups_.end();
    return found == groups_.end() || detached_.contains(task.id) ? nullptr : &found->second;
}

void memory_graph::count(group_record& group, task_state state, int change) noexcept {
    const auto more = static_cast<std::uint64_t>(static_cast<std::int64_t>(change));
    group.failed += state == task_state::failed ? more : 0;
    group.cancelled += state == task_state::cancelled ? more : 0;
}

void memory_graph::ended(const task_record& task) {
    if (children_.contains(task.id)) {
        ends_.push_back({task.id, outcome_of(task.state)});
    }
    if (memory_group* const group = counting(task)) {
        --group->open;
        count(*group, task.state, 1);
        changed_groups_.insert(group->id);
    }
}

void memory_graph::removed(const task_record& task) {
    for (const dependency_record& each : task.parents) {
        const auto known = children_.find(each.task);
        known->second.erase(task.id);
        if (known->second.empty()) {
            children_.erase(known);
        }
    }
    payload_from_.erase(task.id);
    if (children_.contains(task.id) && task.state != task_state::completed) {
        ends_.push_back({task.id, dependency_outcome::gone});
    }
    const auto group = groups_.find(task.group);
    if (group != groups_.end()) {
        --group->second.present;
    }
    if (memory_group* const counted = counting(task)) {
        if (!is_final(task.state)) {
            --counted->open;
            count(*counted, task_state::cancelled, 1);
        }
        if (task.state != task_state::completed && counted->state == group_state::open &&
            counted->on_failure == failure_policy::hold) {
            counted->on_failure = failure_policy::cancel;
        }
        changed_groups_.insert(counted->id);
    }
    detached_.erase(task.id);
}

bool memory_graph::restarts(memory_tasks& tasks, const task_record& task, std::uint32_t& waits) {
    for (const dependency_record& each : task.parents) {
        const verdict_on_child verdict = verdict_for(each.on_failure, each.outcome);
        if (verdict == verdict_on_child::cancelled) {
            return false;
        }
        waits += verdict == verdict_on_child::waits ? 1 : 0;
    }
    if (memory_group* const group = counting(task)) {
        if (group->state == group_state::cancelling) {
            return false;
        }
        if (is_final(group->state)) {
            detached_.insert(task.id);
        } else {
            ++group->open;
            count(*group, task.state, -1);
        }
    }
    for (const task_id each : children(task.id, std::numeric_limits<std::size_t>::max())) {
        for (dependency_record& edge : tasks.find(each)->record.parents) {
            if (edge.task == task.id && edge.on_failure != failure_policy::run &&
                (edge.outcome == dependency_outcome::failed ||
                 edge.outcome == dependency_outcome::cancelled)) {
                edge.outcome = dependency_outcome::open;
            }
        }
    }
    return true;
}

void memory_graph::work(memory_tasks& tasks, moment now) {
    if (is_working_) {
        return;
    }
    is_working_ = true;
    while (!ends_.empty() || !changed_groups_.empty()) {
        if (!ends_.empty()) {
            const told_end next = ends_.front();
            ends_.pop_front();
            tell(tasks, next, now);
        } else {
            memory_group& group =
                groups_.at(changed_groups_.extract(changed_groups_.begin()).value());
            if (has_ended(group)) {
                end_group(tasks, group, now);
            }
        }
    }
    is_working_ = false;
}

void memory_graph::tell(memory_tasks& tasks, const told_end& end, moment now) {
    for (const task_id each : children(end.task, std::numeric_limits<std::size_t>::max())) {
        memory_task& child = *tasks.find(each);
        const auto edge =
            std::ranges::find(child.record.parents, end.task, &dependency_record::task);
        const bool is_held = edge->on_failure == failure_policy::hold &&
                             edge->outcome != dependency_outcome::completed &&
                             end.outcome == dependency_outcome::gone;
        if (edge->outcome != dependency_outcome::open && !is_held) {
            continue;
        }
        edge->outcome = end.outcome;
        if (child.record.state != task_state::pending || child.record.waits == 0) {
            continue;
        }
        const auto payload = payload_from_.find(each);
        if (payload != payload_from_.end() && payload->second == end.task &&
            end.outcome == dependency_outcome::completed) {
            const memory_task* const parent = tasks.find(end.task);
            if (parent != nullptr) {
                child.record.payload =
                    parent->record.result.empty() ? "null" : parent->record.result;
            }
        }
        switch (verdict_for(edge->on_failure, end.outcome)) {
            case verdict_on_child::waits:
                break;
            case verdict_on_child::cancelled:
                cancel_waiting(tasks, each, upstream_error(end.task, end.outcome), now);
                break;
            case verdict_on_child::released:
                if (child.record.waits > 1) {
                    --child.record.waits;
                } else {
                    tasks.change(child, now, {}, [now](task_record& record) {
                        record.waits = 0;
                        record.due_at = std::max(record.due_at, now.at);
                    });
                }
                break;
        }
    }
}

void memory_graph::cancel_waiting(memory_tasks& tasks, task_id id, const std::string& error,
                                  moment now) {
    tasks.change(*tasks.find(id), now, error, [&](task_record& record) {
        record.error = error;
        memory_tasks::set_state(record, task_state::cancelled, now.at);
    });
}

void memory_graph::end_group(memory_tasks& tasks, memory_group& group, moment now) {
    std::optional<group_callback> callback;
    if (group.callback) {
        callback = callback_of(*group.callback, group);
    }
    group.state = final_state(group);
    group.finished_at = now.at;
    if (!callback) {
        return;
    }
    if (tasks.has_key(callback->task.idempotency_key)) {
        callback->task.idempotency_key.clear();  // a client's task has it
    }
    group.callback_task = tasks.add_follow_up(callback->task, std::string(default_queue), now);
    if (!callback->error.empty()) {
        cancel_waiting(tasks, group.callback_task, callback->error, now);
    }
}

// ---- retention

std::optional<timestamp> memory_graph::kept_since(const task_record& task) const {
    const auto group = task.group ? groups_.find(task.group) : groups_.end();
    if (group == groups_.end()) {
        return std::nullopt;
    }
    const timestamp ended = group->second.finished_at.value_or(timestamp::max());
    return std::max(ended, task.finished_at.value_or(ended));
}

void memory_graph::purge(const retention& kept, timestamp now) {
    std::erase_if(groups_, [&](const auto& each) {
        const memory_group& group = each.second;
        const std::chrono::seconds age = group.state == group_state::completed ? kept.completed
                                         : group.state == group_state::failed  ? kept.failed
                                                                               : kept.cancelled;
        return is_final(group.state) && group.present == 0 && *group.finished_at + age <= now;
    });
}

}  // namespace weir::service::detail
