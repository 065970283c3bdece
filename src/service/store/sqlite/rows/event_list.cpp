// SPDX-License-Identifier: MIT
// An event has the view that the task has at the time of the transaction, and the error of the last
// run where that has failed.

#include "service/store/sqlite/rows/event_list.hpp"

#include "service/store/sqlite/rows/ledger.hpp"

#include <optional>
#include <string>

namespace weir::service::detail {

task_event event_list::to_event(const task_record& task) const {
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
    return event;
}

void event_list::add(const task_record& task) {
    if (is_observed_) {
        events_.push_back(to_event(task));
    }
}

void event_list::add(sql_session& session, std::int64_t task) {
    if (!is_observed_) {
        return;
    }
    session_ = &session;
    unread_.push_back(events_.size());
    events_.emplace_back().id = task_id(task);
}

namespace {

task_record read_changed(task_id id, const sqlite::row& row) {
    task_record read;
    read.id = id;
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
    read.waits = row.get<std::uint32_t>(11);
    return read;
}

}  // namespace

// Not all columns: payloads and results may be long.
void event_list::read_tasks() {
    std::vector<sql_values> ids;
    ids.reserve(unread_.size());
    for (const std::size_t each : unread_) {
        ids.push_back(sql_values{events_[each].id.number()});
    }
    const sql_groups found = session_->query_each(
        "SELECT state, is_cancelling, run, failures, due_at, started_at, kind, progress, message, "
        "error, (SELECT name FROM queues WHERE queues.id = queue), coalesce(waits, 0) FROM tasks "
        "WHERE id = ?",
        std::move(ids));
    for (std::size_t i = 0; i < unread_.size(); ++i) {
        task_event& event = events_[unread_[i]];
        event =
            found.count(i) == 0 ? task_event() : to_event(read_changed(event.id, found.row(i, 0)));
    }
    unread_.clear();
}

std::vector<task_event> event_list::take() {
    if (!unread_.empty()) {
        read_tasks();
    }
    std::erase_if(events_, [](const task_event& each) { return !each.id; });
    return std::move(events_);
}

}  // namespace weir::service::detail
