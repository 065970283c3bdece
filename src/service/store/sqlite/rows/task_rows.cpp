// SPDX-License-Identifier: MIT
// A member that has its default value is null in its column.

#include "service/store/sqlite/rows/task_rows.hpp"

#include "service/store/sqlite/rows/callback_rows.hpp"

#include <weir/http/json.hpp>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>

namespace weir::service::detail {

namespace {

constexpr std::uint32_t max_attempts_kept = 20;

class column_reader {
public:
    explicit column_reader(const sqlite::row& row) : row_(row) {}

    template <class T>
    void required(T& into) {
        into = row_.get<T>(next_++);
    }
    // A null column leaves the member as it is.
    void optional(std::string& into) {
        if (const std::string* const text = row_[next_++].text()) {
            into = *text;
        }
    }
    template <class T>
    void optional(T& into) {
        if (!row_[next_].is_null()) {
            into = row_.get<T>(next_);
        }
        ++next_;
    }
    void optional(std::chrono::milliseconds& into) {
        if (const std::int64_t* const number = row_[next_++].integer()) {
            into = std::chrono::milliseconds(*number);
        }
    }
    void time(timestamp& into) { into = time_of(row_.get<std::int64_t>(next_++)); }
    void time(std::optional<timestamp>& into) {
        if (const std::int64_t* const number = row_[next_++].integer()) {
            into = time_of(*number);
        }
    }

private:
    const sqlite::row& row_;
    std::size_t next_ = 0;
};

}  // namespace

task_record read_task(const sqlite::row& row) {
    task_record read;
    column_reader columns(row);
    std::int64_t id = 0;
    int state = 0;
    columns.required(id);
    columns.required(state);
    read.id = task_id(id);
    read.state = static_cast<task_state>(state);
    columns.required(read.is_cancelling);
    columns.required(read.priority);
    columns.required(read.run);
    columns.required(read.failures);
    columns.required(read.crashes);
    columns.time(read.created_at);
    columns.time(read.due_at);
    columns.time(read.started_at);
    columns.time(read.finished_at);
    columns.required(read.kind);
    columns.time(read.run_at);
    columns.time(read.expires_at);
    columns.optional(read.timeout);
    columns.optional(read.retry.max_attempts);
    columns.optional(read.retry.backoff);
    columns.optional(read.retry.factor);
    columns.optional(read.retry.max_backoff);
    columns.optional(read.retry.jitter);
    columns.optional(read.idempotency_key);
    columns.optional(read.unique_key);
    int unique_for = 0;
    columns.optional(unique_for);
    read.unique_for = static_cast<unique_while>(unique_for);
    std::string tags;
    columns.optional(tags);
    read.tags = read_tags(tags);
    std::string secret;
    columns.optional(secret);
    read.secret = read_tags(secret);
    columns.optional(read.progress);
    columns.optional(read.message);
    columns.optional(read.held_by);
    columns.optional(read.error);
    std::string callbacks;
    columns.optional(callbacks);
    read_callbacks(read, callbacks);
    columns.optional(read.traceparent);
    columns.optional(read.tracestate);
    columns.optional(read.step_count);
    std::optional<std::uint32_t> waits;
    columns.optional(waits);
    read.has_parents = waits.has_value();
    read.waits = waits.value_or(0);
    std::int64_t group = 0;
    columns.optional(group);
    read.group = group_id(group);
    columns.optional(read.payload);
    columns.optional(read.result);
    return read;
}

task_record read_named_task(const sqlite::row& row) {
    task_record read = read_task(row);
    read.queue = row.get<std::string>(task_column_count);
    read.flow_key = row.get<std::string>(task_column_count + 1);
    if (const std::string* const node = row[task_column_count + 2].text()) {
        read.node = *node;
    }
    if (const std::string* const destination = row[task_column_count + 3].text()) {
        read.destination = *destination;
        read.is_remote = destination->empty();  // the pool of its kind
    }
    return read;
}

std::int64_t holder_of(sql_session& session, std::string_view unique_key) {
    const sqlite::rows found = session.query(
        "SELECT tasks.id FROM unique_keys JOIN tasks ON tasks.id = unique_keys.task WHERE key = ? "
        "AND (state = 0 OR (state = 1 AND unique_for IS NULL))",
        unique_key);
    return found.empty() ? 0 : found[0].get<std::int64_t>(0);
}

void hold_key(sql_session& session, std::string_view unique_key, std::int64_t task) {
    session.execute(
        "INSERT INTO unique_keys(key, task) VALUES (?1, ?2) ON CONFLICT(key) DO UPDATE SET task = "
        "?2",
        unique_key, task);
}

std::string write_tags(const std::vector<std::string>& tags) {
    if (tags.empty()) {
        return {};
    }
    boost::json::array all;
    for (const std::string& each : tags) {
        all.emplace_back(each);
    }
    return boost::json::serialize(all);
}

std::vector<std::string> read_tags(std::string_view json) {
    std::vector<std::string> tags;
    if (!json.empty()) {
        const boost::json::value parsed =
            boost::json::parse(boost::json::string_view(json.data(), json.size()));
        for (const boost::json::value& each : parsed.as_array()) {
            tags.emplace_back(each.as_string());
        }
    }
    return tags;
}

void write_payload(sql_session& session, std::int64_t task, std::string_view payload) {
    const bool is_inline = payload.size() <= max_inline_payload;
    session.execute("UPDATE tasks SET payload = ? WHERE id = ?",
                    is_inline ? std::optional(payload) : std::nullopt, task);
    session.execute("DELETE FROM payloads WHERE task = ?", task);
    if (!is_inline) {
        session.execute("INSERT INTO payloads(task, payload) VALUES (?, ?)", task, payload);
    }
}

void add_attempt(sql_session& session, std::int64_t task, const attempt_record& attempt) {
    session.execute_row(
        "INSERT INTO attempts(task, run, end, started_at, ended_at, error, node) VALUES (?, ?, ?, "
        "?, ?, ?, ?) ON CONFLICT(task, run) DO UPDATE SET end = excluded.end, started_at = "
        "excluded.started_at, ended_at = excluded.ended_at, error = excluded.error, node = "
        "excluded.node",
        task, attempt.run, static_cast<int>(attempt.end), number_of(attempt.started_at),
        number_of(attempt.ended_at), attempt.error, attempt.node);
    if (attempt.run > max_attempts_kept) {
        session.execute(
            "DELETE FROM attempts WHERE task = ?1 AND run <= (SELECT run FROM attempts WHERE task "
            "= ?1 ORDER BY run DESC LIMIT 1 OFFSET ?2)",
            task, max_attempts_kept);
    }
}

std::vector<attempt_record> read_attempts(sql_session& session, std::int64_t task) {
    const sqlite::rows found = session.query(
        "SELECT run, end, started_at, ended_at, error, node FROM attempts WHERE task = ? ORDER BY "
        "run DESC LIMIT 20",
        task);
    std::vector<attempt_record> attempts;
    for (const sqlite::row each : found) {
        attempt_record& attempt = attempts.emplace_back();
        attempt.run = each.get<std::uint32_t>(0);
        attempt.end = static_cast<attempt_end>(each.get<int>(1));
        attempt.started_at = time_of(each.get<std::int64_t>(2));
        attempt.ended_at = time_of(each.get<std::int64_t>(3));
        attempt.error = each.get<std::string>(4);
        attempt.node = each.get<std::string>(5);
    }
    std::reverse(attempts.begin(), attempts.end());
    return attempts;
}

}  // namespace weir::service::detail
