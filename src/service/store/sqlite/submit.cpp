// SPDX-License-Identifier: MIT
// New tasks. A task without options costs one row, one entry in the index of due tasks, and an
// update of the counts of its queue and flow, which tasks submitted together share.

#include "service/store/sqlite/task_rows.hpp"

#include <algorithm>

namespace weir::service::detail {

namespace {

// Longer payloads are stored separately, since a change of the task rewrites its row.
constexpr std::size_t longest_inside = 2000;

template <class T>
std::optional<T> unless(const T& value, const T& usual) {
    return value == usual ? std::optional<T>() : std::optional<T>(value);
}

std::optional<std::string_view> unless_empty(std::string_view text) {
    return text.empty() ? std::optional<std::string_view>() : std::optional(text);
}

}  // namespace

task_id id_source::next(sqlite::session& on, timestamp now, task_id last) {
    if (!last) {
        const auto newest =
            on.query("SELECT max(id) FROM tasks").one<std::optional<std::int64_t>>();
        last = task_id(std::max(last_.load(std::memory_order_relaxed), newest.value_or(0)));
    }
    const auto milliseconds =
        std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count();
    const task_id id = next_id(last, milliseconds);
    last_.store(id.number(), std::memory_order_relaxed);
    return id;
}

std::optional<submit_result> submitter::known(const new_task& fresh) {
    const sqlite::rows found = on_.query(
        "SELECT id, kind, (SELECT name FROM queues WHERE queues.id = queue), coalesce(payload, "
        "(SELECT payload FROM payloads WHERE task = tasks.id)) FROM tasks WHERE idempotency_key = "
        "?",
        fresh.idempotency_key);
    if (found.empty()) {
        return std::nullopt;
    }
    const sqlite::row first = found[0];
    const bool is_same = first.get<std::string_view>(1) == fresh.kind &&
                         first.get<std::string_view>(2) == fresh.queue &&
                         first.get<std::string_view>(3) == fresh.payload;
    submit_result answer;
    answer.what = is_same ? submit_result::verdict::duplicate : submit_result::verdict::conflict;
    answer.id = task_id(first.get<std::int64_t>(0));
    return answer;
}

submit_result submitter::add(const new_task& fresh) {
    if (!fresh.idempotency_key.empty()) {
        if (const auto answer = known(fresh)) {
            return *answer;
        }
    }
    queue_row* const known_queue = books_.queue(fresh.queue, max_queues_);
    if (known_queue == nullptr) {
        return {submit_result::verdict::too_many_queues, {}};
    }
    queue_row& queue = *known_queue;
    if (queue.limits.max_pending > 0 &&
        queue.count(task_state::pending) >= queue.limits.max_pending) {
        return {submit_result::verdict::queue_full, {}};
    }
    flow_row& flow = books_.flow(queue, fresh.flow_key);
    last_ = ids_.next(on_, now_, last_);
    const std::int64_t id = last_.number();
    const timestamp due_at = fresh.run_at.value_or(now_);
    const bool is_due = due_at <= now_;
    const position stands = position_of(queue.id, flow.id, fresh.priority, due_at, now_);
    const bool is_inside = fresh.payload.size() <= longest_inside;
    const retry_settings usual;
    const std::string tags = write_tags(fresh.tags);
    std::optional<std::int64_t> run_at;
    if (fresh.run_at.has_value()) {
        run_at = number_of(*fresh.run_at);
    }
    on_.execute(
        "INSERT INTO tasks(id, queue, flow, state, line, rank, priority, created_at, due_at, kind, "
        "run_at, timeout_ms, max_attempts, backoff_ms, factor, max_backoff_ms, jitter, "
        "idempotency_key, tags, payload) VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
        "?, "
        "?, ?, ?)",
        id, queue.id, flow.id, stands.line, stands.rank, fresh.priority, number_of(now_),
        number_of(due_at), fresh.kind, run_at,
        unless(fresh.timeout.count(), std::chrono::milliseconds::rep{0}),
        unless(fresh.retry.max_attempts, usual.max_attempts),
        unless(fresh.retry.backoff.count(), usual.backoff.count()),
        unless(fresh.retry.factor, usual.factor),
        unless(fresh.retry.max_backoff.count(), usual.max_backoff.count()),
        unless(fresh.retry.jitter, usual.jitter), unless_empty(fresh.idempotency_key),
        unless_empty(tags),
        is_inside ? std::optional<std::string_view>(fresh.payload) : std::nullopt);
    if (!is_inside) {
        on_.execute("INSERT INTO payloads(task, payload) VALUES (?, ?)", id, fresh.payload);
    }
    for (const std::string& each : fresh.tags) {
        on_.execute("INSERT OR IGNORE INTO tags(tag, task) VALUES (?, ?)", each, id);
    }
    books_.enters(queue, flow, {task_state::pending, is_due});
    if (events_.is_wanted()) {
        task_record created;
        created.id = last_;
        created.kind = fresh.kind;
        created.queue = fresh.queue;
        created.due_at = due_at;
        events_.add(created);
    }
    return {submit_result::verdict::made, last_};
}

}  // namespace weir::service::detail
