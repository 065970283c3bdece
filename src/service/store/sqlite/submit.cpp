// SPDX-License-Identifier: MIT
// A task without options costs a row, an entry in the index of lines, and an update of the counts
// of its queue, flow and branch, which tasks submitted together share.

#include "service/store/sqlite/submit.hpp"

#include "base/raw_json.hpp"
#include "service/store/sqlite/rows/callback_rows.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <string>

namespace weir::service::detail {

namespace {

template <class T>
std::optional<T> null_if(const T& value, const T& default_value) {
    return value == default_value ? std::optional<T>() : std::optional<T>(value);
}

}  // namespace

task_id id_source::next(sql_session& session, timestamp now, task_id previous) {
    if (!previous) {
        std::optional<std::int64_t> newest;
        if (!is_shared_ || !has_read_) {
            newest = session.query("SELECT max(id) FROM tasks").one<std::optional<std::int64_t>>();
            has_read_ = true;
        }
        previous = task_id(std::max(last_.load(std::memory_order_relaxed), newest.value_or(0)));
    }
    const auto milliseconds =
        std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count();
    task_id made = next_id(previous, milliseconds);
    // After an id of another process, too: that one continues with the next.
    if (is_shared_ && (made.milliseconds() > previous.milliseconds() ||
                       previous.number() != last_.load(std::memory_order_relaxed))) {
        constexpr std::uint32_t half = 1U << (task_id::counter_bits - 1);
        made = task_id(made.number() + std::random_device()() % half);
    }
    last_.store(made.number(), std::memory_order_relaxed);
    return made;
}

std::optional<submit_result> submitter::find_duplicate(const new_task& task) {
    const sqlite::rows found = session_.query(
        "SELECT id, kind, (SELECT name FROM queues WHERE queues.id = queue), coalesce(payload, "
        "(SELECT payload FROM payloads WHERE task = tasks.id)) FROM tasks WHERE idempotency_key = "
        "?",
        task.idempotency_key);
    if (found.empty()) {
        return std::nullopt;
    }
    const sqlite::row first = found[0];
    const bool is_same = first.get<std::string_view>(1) == task.kind &&
                         first.get<std::string_view>(2) == task.queue &&
                         base::same_json(first.get<std::string_view>(3), task.payload);
    submit_result answer;
    answer.what = is_same ? submit_result::verdict::duplicate : submit_result::verdict::conflict;
    answer.id = task_id(first.get<std::int64_t>(0));
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
    std::optional<std::int64_t> run_at;
    if (task.run_at.has_value()) {
        run_at = number_of(*task.run_at);
    }
    session_.execute(
        "INSERT INTO tasks(id, queue, flow, state, line, rank, priority, created_at, due_at, kind, "
        "run_at, timeout_ms, max_attempts, backoff_ms, factor, max_backoff_ms, jitter, "
        "idempotency_key, tags, branch, waits, payload_from, in_group, payload) VALUES (?, ?, ?, "
        "0, "
        "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        id, queue.id, flow.id, position.line, position.rank, task.priority, number_of(now_.at),
        number_of(due_at), task.kind, run_at,
        null_if(task.timeout.count(), std::chrono::milliseconds::rep{0}),
        null_if(task.retry.max_attempts, defaults.max_attempts),
        null_if(task.retry.backoff.count(), defaults.backoff.count()),
        null_if(task.retry.factor, defaults.factor),
        null_if(task.retry.max_backoff.count(), defaults.max_backoff.count()),
        null_if(task.retry.jitter, defaults.jitter), null_if_empty(task.idempotency_key),
        null_if_empty(tags), branch != nullptr ? std::optional(branch->id) : std::nullopt, in.waits,
        in.payload_from, in.group,
        is_inline ? std::optional<std::string_view>(task.payload) : std::nullopt);
    if (!is_inline) {
        session_.execute("INSERT INTO payloads(task, payload) VALUES (?, ?)", id, task.payload);
    }
    if (!task.unique_key.empty()) {
        session_.execute("UPDATE tasks SET unique_key = ?, unique_for = ? WHERE id = ?",
                         task.unique_key, null_if(static_cast<int>(task.unique_for), 0), id);
        hold_key(session_, task.unique_key, id);
    }
    if (const std::string callbacks = write_callbacks(task); !callbacks.empty()) {
        session_.execute("UPDATE tasks SET callbacks = ? WHERE id = ?", callbacks, id);
    }
    if (!task.traceparent.empty()) {
        session_.execute("UPDATE tasks SET traceparent = ?, tracestate = ? WHERE id = ?",
                         task.traceparent, null_if_empty(task.tracestate), id);
    }
    if (!task.secret.empty()) {
        session_.execute("UPDATE tasks SET secret = ? WHERE id = ?", write_tags(task.secret), id);
    }
    for (const std::string& each : task.tags) {
        session_.execute("INSERT INTO tags(tag, task) VALUES (?, ?) ON CONFLICT DO NOTHING", each,
                         id);
    }
    books_.enters(place, {task_state::pending, is_due});
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
    for (sql_joint_work* const work : all) {
        auto& call = static_cast<submit_call&>(*work);
        event_list events(call.is_observed_, call.now_.at);
        submitter tasks(session, books, ids_, events, call.now_, max_queues_);
        call.results_.clear();
        for (const new_task& each : call.batch_) {
            call.results_.push_back(tasks.add(each));
        }
        call.events_ = events.take();
    }
    books.close();
}

}  // namespace weir::service::detail
