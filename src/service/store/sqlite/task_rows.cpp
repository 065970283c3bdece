// SPDX-License-Identifier: MIT
// Rows of tasks: a setting with its default value is stored as null.

#include "service/store/sqlite/task_rows.hpp"

#include <weir/http/json.hpp>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace weir::service::detail {

namespace {

class column_reader {
public:
    explicit column_reader(const sqlite::row& from) : from_(from) {}

    template <class T>
    void required(T& into) {
        into = from_.get<T>(next_++);
    }
    // The target keeps its value if the column is null.
    void optional(std::string& into) {
        if (const std::string* const text = from_[next_++].text()) {
            into = *text;
        }
    }
    template <class T>
    void optional(T& into) {
        if (!from_[next_].is_null()) {
            into = from_.get<T>(next_);
        }
        ++next_;
    }
    void optional(std::chrono::milliseconds& into) {
        if (const std::int64_t* const number = from_[next_++].integer()) {
            into = std::chrono::milliseconds(*number);
        }
    }
    void time(timestamp& into) { into = time_of(from_.get<std::int64_t>(next_++)); }
    void time(std::optional<timestamp>& into) {
        if (const std::int64_t* const number = from_[next_++].integer()) {
            into = time_of(*number);
        }
    }

private:
    const sqlite::row& from_;
    std::size_t next_ = 0;
};

}  // namespace

task_record read_task(const sqlite::row& from) {
    task_record read;
    column_reader columns(from);
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
    columns.optional(read.timeout);
    columns.optional(read.retry.max_attempts);
    columns.optional(read.retry.backoff);
    columns.optional(read.retry.factor);
    columns.optional(read.retry.max_backoff);
    columns.optional(read.retry.jitter);
    columns.optional(read.idempotency_key);
    std::string tags;
    columns.optional(tags);
    read.tags = read_tags(tags);
    columns.optional(read.progress);
    columns.optional(read.message);
    columns.optional(read.held_by);
    columns.optional(read.error);
    columns.optional(read.payload);
    columns.optional(read.result);
    return read;
}

task_record read_named_task(const sqlite::row& from) {
    task_record read = read_task(from);
    read.queue = from.get<std::string>(task_column_count);
    read.flow_key = from.get<std::string>(task_column_count + 1);
    if (const std::string* const node = from[task_column_count + 2].text()) {
        read.node = *node;
    }
    return read;
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

void event_list::add(const task_record& task) {
    if (!is_wanted_) {
        return;
    }
    task_event event;
    event.id = task.id;
    event.kind = task.kind;
    event.queue = task.queue;
    event.view = view_of(task, now_);
    event.run = task.run;
    event.failures = task.failures;
    event.progress = task.progress;
    const bool has_failed = event.view == task_view::retrying || event.view == task_view::failed ||
                            event.view == task_view::cancelled;
    event.message = has_failed ? task.error : task.message;
    event.at = now_;
    event.due_at = task.due_at;
    event.started_at = task.started_at.value_or(timestamp());
    events_.push_back(std::move(event));
}

void event_list::add(sqlite::session& on, std::int64_t task) {
    if (!is_wanted_) {
        return;
    }
    // Omits the columns that may be long.
    const sqlite::rows found = on.query(
        "SELECT state, is_cancelling, run, failures, due_at, started_at, kind, progress, message, "
        "error, (SELECT name FROM queues WHERE queues.id = queue) FROM tasks WHERE id = ?",
        task);
    if (found.empty()) {
        return;
    }
    const sqlite::row row = found[0];
    task_record read;
    read.id = task_id(task);
    read.state = static_cast<task_state>(row.get<int>(0));
    read.is_cancelling = row.get<bool>(1);
    read.run = row.get<std::uint32_t>(2);
    read.failures = row.get<std::uint32_t>(3);
    read.due_at = time_of(row.get<std::int64_t>(4));
    if (const std::int64_t* const started = row[5].integer()) {
        read.started_at = time_of(*started);
    }
    read.kind = row.get<std::string>(6);
    read.progress = row.get<std::optional<double>>(7).value_or(0);
    read.message = row.get<std::optional<std::string>>(8).value_or("");
    read.error = row.get<std::optional<std::string>>(9).value_or("");
    read.queue = row.get<std::string>(10);
    add(read);
}

void add_attempt(sqlite::session& on, std::int64_t task, const attempt_record& ended) {
    on.execute(
        "INSERT OR REPLACE INTO attempts(task, run, end, started_at, ended_at, error, node) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        task, ended.run, static_cast<int>(ended.end), number_of(ended.started_at),
        number_of(ended.ended_at), ended.error, ended.node);
    constexpr std::uint32_t kept = 20;
    if (ended.run > kept) {
        on.execute(
            "DELETE FROM attempts WHERE task = ?1 AND run <= (SELECT run FROM attempts WHERE task "
            "= ?1 ORDER BY run DESC LIMIT 1 OFFSET ?2)",
            task, kept);
    }
}

}  // namespace weir::service::detail
