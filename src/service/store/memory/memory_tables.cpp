// SPDX-License-Identifier: MIT
// How tasks move: in, to a node, and out again. A record is changed only while it is taken out of
// the sets and counts of its queue, and put back in as what it is then; so they cannot disagree.

#include "service/store/memory/turns.hpp"

namespace weir::service {

namespace {

constexpr std::size_t kept_attempts = 20;

std::size_t index_of(task_state state) noexcept {
    return static_cast<std::size_t>(state);
}

}  // namespace

// ---- sets and counts
// -----------------------------------------------------------------------------------

memory_store::tables::queue& memory_store::tables::queue_of(const std::string& name) {
    queue& found = queues_[name];
    found.record.name = name;
    return found;
}

// A key that comes and goes is not the first each time.
memory_store::tables::flow& memory_store::tables::flow_of(queue& in, const std::string& key) {
    const auto [found, is_new] = in.flows.try_emplace(key);
    if (is_new) {
        found->second.last_turn = in.last_turn;
        found->second.number = ++in.flows_made;
    }
    return found->second;
}

bool memory_store::tables::has_room_for(const std::string& queue) const {
    return queues_.size() < max_queues_ || queues_.contains(queue);
}

void memory_store::tables::check_room_for(const std::string& queue) const {
    if (!has_room_for(queue)) {
        throw too_many_queues("there are " + std::to_string(max_queues_) +
                              " queues (max_queues), and '" + queue + "' would be one more");
    }
}

void memory_store::tables::take_out(entry& from) {
    const task_record& record = from.record;
    queue& in = queue_of(record.queue);
    --in.record.counts[index_of(record.state)];
    flow& of = flow_of(in, record.flow_key);
    if (record.state == task_state::running) {
        --of.running;
    } else if (record.state == task_state::pending && from.is_due) {
        of.due.erase({record.priority, record.id});
        --in.record.due;
    } else if (record.state == task_state::pending) {
        in.later.erase({record.due_at, record.id});
    }
}

void memory_store::tables::put_in(entry& to, timestamp now) {
    const task_record& record = to.record;
    queue& in = queue_of(record.queue);
    ++in.record.counts[index_of(record.state)];
    in.used_at = now;
    flow& of = flow_of(in, record.flow_key);
    to.is_due = record.state == task_state::pending && record.due_at <= now;
    if (record.state == task_state::running) {
        ++of.running;
    } else if (to.is_due) {
        of.due.insert({record.priority, record.id});
        ++in.record.due;
    } else if (record.state == task_state::pending) {
        in.later.insert({record.due_at, record.id});
    }
}

void memory_store::tables::wake(timestamp now) {
    for (auto& [name, in] : queues_) {
        while (!in.later.empty() && in.later.begin()->first <= now) {
            entry& due = tasks_.at(in.later.begin()->second);
            take_out(due);
            put_in(due, now);
        }
    }
}

void memory_store::tables::tell(const entry& changed, timestamp now, std::string_view message) {
    const task_record& record = changed.record;
    task_event event;
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
    events_.push_back(std::move(event));
}

void memory_store::tables::record_attempt(entry& of, attempt_end how, const std::string& error,
                                          timestamp now) const {
    attempt_record ended;
    ended.run = of.record.run;
    ended.end = how;
    ended.started_at = of.record.started_at.value_or(now);
    ended.ended_at = now;
    ended.error = error;
    ended.node = of.record.node;
    of.attempts.push_back(std::move(ended));
    if (of.attempts.size() > kept_attempts) {
        of.attempts.erase(of.attempts.begin());
    }
}

// ---- in
// ------------------------------------------------------------------------------------------------

std::vector<submit_result> memory_store::tables::submit(const std::vector<new_task>& fresh,
                                                        timestamp now) {
    std::vector<submit_result> results;
    results.reserve(fresh.size());
    for (const new_task& each : fresh) {
        results.push_back(submit_one(each, now));
    }
    return results;
}

submit_result memory_store::tables::submit_one(const new_task& fresh, timestamp now) {
    if (!fresh.idempotency_key.empty()) {
        const auto known = keys_.find(fresh.idempotency_key);
        if (known != keys_.end()) {
            const task_record& first = tasks_.at(known->second).record;
            const bool is_same = first.kind == fresh.kind && first.queue == fresh.queue &&
                                 first.payload == fresh.payload;
            return {is_same ? submit_result::verdict::duplicate : submit_result::verdict::conflict,
                    first.id};
        }
    }
    if (!has_room_for(fresh.queue)) {
        return {submit_result::verdict::too_many_queues, {}};
    }
    const queue_record& in = queue_of(fresh.queue).record;
    if (in.limits.max_pending != 0 && in.count(task_state::pending) >= in.limits.max_pending) {
        return {submit_result::verdict::queue_full, {}};
    }
    last_id_ = next_id(
        last_id_, std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch().count());
    entry& made = tasks_[last_id_];
    static_cast<new_task&>(made.record) = fresh;
    made.record.id = last_id_;
    made.record.created_at = now;
    made.record.due_at = fresh.run_at.value_or(now);
    if (!fresh.idempotency_key.empty()) {
        keys_[fresh.idempotency_key] = last_id_;
    }
    put_in(made, now);
    tell(made, now);
    return {submit_result::verdict::made, last_id_};
}

// ---- and out again
// -------------------------------------------------------------------------------------

memory_store::tables::entry* memory_store::tables::running(const std::string& node,
                                                           const run_key& key) {
    const auto found = tasks_.find(key.id);
    if (found == tasks_.end()) {
        return nullptr;
    }
    const task_record& record = found->second.record;
    return record.state == task_state::running && record.run == key.run && record.node == node
               ? &found->second
               : nullptr;
}

void memory_store::tables::end(entry& ended, task_state how, timestamp now) {
    ended.record.state = how;
    ended.record.is_cancelling = false;
    if (is_final(how)) {
        ended.record.finished_at = now;
    }
}

std::vector<bool> memory_store::tables::settle(const std::string& node,
                                               const std::vector<settlement>& ended,
                                               timestamp now) {
    std::vector<bool> written;
    written.reserve(ended.size());
    for (const settlement& each : ended) {
        written.push_back(settle_one(node, each, now));
    }
    return written;
}

bool memory_store::tables::settle_one(const std::string& node, const settlement& ended,
                                      timestamp now) {
    entry* const found = running(node, ended.key);
    if (found == nullptr) {
        return false;
    }
    task_record& record = found->record;
    if (ended.attempt.has_value()) {
        record_attempt(*found, *ended.attempt, ended.error, now);
        record.error = ended.error;
    }
    take_out(*found);
    record.failures = ended.failures;
    record.held_by = ended.held_by;
    const bool was_to_end = record.is_cancelling && ended.state == task_state::pending;
    end(*found, was_to_end ? task_state::cancelled : ended.state, now);
    if (record.state == task_state::pending) {
        record.due_at = ended.due_at;
    } else if (record.state == task_state::completed) {
        record.result = ended.result;
        record.error.clear();
    }
    put_in(*found, now);
    tell(*found, now, ended.error);
    return true;
}

void memory_store::tables::note_progress(const std::string& node,
                                         const std::vector<progress_note>& notes, timestamp now) {
    for (const progress_note& each : notes) {
        if (entry* const found = running(node, each.key)) {
            found->record.progress = each.progress;
            found->record.message = each.message;
            tell(*found, now, each.message);
        }
    }
}

}  // namespace weir::service
