// SPDX-License-Identifier: MIT
// A filter becomes the WHERE clause of a query. The query scans the tasks from the newest to the
// oldest, or a smaller set where the filter names one: running or failed tasks, those with a tag.

#include "service/store/sqlite/queries.hpp"

#include "service/store/group_callback.hpp"
#include "service/store/sqlite/rows/group_rows.hpp"
#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"
#include "service/store/sqlite/sessions.hpp"

#include <array>
#include <chrono>
#include <limits>
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
    template <class T>
    void add_parameter(const T& parameter) {
        parameters_.emplace_back(parameter);
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
        case task_view::waiting:
            all.add("waits > 0");
            break;
        case task_view::scheduled:
            all.add("coalesce(waits, 0) = 0");
            all.add("failures = 0");
            all.add("due_at > ?", number_of(now));
            break;
        case task_view::pending:
            all.add("coalesce(waits, 0) = 0");
            all.add("failures = 0");
            all.add("due_at <= ?", number_of(now));
            break;
        case task_view::retrying:
            all.add("coalesce(waits, 0) = 0");
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
bool is_short(sql_session& session, task_state state) {
    constexpr std::int64_t many = 2'000;
    const auto count = session
                           .query(state == task_state::failed ? "SELECT sum(failed) FROM queues"
                                                              : "SELECT sum(cancelled) FROM queues")
                           .one<std::optional<std::int64_t>>();
    return count.value_or(0) < many;
}

// Tasks of the filter have lower ids.
std::int64_t upper_bound_of(const task_filter& filter) noexcept {
    return filter.before ? filter.before.number() : std::numeric_limits<std::int64_t>::max();
}

std::string listed_states(const task_filter& filter) {
    std::string all;
    for (const task_state each : filter.any_of) {
        all += all.empty() ? "" : ", ";
        all += std::to_string(static_cast<int>(each));
    }
    return all;
}

conditions write_conditions(sql_session& session, const task_filter& filter, timestamp now,
                            std::optional<std::int64_t> oldest = {}) {
    conditions all;
    if (!filter.tag.empty()) {
        all.add("tasks.id IN (SELECT task FROM tags WHERE tag = ? AND task >= ? AND task < ?)",
                filter.tag);
        all.add_parameter(oldest.value_or(0));
        all.add_parameter(upper_bound_of(filter));
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
    if (!filter.any_of.empty()) {
        all.add("tasks.state IN (" + listed_states(filter) + ")");
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
    if (oldest.has_value()) {
        all.add("tasks.id >= ?", *oldest);
    }
    return all;
}

// As far as the counts of the queues tell.
bool has_any(sql_session& session, const task_filter& filter) {
    const std::optional<task_state> state =
        filter.view ? std::optional(state_of(*filter.view)) : filter.state;
    std::vector<task_state> states = filter.any_of;
    if (state) {
        states = {*state};
    }
    if (filter.queue.empty() && states.empty()) {
        return true;
    }
    constexpr std::array<std::string_view, 5> columns = {"pending", "running", "completed",
                                                         "failed", "cancelled"};
    std::string sql = "SELECT 1 FROM queues WHERE ";
    std::string count;
    for (const task_state each : states) {
        count += count.empty() ? "" : " + ";
        count += columns[static_cast<std::size_t>(each)];
    }
    sql += count.empty() ? "1 = 1" : "(" + count + ") > 0";
    return filter.queue.empty() ? !session.query(sql + " LIMIT 1").empty()
                                : !session.query(sql + " AND name = ?", filter.queue).empty();
}

// A search without an index ends at this task. Empty: it has an index, or so few are left.
std::optional<std::int64_t> search_end(sql_session& session, const task_filter& filter) {
    const std::int64_t before = upper_bound_of(filter);
    const std::size_t offset = filter.max_scanned - 1;
    if (!filter.tag.empty()) {
        const sqlite::rows found = session.query(
            "SELECT task FROM tags WHERE tag = ? AND task < ? ORDER BY task DESC LIMIT 1 OFFSET ?",
            filter.tag, before, offset);
        return found.empty() ? std::nullopt : std::optional(found[0].get<std::int64_t>(0));
    }
    const std::optional<task_state> state =
        filter.view ? std::optional(state_of(*filter.view)) : filter.state;
    const bool is_filtered = state || !filter.any_of.empty() || !filter.queue.empty() ||
                             !filter.kind.empty() || !filter.flow_key.empty() ||
                             filter.created_from || filter.created_to;
    const bool has_line = state == task_state::running ||
                          ((state == task_state::failed || state == task_state::cancelled) &&
                           is_short(session, *state));
    if (!is_filtered || has_line) {
        return std::nullopt;
    }
    const sqlite::rows found = session.query(
        "SELECT id FROM tasks WHERE id < ? ORDER BY id DESC LIMIT 1 OFFSET ?", before, offset);
    return found.empty() ? std::nullopt : std::optional(found[0].get<std::int64_t>(0));
}

void add_unmet(sql_session& session, task_id id, std::vector<hold>& reasons) {
    constexpr std::size_t max_unmet = 20;
    task_record task;
    task.id = id;
    task.has_parents = true;
    read_parents(session, task);
    for (const dependency_record& each : task.parents) {
        if (!each.is_met() && reasons.size() < max_unmet) {
            hold& added = reasons.emplace_back();
            added.why = hold::reason::waits_for;
            added.detail = unmet_text(each);
        }
    }
}

}  // namespace

std::vector<queue_record> list_queues(sql_session& session) {
    static const std::string sql =
        "SELECT " + std::string(queue_columns) + " FROM queues ORDER BY name";
    std::vector<queue_record> queues;
    const sqlite::rows found = session.query(sql);
    for (const sqlite::row each : found) {
        queues.push_back(read_queue(each));
    }
    return queues;
}

timestamp newest_of(const task_filter& filter) noexcept {
    timestamp newest = filter.created_to.value_or(timestamp::max());
    if (filter.before) {
        const std::chrono::milliseconds made(filter.before.milliseconds());
        newest = std::min(newest, timestamp(made));
    }
    return newest;
}

task_page search_tasks(sql_session& session, const task_filter& filter, timestamp now) {
    task_page tasks;
    if (!has_any(session, filter)) {
        return tasks;
    }
    const std::optional<std::int64_t> end = search_end(session, filter);
    conditions all = write_conditions(session, filter, now, end);
    std::string columns(task_columns);
    if (filter.is_brief) {
        columns.replace(columns.size() - long_columns.size(), long_columns.size(), "NULL, NULL");
    }
    const sqlite::rows found =
        session.fetch("SELECT " + columns + std::string(task_names) + " FROM tasks" + all.text() +
                          " ORDER BY tasks.id DESC LIMIT ?",
                      all.take(filter.limit));
    tasks.reserve(found.size());
    for (const sqlite::row each : found) {
        tasks.push_back(read_named_task(each));
    }
    if (end.has_value() && tasks.size() < filter.limit) {
        tasks.searched_to = task_id(*end);
    }
    return tasks;
}

failed_tasks search_failed(sql_session& session, const task_filter& filter, failed_place after,
                           timestamp now) {
    constexpr std::int64_t line = ended_line(task_state::failed);
    failed_tasks result;
    const sqlite::rows last = session.query(
        "SELECT rank, id FROM tasks INDEXED BY tasks_line WHERE line = ? AND rank >= ? AND (rank, "
        "id) > (?, ?) ORDER BY rank, id LIMIT 1 OFFSET ?",
        line, after.rank, after.rank, after.id, filter.max_scanned - 1);
    conditions all = write_conditions(session, filter, now);
    all.add("line = ?", line);
    all.add("rank >= ?", after.rank);
    all.add("(rank, tasks.id) > (?, ?)", after.rank);
    all.add_parameter(after.id);
    if (!last.empty()) {
        result.searched_to = {last[0].get<std::int64_t>(0), last[0].get<std::int64_t>(1)};
        all.add("(rank, tasks.id) <= (?, ?)", result.searched_to->rank);
        all.add_parameter(result.searched_to->id);
    }
    const sqlite::rows found =
        session.fetch("SELECT tasks.id, rank FROM tasks INDEXED BY tasks_line" + all.text() +
                          " ORDER BY rank, tasks.id LIMIT ?",
                      all.take(filter.limit));
    for (const sqlite::row each : found) {
        result.ids.push_back(each.get<std::int64_t>(0));
    }
    if (found.size() == filter.limit) {
        const sqlite::row newest = found[found.size() - 1];
        result.searched_to = {newest.get<std::int64_t>(1), newest.get<std::int64_t>(0)};
    }
    return result;
}

std::vector<hold> find_holds(sql_session& session, task_id id, moment now) {
    const sqlite::rows found = session.query(
        "SELECT state, line, held_by, queue, flow, branch, rank, kind FROM tasks WHERE id = ?",
        id.number());
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
    const auto line = task.get<std::int64_t>(1);
    const auto queue_id = task.get<std::int64_t>(3);
    if (line == waiting_line(queue_id)) {
        add_unmet(session, id, reasons);
    }
    timestamp due_at = now.at;
    if (line == later_line(queue_id)) {
        due_at = time_of(task.get<std::int64_t>(6));
    } else if (line == backoff_line(queue_id)) {
        due_at = now.calendar_of(time_of(task.get<std::int64_t>(6)));
    }
    if (due_at > now.at) {
        const auto held_by = task.get<std::optional<std::string>>(2);
        add(held_by.has_value() ? hold::reason::postponed : hold::reason::not_due, due_at).detail =
            held_by.value_or("");
    }
    ledger books(session, now);
    const queue_row& queue = books.queue(queue_id);
    const flow_row& flow = books.flow(task.get<std::int64_t>(4));
    if (queue.is_paused) {
        add(hold::reason::paused);
    }
    if (queue.is_full()) {
        add(hold::reason::queue_full);
    }
    if (queue.bucket().available(now.steady) == 0) {
        add(hold::reason::queue_rate, now.calendar_of(queue.bucket().next(now.steady)));
    }
    if (flow.own.is_paused) {
        add(hold::reason::key_paused);
    }
    if (flow.is_full(queue.limits)) {
        add(hold::reason::key_full);
    }
    if (flow.bucket(queue.limits).available(now.steady) == 0) {
        add(hold::reason::key_rate, now.calendar_of(flow.bucket(queue.limits).next(now.steady)));
    }
    const auto branch = task.get<std::optional<std::int64_t>>(5);
    if (branch.has_value() && books.branch(*branch).pool.has_value()) {
        const auto kind = task.get<std::string>(7);
        if (const auto why = find_worker_hold(session, kind, queue.name, now.steady)) {
            add(*why).detail = kind;
        }
    } else if (branch.has_value()) {
        destination_row& to = books.destination(books.branch(*branch).destination);
        for (hold& each : to.gate().holds(now.steady)) {
            each.detail = to.name;
            if (each.until) {
                each.until = now.calendar_of(*each.until);
            }
            reasons.push_back(std::move(each));
        }
    }
    if (reasons.empty()) {
        add(hold::reason::its_turn);
    }
    return reasons;
}

std::vector<endpoint_record> list_disabled_endpoints(sql_session& session) {
    std::vector<endpoint_record> all;
    const sqlite::rows found = session.query(
        "SELECT kind, name, since, reason FROM disabled_endpoints ORDER BY kind, name");
    for (const sqlite::row each : found) {
        endpoint_record& added = all.emplace_back();
        added.kind = each.get<std::string>(0);
        added.name = each.get<std::string>(1);
        added.since = time_of(each.get<std::int64_t>(2));
        added.reason = each.get<std::string>(3);
    }
    return all;
}

// The slowed first, by the time at which they are free, then the full ones: by indexes, so that the
// cost does not depend on how many there are.
std::vector<destination_record> list_destinations(sql_session& session, std::size_t limit,
                                                  timestamp now) {
    static const std::string queries[] = {
        std::string(destination_query) +
            "place = 3 AND destinations.name != '' ORDER BY free_at LIMIT ?",
        std::string(destination_query) +
            "place = 2 AND destinations.name != '' ORDER BY turn LIMIT ?",
        std::string(destination_query) +
            "place = 1 AND destinations.name != '' ORDER BY turn LIMIT ?",
        std::string(destination_query) +
            "place = 0 AND destinations.name != '' ORDER BY destinations.id DESC LIMIT ?"};
    std::vector<destination_record> all;
    for (const std::string& sql : queries) {
        if (all.size() == limit) {
            break;
        }
        const sqlite::rows found = session.query(sql, limit - all.size());
        for (const sqlite::row each : found) {
            destination_row row = read_destination(each);
            destination_record& record = all.emplace_back();
            record.kind =
                session.query("SELECT kind_name FROM destination_kinds WHERE id = ?", row.kind)
                    .one<std::string>();
            record.name = row.name;
            record.circuit = row.gate().circuit(now);
            record.running = static_cast<std::uint64_t>(row.state.running);
            record.due = static_cast<std::uint64_t>(row.due);
            record.failures = static_cast<std::uint64_t>(row.state.failures);
            const timestamp free_at = row.gate().free_at(now);
            record.free_at = free_at > now ? free_at : timestamp{};
        }
    }
    return all;
}

}  // namespace weir::service::detail
