// SPDX-License-Identifier: MIT
// A filter becomes the WHERE clause of a query. The query scans the tasks from the newest to the
// oldest, or a smaller set where the filter names one: running or failed tasks, those with a tag.

#include "service/store/sqlite/queries.hpp"

#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace weir::service::detail {

namespace {

class conditions {
public:
    template <class T>
    void add(std::string_view sql, const T& parameter) {
        add(sql);
        parameters_.emplace_back(parameter);
    }
    void add(std::string_view sql) {
        text_.append(text_.empty() ? " WHERE " : " AND ").append(sql);
    }
    const std::string& text() const noexcept { return text_; }
    std::vector<sqlite::value> take(std::size_t limit) {
        parameters_.emplace_back(limit);
        return std::move(parameters_);
    }

private:
    std::string text_;
    std::vector<sqlite::value> parameters_;
};

void add_view(conditions& all, task_view view, timestamp now) {
    switch (view) {
        case task_view::scheduled:
            all.add("failures = 0");
            all.add("due_at > ?", number_of(now));
            break;
        case task_view::pending:
            all.add("failures = 0");
            all.add("due_at <= ?", number_of(now));
            break;
        case task_view::retrying:
            all.add("failures > 0");
            break;
        case task_view::running:
            all.add("is_cancelling = 0");
            break;
        case task_view::cancelling:
            all.add("is_cancelling = 1");
            break;
        default:
            break;
    }
}

// A query that uses a line reads all of it. Of a long line, the newest tasks are found faster by
// scanning all tasks.
bool is_short(sqlite::session& session, task_state state) {
    constexpr std::int64_t many = 2'000;
    const auto count = session
                           .query(state == task_state::failed ? "SELECT sum(failed) FROM queues"
                                                              : "SELECT sum(cancelled) FROM queues")
                           .one<std::optional<std::int64_t>>();
    return count.value_or(0) < many;
}

conditions write_conditions(sqlite::session& session, const task_filter& filter, timestamp now) {
    conditions all;
    if (!filter.tag.empty()) {
        all.add("tasks.id IN (SELECT task FROM tags WHERE tag = ?)", filter.tag);
    }
    const auto add_state = [&](task_state state) {
        all.add("tasks.state = ?", static_cast<int>(state));
        // Few tasks are found faster in their line.
        if ((state == task_state::failed || state == task_state::cancelled) &&
            is_short(session, state)) {
            all.add("line = ?", ended_line(state));
        } else if (state == task_state::running) {
            all.add("line IN (SELECT 8 * number + 2 FROM nodes WHERE is_gone = 0)");
        }
    };
    if (filter.state.has_value()) {
        add_state(*filter.state);
    }
    if (filter.view.has_value()) {
        add_state(state_of(*filter.view));
        add_view(all, *filter.view, now);
    }
    if (!filter.queue.empty()) {
        all.add("queue = (SELECT id FROM queues WHERE name = ?)", filter.queue);
    }
    if (!filter.kind.empty()) {
        all.add("kind = ?", filter.kind);
    }
    if (!filter.flow_key.empty()) {
        all.add("flow IN (SELECT id FROM flows WHERE key = ?)", filter.flow_key);
    }
    if (filter.created_from.has_value()) {
        all.add("created_at >= ?", number_of(*filter.created_from));
        all.add("tasks.id >= ?",
                next_id({}, std::chrono::floor<std::chrono::milliseconds>(*filter.created_from)
                                .time_since_epoch()
                                .count())
                    .number());  // an id is never less than the one for its time
    }
    if (filter.created_to.has_value()) {
        all.add("created_at < ?", number_of(*filter.created_to));
    }
    if (filter.before) {
        all.add("tasks.id < ?", filter.before.number());
    }
    return all;
}

}  // namespace

std::vector<task_record> search_tasks(sqlite::session& session, const task_filter& filter,
                                      timestamp now) {
    conditions all = write_conditions(session, filter, now);
    std::string columns(task_columns);
    if (filter.is_brief) {
        columns.replace(columns.size() - long_columns.size(), long_columns.size(), "NULL, NULL");
    }
    const sqlite::rows found =
        session.fetch("SELECT " + columns + std::string(task_names) + " FROM tasks" + all.text() +
                          " ORDER BY tasks.id DESC LIMIT ?",
                      all.take(filter.limit));
    std::vector<task_record> tasks;
    tasks.reserve(found.size());
    for (const sqlite::row each : found) {
        tasks.push_back(read_named_task(each));
    }
    return tasks;
}

// In the order of the line: a restarted task leaves it, so the next call does not find it again.
std::vector<std::int64_t> search_failed(sqlite::session& session, const task_filter& filter,
                                        timestamp now) {
    conditions all = write_conditions(session, filter, now);
    all.add("line = ?", ended_line(task_state::failed));
    return session
        .fetch("SELECT tasks.id FROM tasks INDEXED BY tasks_line" + all.text() +
                   " ORDER BY rank, tasks.id LIMIT ?",
               all.take(filter.limit))
        .as<std::int64_t>();
}

std::vector<hold> find_holds(sqlite::session& session, task_id id, timestamp now) {
    const sqlite::rows found = session.query(
        "SELECT state, due_at, held_by, queue, flow FROM tasks WHERE id = ?", id.number());
    std::vector<hold> reasons;
    if (found.empty()) {
        return reasons;
    }
    const auto add = [&](hold::reason why, std::optional<timestamp> until = {}) -> hold& {
        hold& added = reasons.emplace_back();
        added.why = why;
        added.until = until;
        return added;
    };
    const sqlite::row task = found[0];
    const auto state = static_cast<task_state>(task.get<int>(0));
    if (state != task_state::pending) {
        add(state == task_state::running ? hold::reason::running : hold::reason::finished);
        return reasons;
    }
    const timestamp due_at = time_of(task.get<std::int64_t>(1));
    if (due_at > now) {
        const auto held_by = task.get<std::optional<std::string>>(2);
        add(held_by.has_value() ? hold::reason::postponed : hold::reason::not_due, due_at).detail =
            held_by.value_or("");
    }
    ledger books(session, now);
    const queue_row& queue = books.queue(task.get<std::int64_t>(3));
    const flow_row& flow = books.flow(task.get<std::int64_t>(4));
    if (queue.is_paused) {
        add(hold::reason::paused);
    }
    if (queue.is_full()) {
        add(hold::reason::queue_full);
    }
    if (queue.bucket().available(now) == 0) {
        add(hold::reason::queue_rate, queue.bucket().next(now));
    }
    if (flow.is_full(queue.limits)) {
        add(hold::reason::key_full);
    }
    if (flow.bucket(queue.limits).available(now) == 0) {
        add(hold::reason::key_rate, flow.bucket(queue.limits).next(now));
    }
    if (reasons.empty()) {
        add(hold::reason::its_turn);
    }
    return reasons;
}

}  // namespace weir::service::detail
