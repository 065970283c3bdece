// SPDX-License-Identifier: MIT
// A task without options costs a row, an entry in the index of lines, and an update of the counts
// of its queue, flow and branch, which tasks submitted together share.

#include "service/store/sqlite/submit.hpp"

#include "base/raw_json.hpp"
#include "service/store/follow_ups.hpp"
#include "service/store/sqlite/rows/callback_rows.hpp"
#include "service/store/sqlite/rows/read_ahead.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <string>
#include <utility>

namespace weir::service::detail {

namespace {

template <class T>
std::optional<T> null_if(const T& value, const T& default_value) {
    return value == default_value ? std::optional<T>() : std::optional<T>(value);
}

// Few tasks have these columns.
bool has_extras(const new_task& task) {
    return task.expires_at.has_value() || !task.unique_key.empty() || !task.traceparent.empty() ||
           !task.tracestate.empty() || !task.secret.empty() || has_follow_ups(task);
}

const std::string& insert_sql(bool is_full) {
    static const auto make = [](std::string_view more_columns, std::string_view more_values) {
        return std::string(
                   "INSERT INTO tasks(id, queue, flow, state, line, rank, priority, created_at, "
                   "due_at, kind, run_at, timeout_ms, max_attempts, backoff_ms, factor, "
                   "max_backoff_ms, jitter, idempotency_key, tags, branch, waits, payload_from, "
                   "in_group, payload")
            .append(more_columns)
            .append(
                ") VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?")
            .append(more_values)
            .append(")");
    };
    static const std::string usual = make("", "");
    static const std::string full =
        make(", unique_key, callbacks, traceparent, tracestate, secret, unique_for, expires_at",
             ", ?, ?, ?, ?, ?, ?, ?");
    return is_full ? full : usual;
}

}  // namespace

task_id id_source::next(sql_session& session, timestamp now, task_id previous) {
    const bool is_shared = backend_ != nullptr && backend_->is_shared();
    if (!previous) {
        std::optional<std::int64_t> newest;
        if (!is_shared || !has_read_) {
            newest = session.query("SELECT max(id) FROM tasks").one<std::optional<std::int64_t>>();
            has_read_ = true;
        }
        previous = task_id(std::max(last_.load(std::memory_order_relaxed), newest.value_or(0)));
    }
    const auto milliseconds =
        std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count();
    task_id made = next_id(previous, milliseconds);
    // After an id of another process, too: that one continues with the next.
    if (is_shared && (made.milliseconds() > previous.milliseconds() ||
                      previous.number() != last_.load(std::memory_order_relaxed))) {
        constexpr std::uint32_t half = 1U << (task_id::counter_bits - 1);
        made = task_id(made.number() + std::random_device()() % half);
    }
    last_.store(made.number(), std::memory_order_relaxed);
    return made;
}

// ---- idempotency keys

void keyed_tasks::read_ahead(std::span<const std::string_view> keys) {
    constexpr const char* sql =
        "SELECT id, kind, (SELECT name FROM queues WHERE queues.id = queue), coalesce(payload, "
        "(SELECT payload FROM payloads WHERE task = tasks.id)) FROM tasks WHERE idempotency_key = "
        "?";
    std::vector<sql_values> sets;
    std::vector<std::optional<task>*> unread;
    for (const std::string_view each : keys) {
        const auto [known, is_new] = known_.try_emplace(std::string(each));
        if (is_new) {
            unread.push_back(&known->second);
            sets.push_back(sql_values{each});
        }
    }
    const sql_groups found = session_.query_each(sql, std::move(sets));
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (found.count(i) > 0) {
            const sqlite::row row = found.row(i, 0);
            unread[i]->emplace(task{row.get<std::int64_t>(0), row.get<std::string>(1),
                                    row.get<std::string>(2), row.get<std::string>(3)});
        }
    }
}

const keyed_tasks::task* keyed_tasks::find(const std::string& key) {
    auto known = known_.find(key);
    if (known == known_.end()) {
        const std::string_view one[] = {key};
        read_ahead(one);
        known = known_.find(key);
    }
    return known->second.has_value() ? &*known->second : nullptr;
}

void keyed_tasks::add(const new_task& made, std::int64_t id) {
    known_[made.idempotency_key].emplace(task{id, made.kind, made.queue, made.payload});
}

// ---- tasks

std::optional<submit_result> submitter::find_duplicate(const new_task& task) {
    keyed_tasks fresh(session_);
    const keyed_tasks::task* const found =
        (keyed_ != nullptr ? *keyed_ : fresh).find(task.idempotency_key);
    if (found == nullptr) {
        return std::nullopt;
    }
    const bool is_same = found->kind == task.kind && found->queue == task.queue &&
                         base::same_json(found->payload, task.payload);
    submit_result answer;
    answer.what = is_same ? submit_result::verdict::duplicate : submit_result::verdict::conflict;
    answer.id = task_id(found->id);
    return answer;
}

submit_result submitter::add(const new_task& task, const placement& in) {
    if (!task.idempotency_key.empty()) {
        if (const auto answer = find_duplicate(task)) {
            return *answer;
        }
    }
    if (!task.unique_key.empty()) {
        if (const std::int64_t holder = holder_of(session_, task.unique_key)) {
            return {submit_result::verdict::duplicate, task_id(holder)};
        }
    }
    queue_row* const known_queue = books_.queue(task.queue, max_queues_);
    if (known_queue == nullptr) {
        return {submit_result::verdict::too_many_queues, {}};
    }
    queue_row& queue = *known_queue;
    if (queue.limits.max_pending > 0 &&
        queue.count(task_state::pending) >= queue.limits.max_pending) {
        return {submit_result::verdict::queue_full, {}};
    }
    return {submit_result::verdict::made, insert(task, queue, in)};
}

task_id submitter::add_follow_up(const new_task& task, queue_row* instead) {
    queue_row* queue = books_.queue(task.queue, max_queues_);
    if (queue == nullptr) {
        queue = instead != nullptr ? instead : books_.queue(default_queue, max_queues_);
    }
    return insert(task, *queue, {});
}

task_id submitter::insert(const new_task& task, queue_row& queue, const placement& in) {
    flow_row& flow = books_.flow(queue, task.flow_key);
    branch_row* branch = nullptr;
    if (task.is_remote) {
        branch = &books_.branch(flow, books_.pool(task.kind));
    } else if (!task.destination.empty()) {
        branch = &books_.branch(flow, books_.destination(task.kind, task.destination));
    }
    const task_place place = {queue, flow, branch};
    last_ = ids_.next(session_, now_.at, last_);
    const std::int64_t id = last_.number();
    const timestamp due_at = task.run_at.value_or(now_.at);
    const bool is_waiting = in.waits.value_or(0) > 0;
    const bool is_due = due_at <= now_.at && !is_waiting;
    const line_position position = is_waiting ? waiting_position(place, id)
                                              : later_position(place, task.priority, due_at, now_);
    const bool is_inline = task.payload.size() <= max_inline_payload;
    const retry_settings defaults;
    const std::string tags = write_tags(task.tags);
    sql_values values = sql_session::values_of(
        id, queue.id, flow.id, position.line, position.rank, task.priority, number_of(now_.at),
        number_of(due_at), task.kind, number_of(task.run_at),
        null_if(task.timeout.count(), std::chrono::milliseconds::rep{0}),
        null_if(task.retry.max_attempts, defaults.max_attempts),
        null_if(task.retry.backoff.count(), defaults.backoff.count()),
        null_if(task.retry.factor, defaults.factor),
        null_if(task.retry.max_backoff.count(), defaults.max_backoff.count()),
        null_if(task.retry.jitter, defaults.jitter), null_if_empty(task.idempotency_key),
        null_if_empty(tags), branch != nullptr ? std::optional(branch->id) : std::nullopt, in.waits,
        in.payload_from, in.group,
        is_inline ? std::optional<std::string_view>(task.payload) : std::nullopt);
    if (has_extras(task)) {
        const std::string callbacks = write_callbacks(task);
        const std::string secret = write_tags(task.secret);
        for (const std::string* const each :
             {&task.unique_key, &callbacks, &task.traceparent, &task.tracestate, &secret}) {
            values.emplace_back(null_if_empty(*each));
        }
        values.emplace_back(null_if(static_cast<int>(task.unique_for), 0));
        values.emplace_back(number_of(task.expires_at));
        session_.run_row(insert_sql(true), std::move(values));
    } else {
        session_.run_row(insert_sql(false), std::move(values));
    }
    if (!is_inline) {
        session_.execute_row("INSERT INTO payloads(task, payload) VALUES (?, ?)", id, task.payload);
    }
    if (task.expires_at.has_value()) {
        session_.execute_row("INSERT INTO expiries(task, at) VALUES (?, ?)", id,
                             number_of(*task.expires_at));
    }
    if (!task.unique_key.empty()) {
        hold_key(session_, task.unique_key, id);
    }
    for (const std::string& each : task.tags) {
        session_.execute_row("INSERT INTO tags(tag, task) VALUES (?, ?) ON CONFLICT DO NOTHING",
                             each, id);
    }
    if (keyed_ != nullptr && !task.idempotency_key.empty()) {
        keyed_->add(task, id);
    }
    books_.enters(place, {task_state::pending, is_due}, {position.rank, id});
    if (events_.is_observed()) {
        task_record made;
        made.id = last_;
        made.kind = task.kind;
        made.queue = queue.name;
        made.due_at = due_at;
        made.waits = in.waits.value_or(0);
        events_.add(made);
    }
    return last_;
}

void submit_call::run(sql_session& session, std::span<sql_joint_work* const> all) {
    ledger books(session, now_);
    std::set<std::pair<std::string_view, std::string_view>> flows;
    std::vector<std::string_view> keys;
    for (sql_joint_work* const work : all) {
        for (const new_task& each : static_cast<submit_call&>(*work).batch_) {
            flows.emplace(each.queue, each.flow_key);
            if (!each.idempotency_key.empty()) {
                keys.push_back(each.idempotency_key);
            }
        }
    }
    read_ahead(session, books, flows);
    keyed_tasks keyed(session);
    keyed.read_ahead(keys);
    for (sql_joint_work* const work : all) {
        auto& call = static_cast<submit_call&>(*work);
        event_list events(call.is_observed_, call.now_.at);
        submitter tasks(session, books, ids_, events, call.now_, max_queues_, &keyed);
        call.results_.clear();
        for (const new_task& each : call.batch_) {
            call.results_.push_back(tasks.add(each));
        }
        call.events_ = events.take();
    }
    books.close();
}

}  // namespace weir::service::detail
