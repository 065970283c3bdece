// SPDX-License-Identifier: MIT
// Turns go to the queue whose last turn is the oldest, and within the queue to the flow whose last
// turn is the oldest, among those with a task whose destination has room. Each start is decided on
// its own, so that limits are checked one by one. Tasks for workers are in lines of their own, and
// queues and flows take turns for each kind of them: a kind that is served often must not delay
// another.

#include "service/store/memory/memory_queues.hpp"

#include "service/store/store_texts.hpp"

#include <algorithm>
#include <limits>

namespace weir::service::detail {

namespace {

std::size_t index_of(task_state state) noexcept {
    return static_cast<std::size_t>(state);
}

bool is_at_limit(std::uint64_t running, std::uint32_t limit) noexcept {
    return limit != 0 && running >= limit;
}

}  // namespace

// ---- queues and flows

memory_queues::queue& memory_queues::queue_of(const std::string& name) {
    queue& found = queues_[name];
    found.record.name = name;
    return found;
}

// A new flow gets the last turn: a key that is removed and added again must not be first each time.
memory_queues::flow& memory_queues::flow_of(queue& in, const std::string& key) {
    const auto [found, is_new] = in.flows.try_emplace(key);
    if (is_new) {
        found->second.last_turn = in.last_turn;
        found->second.number = ++in.flows_made;
    }
    return found->second;
}

// A new line gets the last turn, as a new flow does.
memory_queues::pool_line& memory_queues::pool_of(queue& in, flow& key_flow,
                                                 const std::string& kind) {
    const auto [found, is_new] = key_flow.pools.try_emplace(kind);
    if (is_new) {
        const auto known = in.pool_turns.find(kind);
        found->second.last_turn = known != in.pool_turns.end() ? known->second : 0;
        found->second.number = ++lines_made_;
        pools_.insert(kind);
    }
    return found->second;
}

memory_queues::due_tasks& memory_queues::due_of(queue& in, flow& key_flow,
                                                const task_record& task) {
    return task.is_remote ? pool_of(in, key_flow, task.kind).due : key_flow.due;
}

claim_scope memory_queues::scope_of(const worker_record& worker) const {
    claim_scope scope{.is_for_workers = true, .queues = worker.queues};
    for (const std::string& each : worker.kinds) {
        if (pools_.contains(each)) {
            scope.pools.push_back(each);
        }
    }
    return scope;
}

std::pair<std::uint64_t, std::uint64_t> memory_queues::pool_counts(const std::string& kind) const {
    std::pair<std::uint64_t, std::uint64_t> counts{0, 0};
    for (const auto& [name, in] : queues_) {
        for (const auto& [key, key_flow] : in.flows) {
            const auto found = key_flow.pools.find(kind);
            if (found != key_flow.pools.end()) {
                counts.first += found->second.due.size();
                counts.second += found->second.running;
            }
        }
    }
    return counts;
}

bool memory_queues::has_room_for(const std::string& name, std::size_t others) const {
    return queues_.size() + others < max_queues_ || queues_.contains(name) || name == default_queue;
}

queue_record& memory_queues::checked_record(const std::string& name) {
    if (!has_room_for(name)) {
        throw_too_many_queues(name, max_queues_);
    }
    return record(name);
}

std::vector<queue_record> memory_queues::records() const {
    std::vector<queue_record> all;
    all.reserve(queues_.size());
    for (const auto& [name, each] : queues_) {
        all.push_back(each.record);
    }
    return all;
}

std::optional<queue_record> memory_queues::find(const std::string& name) const {
    const auto found = queues_.find(name);
    return found != queues_.end() ? std::optional(found->second.record) : std::nullopt;
}

key_settings memory_queues::change_key(const std::string& name, const std::string& key,
                                       const key_change& change, timestamp now) {
    checked_record(name);
    queue& in = queue_of(name);
    const auto known = in.flows.find(key);
    const key_settings before = known != in.flows.end() ? known->second.own : key_settings();
    const key_settings after = change.applied_to(before);
    const auto set = std::ranges::count_if(
        in.flows, [](const auto& each) { return each.second.own != key_settings(); });
    if (before == key_settings() && after != key_settings() &&
        static_cast<std::size_t>(set) >= max_keys_with_settings) {
        throw_too_many_keys(name);
    }
    flow_of(in, key).own = after;
    in.used_at = now;
    return after;
}

std::vector<key_record> memory_queues::keys(const std::string& name, const key_query& query) const {
    std::vector<key_record> found;
    const auto in = queues_.find(name);
    if (in == queues_.end()) {
        return found;
    }
    const auto is_of = [](const std::string& key) {
        return [&key](const auto& each) { return each.second->record.flow_key == key; };
    };
    const auto& flows = in->second.flows;
    for (auto each = flows.upper_bound(query.after);
         each != flows.end() && found.size() < query.limit; ++each) {
        const auto& [key, key_flow] = *each;
        if ((query.is_only_set && key_flow.own == key_settings()) ||
            (!query.only.empty() && key != query.only)) {
            continue;
        }
        key_record& added = found.emplace_back();
        added.key = key;
        added.settings = key_flow.own;
        added.due = key_flow.due.size();
        for (const auto& [kind, line] : key_flow.pools) {
            added.due += line.due.size();
        }
        added.running = key_flow.running;
        added.pending = added.due + static_cast<std::uint64_t>(
                                        std::ranges::count_if(in->second.later, is_of(key)) +
                                        std::ranges::count_if(in->second.dependent, is_of(key)) +
                                        std::ranges::count_if(in->second.delayed, is_of(key)));
    }
    return found;
}

// Looks at all due tasks: a store for tests has few.
std::vector<due_queue> memory_queues::oldest_due(moment now) const {
    std::vector<due_queue> all;
    for (const auto& [name, in] : queues_) {
        std::optional<timestamp> since;
        const auto consider = [&](const memory_task& task, timestamp due_at) {
            const timestamp due_since = std::max(due_at, task.record.created_at);
            since = std::min(since.value_or(due_since), due_since);
        };
        for (const auto& [key, key_flow] : in.flows) {
            for (const auto& [turn, task] : key_flow.due) {
                consider(*task, task->record.due_at);
            }
            for (const auto& [kind, line] : key_flow.pools) {
                for (const auto& [turn, task] : line.due) {
                    consider(*task, task->record.due_at);
                }
            }
        }
        for (const waiting_tasks* const waiting : {&in.later, &in.delayed}) {
            if (!waiting->empty() && is_time(*waiting->begin()->second, now)) {
                const memory_task& first = *waiting->begin()->second;
                consider(first, first.delayed_until ? now.calendar_of(*first.delayed_until)
                                                    : first.record.due_at);
            }
        }
        if (since.has_value()) {
            due_queue& added = all.emplace_back();
            added.name = name;
            added.since = *since;
        }
    }
    return all;
}

// ---- tasks

void memory_queues::insert(memory_task& task, moment now) {
    const task_record& record = task.record;
    queue& in = queue_of(record.queue);
    ++in.record.counts[index_of(record.state)];
    in.used_at = now.at;
    flow& key_flow = flow_of(in, record.flow_key);
    ++key_flow.tasks;
    if (record.is_remote) {
        pool_line& line = pool_of(in, key_flow, record.kind);
        ++line.tasks;
        line.running += record.state == task_state::running ? 1 : 0;
    }
    const bool is_waiting = record.state == task_state::pending && record.waits > 0;
    task.is_due = record.state == task_state::pending && !is_waiting && is_time(task, now);
    if (record.state == task_state::running) {
        ++key_flow.running;
    } else if (task.is_due) {
        due_of(in, key_flow, record).emplace(turn{record.priority, record.id}, &task);
        ++in.record.due;
    } else if (is_waiting) {
        in.dependent.emplace(record.id, &task);
    } else if (record.state == task_state::pending) {
        waiting_with(task, in).emplace(waiting_key(task), &task);
    }
    destinations_.insert(record, task.is_due);
}

void memory_queues::remove(memory_task& task) {
    const task_record& record = task.record;
    queue& in = queue_of(record.queue);
    --in.record.counts[index_of(record.state)];
    flow& key_flow = flow_of(in, record.flow_key);
    --key_flow.tasks;
    if (record.is_remote) {
        pool_line& line = pool_of(in, key_flow, record.kind);
        --line.tasks;
        line.running -= record.state == task_state::running ? 1 : 0;
    }
    if (record.state == task_state::running) {
        --key_flow.running;
    } else if (record.state == task_state::pending && task.is_due) {
        due_of(in, key_flow, record).erase(turn{record.priority, record.id});
        --in.record.due;
    } else if (record.state == task_state::pending && record.waits > 0) {
        in.dependent.erase(record.id);
    } else if (record.state == task_state::pending) {
        waiting_with(task, in).erase(waiting_key(task));
    }
    destinations_.remove(record, record.state == task_state::pending && task.is_due);
}

void memory_queues::wake(moment now) {
    for (auto& [name, in] : queues_) {
        for (waiting_tasks* const waiting : {&in.later, &in.delayed}) {
            while (!waiting->empty() && is_time(*waiting->begin()->second, now)) {
                memory_task& due = *waiting->begin()->second;
                remove(due);
                insert(due, now);
            }
        }
    }
}

// ---- turns

rate_bucket memory_queues::bucket(const queue& in) noexcept {
    return {in.record.limits.rate, in.record.limits.burst, in.full_at};
}

rate_bucket memory_queues::bucket(const queue& in, const flow& key_flow) noexcept {
    const queue_limits& limits = in.record.limits;
    return {key_flow.own.rate_in(limits), key_flow.own.burst_in(limits), key_flow.full_at};
}

// As far as its pause and max_running decide.
bool memory_queues::may_start(const queue& in) noexcept {
    return !in.record.is_paused &&
           !is_at_limit(in.record.count(task_state::running), in.record.limits.max_running);
}

bool memory_queues::is_full(const queue& in, const flow& key_flow) noexcept {
    return is_at_limit(key_flow.running, key_flow.own.max_running_in(in.record.limits));
}

bool memory_queues::may_start(const queue& in, const flow& key_flow) noexcept {
    return !key_flow.own.is_paused && !is_full(in, key_flow);
}

bool memory_queues::has(const claim_scope& scope, const std::string& queue_name) {
    return scope.queues.empty() ||
           std::ranges::find(scope.queues, queue_name) != scope.queues.end();
}

bool memory_queues::has(const claim_scope& scope, const task_record& task) {
    return scope.is_for_workers == task.is_remote &&
           (!task.is_remote || std::ranges::find(scope.pools, task.kind) != scope.pools.end());
}

memory_task* memory_queues::first_of(const claim_scope& scope, const flow& key_flow,
                                     timestamp now) const {
    if (!scope.is_for_workers) {
        for (const auto& [turn, task] : key_flow.due) {
            if (destinations_.has_room_for(task->record, now)) {
                return task;
            }
        }
        return nullptr;
    }
    const due_tasks::value_type* first = nullptr;
    for (const std::string& each : scope.pools) {
        const auto line = key_flow.pools.find(each);
        if (line != key_flow.pools.end() && !line->second.due.empty() &&
            (first == nullptr || line->second.due.begin()->first < first->first)) {
            first = &*line->second.due.begin();
        }
    }
    return first == nullptr ? nullptr : first->second;
}

// Of several kinds, the turn that is longest ago counts. All get the next one together.
memory_queues::turn_order memory_queues::order_of(const claim_scope& scope, const flow& key_flow) {
    if (!scope.is_for_workers) {
        return {key_flow.last_turn, key_flow.number};
    }
    turn_order order{std::numeric_limits<std::uint64_t>::max(), 0};
    for (const std::string& each : scope.pools) {
        const auto line = key_flow.pools.find(each);
        if (line != key_flow.pools.end() && !line->second.due.empty()) {
            order = std::min(order, turn_order(line->second.last_turn, line->second.number));
        }
    }
    return order;
}

std::uint64_t memory_queues::turn_of(const claim_scope& scope, const queue& in) const {
    if (!scope.is_for_workers) {
        return in.last_turn;
    }
    std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
    for (const std::string& each : scope.pools) {
        const auto known = in.pool_turns.find(each);
        oldest = std::min(oldest, known != in.pool_turns.end() ? known->second : 0);
    }
    return oldest;
}

memory_task* memory_queues::next(const claim_scope& scope, timestamp now) {
    std::optional<std::uint64_t> oldest;
    memory_task* found = nullptr;
    for (auto& [name, in] : queues_) {
        if (!has(scope, name) || !may_start(in) || bucket(in).available(now) == 0 ||
            (oldest.has_value() && *oldest <= turn_of(scope, in))) {
            continue;
        }
        const flow* first = nullptr;
        for (auto& [key, key_flow] : in.flows) {
            if (may_start(in, key_flow) && bucket(in, key_flow).available(now) > 0 &&
                (first == nullptr || order_of(scope, key_flow) < order_of(scope, *first)) &&
                first_of(scope, key_flow, now) != nullptr) {
                first = &key_flow;
            }
        }
        if (first != nullptr) {
            oldest = turn_of(scope, in);
            found = first_of(scope, *first, now);
        }
    }
    return found;
}

void memory_queues::started(const claim_scope& scope, const task_record& task, timestamp now) {
    queue& in = queue_of(task.queue);
    flow& key_flow = flow_of(in, task.flow_key);
    ++turns_;
    if (!scope.is_for_workers) {
        in.last_turn = key_flow.last_turn = turns_;
    }
    for (const std::string& each : scope.pools) {
        in.pool_turns[each] = turns_;
        const auto line = key_flow.pools.find(each);
        if (line != key_flow.pools.end()) {
            line->second.last_turn = turns_;
        }
    }
    rate_bucket queue_rate = bucket(in);
    queue_rate.take(now, 1);
    in.full_at = queue_rate.full_at();
    rate_bucket key_rate = bucket(in, key_flow);
    key_rate.take(now, 1);
    key_flow.full_at = key_rate.full_at();
    destinations_.started(task, now);
}

std::optional<timestamp> memory_queues::next_at(const claim_scope& scope, moment present) {
    const timestamp now = present.steady;
    std::optional<timestamp> earliest;
    const auto consider = [&](const queue& in, const flow& key_flow, const task_record& task,
                              timestamp due_at) {
        if (const std::optional<timestamp> free_at = destinations_.free_at(task, now)) {
            const timestamp at =
                std::max({due_at, bucket(in).next(now), bucket(in, key_flow).next(now), *free_at});
            earliest = std::min(earliest.value_or(timestamp::max()), at);
        }
    };
    for (auto& [name, in] : queues_) {
        if (!has(scope, name) || !may_start(in)) {
            continue;
        }
        const auto consider_due = [&](const flow& key_flow, const due_tasks& due) {
            for (const auto& [turn, task] : due) {
                consider(in, key_flow, task->record, now);
                if (task->record.destination.empty()) {
                    break;  // what follows cannot be earlier
                }
            }
        };
        for (const auto& [key, key_flow] : in.flows) {
            if (!may_start(in, key_flow)) {
                continue;
            }
            if (!scope.is_for_workers) {
                consider_due(key_flow, key_flow.due);
            }
            for (const std::string& each : scope.pools) {
                const auto line = key_flow.pools.find(each);
                if (line != key_flow.pools.end()) {
                    consider_due(key_flow, line->second.due);
                }
            }
        }
        const auto consider_waiting = [&](const memory_task& task, timestamp until) {
            const flow& key_flow = flow_of(in, task.record.flow_key);
            if (has(scope, task.record) && may_start(in, key_flow)) {
                consider(in, key_flow, task.record, std::max(until, now));
            }
        };
        for (const auto& [due_at, task] : in.later) {
            consider_waiting(*task, present.steady_of(due_at.first));
        }
        for (const auto& [until, task] : in.delayed) {
            consider_waiting(*task, until.first);
        }
    }
    return earliest;
}

std::vector<hold> memory_queues::holds(const task_record& task, moment now) {
    std::vector<hold> all;
    const auto add = [&](hold::reason why, std::optional<timestamp> until = {}) {
        hold& added = all.emplace_back();
        added.why = why;
        added.until = until;
    };
    queue& in = queue_of(task.queue);
    const flow& key_flow = flow_of(in, task.flow_key);
    if (in.record.is_paused) {
        add(hold::reason::paused);
    }
    if (is_at_limit(in.record.count(task_state::running), in.record.limits.max_running)) {
        add(hold::reason::queue_full);
    }
    if (bucket(in).available(now.steady) == 0) {
        add(hold::reason::queue_rate, now.calendar_of(bucket(in).next(now.steady)));
    }
    if (key_flow.own.is_paused) {
        add(hold::reason::key_paused);
    }
    if (is_full(in, key_flow)) {
        add(hold::reason::key_full);
    }
    if (bucket(in, key_flow).available(now.steady) == 0) {
        add(hold::reason::key_rate, now.calendar_of(bucket(in, key_flow).next(now.steady)));
    }
    for (hold& each : destinations_.holds(task, now.steady)) {
        if (each.until) {
            each.until = now.calendar_of(*each.until);
        }
        all.push_back(std::move(each));
    }
    return all;
}

void memory_queues::purge(timestamp unused_since, moment now) {
    const std::int64_t nanoseconds = now.steady.time_since_epoch().count() * 1000;
    destinations_.purge(now.steady);
    for (auto& [name, in] : queues_) {
        for (auto& [key, key_flow] : in.flows) {
            std::erase_if(key_flow.pools, [](const auto& each) { return each.second.tasks == 0; });
        }
        std::erase_if(in.flows, [&](const auto& each) {
            return each.second.tasks == 0 && each.second.full_at <= nanoseconds &&
                   each.second.own == key_settings();
        });
    }
    std::erase_if(queues_, [&](const auto& each) {
        const queue& in = each.second;
        return in.flows.empty() && in.used_at <= unused_since && !in.record.is_paused &&
               in.record.limits == queue_limits() && in.record.counts == queue_record().counts;
    });
}

}  // namespace weir::service::detail
