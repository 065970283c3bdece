// SPDX-License-Identifier: MIT
// Tasks by id. A record is changed while it is out of the lines and counts of its queue, so that
// they always agree with it.

#include "service/store/memory/memory_tasks.hpp"

#include "base/raw_json.hpp"
#include "service/store/follow_ups.hpp"
#include "service/store/store_texts.hpp"

#include <algorithm>

namespace weir::service::detail {

namespace {

constexpr std::size_t kept_attempts = 20;
constexpr std::size_t kept_follow_ups = 20;

bool has_state_of(const task_filter& filter, const task_record& task, timestamp now) {
    return (!filter.state || task.state == *filter.state) &&
           (!filter.view || view_of(task, now) == *filter.view) &&
           (filter.any_of.empty() ||
            std::ranges::find(filter.any_of, task.state) != filter.any_of.end());
}

bool matches(const task_filter& filter, const task_record& task, timestamp now) {
    const auto fits = [](const std::string& wanted, const std::string& value) {
        return wanted.empty() || wanted == value;
    };
    return has_state_of(filter, task, now) && fits(filter.queue, task.queue) &&
           fits(filter.kind, task.kind) && fits(filter.flow_key, task.flow_key) &&
           (filter.tag.empty() || std::ranges::find(task.tags, filter.tag) != task.tags.end()) &&
           (!filter.created_from || task.created_at >= *filter.created_from) &&
           (!filter.created_to || task.created_at < *filter.created_to) &&
           (!filter.before || task.id < filter.before);
}

}  // namespace

std::optional<submit_result> memory_tasks::find_known(const new_task& task) const {
    if (!task.idempotency_key.empty()) {
        const auto known = idempotency_keys_.find(task.idempotency_key);
        if (known != idempotency_keys_.end()) {
            const task_record& first = tasks_.at(known->second).record;
            const bool is_same = first.kind == task.kind && first.queue == task.queue &&
                                 base::same_json(first.payload, task.payload);
            return submit_result{
                is_same ? submit_result::verdict::duplicate : submit_result::verdict::conflict,
                first.id};
        }
    }
    if (const memory_task* const holder = holder_of(task.unique_key)) {
        return submit_result{submit_result::verdict::duplicate, holder->record.id};
    }
    return std::nullopt;
}

std::optional<submit_result> memory_tasks::find_refusal(std::span<const new_task> batch,
                                                        std::size_t& at) const {
    std::map<std::string, std::uint64_t> pending;
    std::set<std::string> new_queues;
    std::set<std::string> keys;
    for (at = 0; at < batch.size(); ++at) {
        const new_task& task = batch[at];
        const std::optional<submit_result> known = find_known(task);
        if (known && known->what == submit_result::verdict::conflict) {
            return known;
        }
        const bool is_second =
            (!task.idempotency_key.empty() && !keys.insert("i" + task.idempotency_key).second) ||
            (!task.unique_key.empty() && !keys.insert("u" + task.unique_key).second);
        if (known || is_second) {
            continue;
        }
        if (!new_queues.contains(task.queue) &&
            !queues_.has_room_for(task.queue, new_queues.size())) {
            return submit_result{submit_result::verdict::too_many_queues, {}};
        }
        const std::optional<queue_record> queue = queues_.find(task.queue);
        if (!queue) {
            new_queues.insert(task.queue);
        } else if (queue->limits.max_pending != 0 &&
                   queue->count(task_state::pending) + pending[task.queue] >=
                       queue->limits.max_pending) {
            return submit_result{submit_result::verdict::queue_full, {}};
        }
        ++pending[task.queue];
    }
    return std::nullopt;
}

submit_result memory_tasks::add(const new_task& task, moment now, const placement& in) {
    if (const std::optional<submit_result> known = find_known(task)) {
        return *known;
    }
    if (!queues_.has_room_for(task.queue)) {
        return {submit_result::verdict::too_many_queues, {}};
    }
    const queue_record& queue = queues_.record(task.queue);
    if (queue.limits.max_pending != 0 &&
        queue.count(task_state::pending) >= queue.limits.max_pending) {
        return {submit_result::verdict::queue_full, {}};
    }
    return {submit_result::verdict::made, insert(task, now, in)};
}

task_id memory_tasks::insert(const new_task& task, moment now, const placement& in) {
    last_id_ = next_id(
        last_id_, std::chrono::floor<std::chrono::milliseconds>(now.at).time_since_epoch().count());
    memory_task& added = tasks_[last_id_];
    static_cast<new_task&>(added.record) = task;
    if (task.is_remote) {
        added.record.destination.clear();
    }
    added.record.after.clear();
    added.record.parents = in.parents;
    added.record.has_parents = !in.parents.empty();
    added.record.waits = in.waits;
    added.record.group = in.group;
    added.record.id = last_id_;
    added.record.created_at = now.at;
    added.record.due_at = task.run_at.value_or(now.at);
    if (!task.idempotency_key.empty()) {
        idempotency_keys_[task.idempotency_key] = last_id_;
    }
    if (!task.unique_key.empty()) {
        unique_keys_[task.unique_key] = last_id_;
    }
    set_expiry(added.record, task.expires_at);
    queues_.insert(added, now);
    add_event(added, now.at);
    return last_id_;
}

void memory_tasks::set_expiry(task_record& task, std::optional<timestamp> expires_at) {
    if (task.expires_at.has_value()) {
        expiries_.erase({*task.expires_at, task.id});
    }
    task.expires_at = expires_at;
    if (expires_at.has_value()) {
        expiries_.emplace(*expires_at, task.id);
    }
}

void memory_tasks::add_follow_ups(const task_record& ended, moment now) {
    for (const new_task& each : follow_ups_of(ended)) {
        std::vector<task_id>& created = follow_ups_[ended.id];
        created.push_back(add_follow_up(each, ended.queue, now));
        if (created.size() > kept_follow_ups) {
            created.erase(created.begin());
        }
    }
}

task_id memory_tasks::add_follow_up(new_task task, const std::string& instead, moment now) {
    if (!queues_.has_room_for(task.queue)) {
        task.queue = instead;
    }
    return insert(task, now, {});
}

std::vector<task_id> memory_tasks::follow_ups(task_id ended) const {
    const auto found = follow_ups_.find(ended);
    return found == follow_ups_.end() ? std::vector<task_id>() : found->second;
}

memory_task* memory_tasks::find(task_id id) {
    const auto found = tasks_.find(id);
    return found == tasks_.end() ? nullptr : &found->second;
}

memory_task* memory_tasks::find_running(std::string_view node, const run_key& key) {
    memory_task* const found = find(key.id);
    return found != nullptr && found->record.state == task_state::running &&
                   found->record.run == key.run && found->record.node == node
               ? found
               : nullptr;
}

task_page memory_tasks::list(const task_filter& filter, timestamp now) const {
    task_page found;
    std::size_t scanned = 0;
    auto each = filter.before ? std::make_reverse_iterator(tasks_.lower_bound(filter.before))
                              : tasks_.rbegin();
    for (; each != tasks_.rend() && found.size() < filter.limit; ++each) {
        if (scanned++ == filter.max_scanned) {
            found.searched_to = std::prev(each)->first;
            break;
        }
        if (matches(filter, each->second.record, now)) {
            task_record& added = found.emplace_back(each->second.record);
            added.steps.clear();
            added.parents.clear();
            if (filter.is_brief) {
                added.payload = "null";
                added.result.clear();
            }
        }
    }
    return found;
}

void memory_tasks::set_state(task_record& task, task_state state, timestamp now) noexcept {
    task.state = state;
    task.is_cancelling = false;
    if (is_final(state)) {
        task.finished_at = now;
    }
}

const memory_task* memory_tasks::holder_of(const std::string& unique_key) const {
    const auto known = unique_key.empty() ? unique_keys_.end() : unique_keys_.find(unique_key);
    if (known == unique_keys_.end()) {
        return nullptr;
    }
    const memory_task& last = tasks_.at(known->second);
    const bool holds = last.record.state == task_state::pending ||
                       (last.record.state == task_state::running &&
                        last.record.unique_for == unique_while::pending_or_running);
    return holds ? &last : nullptr;
}

change_result memory_tasks::cancel(task_id id, moment now) {
    memory_task* const found = find(id);
    if (found == nullptr) {
        return change_result::not_found;
    }
    if (is_final(found->record.state) || found->record.is_cancelling) {
        return change_result::no_change;
    }
    if (found->record.state == task_state::running) {
        found->record.is_cancelling = true;
        add_event(*found, now.at);
        return change_result::requested;
    }
    change(*found, now, {},
           [now](task_record& record) { set_state(record, task_state::cancelled, now.at); });
    return change_result::done;
}

change_result memory_tasks::run_again(memory_task& task, moment now) {
    std::uint32_t waits = 0;
    if (is_final(task.record.state)) {
        if (holder_of(task.record.unique_key) != nullptr) {
            return change_result::key_taken;
        }
        if (!graph_.restarts(*this, task.record, waits)) {
            return change_result::no_change;
        }
        if (!task.record.unique_key.empty()) {
            unique_keys_[task.record.unique_key] = task.record.id;
        }
    }
    change(task, now, {}, [&task, now, waits](task_record& record) {
        record.waits = waits;
        if (record.state != task_state::pending) {
            record.failures = 0;
            record.crashes = 0;
            record.finished_at.reset();
            record.progress = 0;
            record.message.clear();
            if (record.expires_at.has_value() && *record.expires_at <= now.at) {
                record.expires_at.reset();
            }
        }
        record.held_by.clear();
        record.due_at = now.at;
        task.delayed_until.reset();
        record.state = task_state::pending;
    });
    return change_result::done;
}

void memory_tasks::add_attempt(memory_task& task, attempt_end end, std::string_view error,
                               timestamp now) {
    attempt_record& attempt = task.attempts.emplace_back();
    attempt.run = task.record.run;
    attempt.end = end;
    attempt.started_at = task.record.started_at.value_or(now);
    attempt.ended_at = now;
    attempt.error = error;
    attempt.node = task.record.node;
    if (task.attempts.size() > kept_attempts) {
        task.attempts.erase(task.attempts.begin());
    }
}

bool memory_tasks::end_if_expired(memory_task& task, moment now) {
    if (!is_expired(task.record, now.at)) {
        return false;
    }
    const std::string error = expiry_error(*task.record.expires_at);
    change(task, now, error, [&](task_record& record) {
        record.error = error;
        set_state(record, task_state::cancelled, now.at);
    });
    return true;
}

std::size_t memory_tasks::end_expired(moment now) {
    std::size_t ended = 0;
    while (!expiries_.empty() && expiries_.begin()->first <= now.at) {
        memory_task* const task = find(expiries_.extract(expiries_.begin()).value().second);
        ended += task != nullptr && end_if_expired(*task, now) ? 1 : 0;
    }
    return ended;
}

void memory_tasks::start(memory_task& task, std::string_view node, moment now) {
    change(task, now, {}, [&](task_record& record) {
        record.state = task_state::running;
        ++record.run;
        record.node = node;
        record.started_at = now.at;
        record.progress = 0;
        record.message.clear();
        record.held_by.clear();
    });
}

void memory_tasks::settle(memory_task& task, const settlement& ended, moment now) {
    if (ended.attempt.has_value()) {
        add_attempt(task, *ended.attempt, ended.error, now.at);
        task.record.error = ended.error;
    }
    queues_.destinations().ended(task.record, ended.learnt, now.steady);
    queues_.destinations().disable(task.record, ended, now.at);
    change(task, now, ended.error, [&](task_record& record) {
        record.failures = ended.failures;
        record.held_by = ended.held_by;
        const bool is_cancelled = record.is_cancelling && ended.state == task_state::pending;
        set_state(record, is_cancelled ? task_state::cancelled : ended.state, now.at);
        if (record.state == task_state::pending) {
            record.due_at = now.calendar_of(ended.due_at);
            task.delayed_until = ended.due_at;
            if (record.destination.empty() && !record.is_remote) {
                record.destination = ended.destination;
            }
        } else if (record.state == task_state::completed) {
            record.result = ended.result;
            record.error.clear();
            record.held_by.clear();
        }
    });
}

void memory_tasks::note_progress(std::string_view node, const progress_note& note, timestamp now) {
    if (memory_task* const found = find_running(node, note.key)) {
        found->record.progress = note.progress;
        found->record.message = note.message;
        add_event(*found, now, note.message);
    }
}

step_answer memory_tasks::keep_step(std::string_view node, const run_key& key,
                                    const step_record& step) {
    step_answer answer;
    memory_task* const found = find_running(node, key);
    if (found == nullptr) {
        return answer;
    }
    std::vector<step_record>& steps = found->record.steps;
    const auto known = std::ranges::find(steps, step.name, &step_record::name);
    if (known != steps.end()) {
        answer.what = step_answer::verdict::known;
        answer.result = known->result;
        return answer;
    }
    std::size_t bytes = step.result.size();
    for (const step_record& each : steps) {
        bytes += each.result.size();
    }
    if (steps.size() >= max_steps || bytes > max_task_step_bytes) {
        answer.what = step_answer::verdict::too_many;
        return answer;
    }
    steps.push_back(step);
    ++found->record.step_count;
    answer.what = step_answer::verdict::kept;
    answer.result = step.result;
    return answer;
}

std::size_t memory_tasks::purge(const retention& kept, timestamp now, std::size_t limit) {
    std::size_t removed = 0;
    for (auto each = tasks_.begin(); each != tasks_.end() && removed < limit;) {
        const task_record& record = each->second.record;
        const std::chrono::seconds age = record.state == task_state::completed ? kept.completed
                                         : record.state == task_state::failed  ? kept.failed
                                                                               : kept.cancelled;
        const timestamp ended =
            graph_.kept_since(record).value_or(record.finished_at.value_or(now));
        if (!is_final(record.state) || now - age < ended) {
            ++each;
            continue;
        }
        queues_.mark_used(record.queue, now);
        each = remove(each);
        ++removed;
    }
    graph_.work(*this, now);
    graph_.purge(kept, now);
    return removed;
}

change_result memory_tasks::retry(task_id id, moment now) {
    memory_task* const found = find(id);
    if (found == nullptr) {
        return change_result::not_found;
    }
    const task_record& record = found->record;
    const bool can_retry =
        record.state == task_state::failed || record.state == task_state::cancelled ||
        (record.state == task_state::pending && record.waits == 0 &&
         (found->delayed_until ? *found->delayed_until > now.steady : record.due_at > now.at));
    if (!can_retry) {
        return change_result::no_change;
    }
    return run_again(*found, now);
}

change_result memory_tasks::remove_ended(task_id id, timestamp now) {
    const auto found = tasks_.find(id);
    if (found == tasks_.end()) {
        return change_result::not_found;
    }
    if (!is_final(found->second.record.state)) {
        return change_result::no_change;
    }
    queues_.mark_used(found->second.record.queue, now);
    remove(found);
    graph_.work(*this, now);
    return change_result::done;
}

change_result memory_tasks::edit(task_id id, const task_edit& edit, moment now) {
    memory_task* const found = find(id);
    if (found == nullptr) {
        return change_result::not_found;
    }
    if (found->record.state != task_state::pending) {
        return change_result::no_change;
    }
    change(*found, now, {}, [&](task_record& record) {
        record.priority = edit.priority.value_or(record.priority);
        if (edit.payload.has_value()) {
            record.payload = *edit.payload;
            graph_.keep_payload(record.id);
            record.destination = record.is_remote ? std::string() : edit.destination;
        }
        if (edit.expires_at.has_value()) {
            set_expiry(record, *edit.expires_at);
        }
        if (edit.run_at.has_value()) {
            record.run_at = edit.run_at;
            record.due_at = std::max(*edit.run_at, now.at);
            record.held_by.clear();
            found->delayed_until.reset();
        }
    });
    return change_result::done;
}

std::vector<change_result> memory_tasks::change_all(const bulk_change& change, moment now) {
    std::vector<change_result> results;
    results.reserve(change.ids.size());
    for (const task_id id : change.ids) {
        const memory_task* const found = find(id);
        if (found != nullptr && !has_state_of(change.only, found->record, now.at)) {
            results.push_back(change_result::no_change);
            continue;
        }
        switch (change.action) {
            case task_action::cancel:
                results.push_back(cancel(id, now));
                break;
            case task_action::retry:
                results.push_back(retry(id, now));
                if (results.back() == change_result::done && change.steps == step_policy::forget) {
                    task_record& record = find(id)->record;
                    record.step_count = 0;
                    record.steps.clear();
                }
                break;
            case task_action::remove:
                results.push_back(remove_ended(id, now.at));
                break;
        }
    }
    return results;
}

std::size_t memory_tasks::remove_all(const std::string& queue) {
    std::size_t removed = 0;
    for (auto each = tasks_.begin(); each != tasks_.end();) {
        const bool is_inside = each->second.record.queue == queue;
        each = is_inside ? remove(each) : std::next(each);
        removed += is_inside ? 1 : 0;
    }
    return removed;
}

memory_tasks::tasks_by_id::iterator memory_tasks::remove(tasks_by_id::iterator task) {
    queues_.remove(task->second);
    graph_.removed(task->second.record);
    idempotency_keys_.erase(task->second.record.idempotency_key);
    follow_ups_.erase(task->first);
    const auto held = unique_keys_.find(task->second.record.unique_key);
    if (held != unique_keys_.end() && held->second == task->first) {
        unique_keys_.erase(held);
    }
    return tasks_.erase(task);
}

void memory_tasks::add_event(const memory_task& task, timestamp now, std::string_view message) {
    const task_record& record = task.record;
    task_event& event = events_.emplace_back();
    event.id = record.id;
    event.kind = record.kind;
    event.queue = record.queue;
    event.view = view_of(record, now);
    event.run = record.run;
    event.failures = record.failures;
    event.progress = record.progress;
    event.message = message;
    event.at = now;
    event.due_at = record.due_at;
    event.started_at = record.started_at.value_or(timestamp{});
}

}  // namespace weir::service::detail
