// SPDX-License-Identifier: MIT
// The operations of the SQLite store on its tables. Each runs inside a transaction of its caller.
#pragma once

#include "service/store/sqlite/ledger.hpp"

#include <weir/db/sqlite/session.hpp>
#include <weir/service/store.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

// ---- rows of tasks

// Columns of tasks; then the names of the queue, flow key and node, for callers that do not know
// them.
inline constexpr std::string_view task_columns =
    "tasks.id, tasks.state, is_cancelling, priority, run, failures, crashes, created_at, due_at, "
    "tasks.started_at, finished_at, kind, run_at, timeout_ms, max_attempts, backoff_ms, factor, "
    "max_backoff_ms, jitter, idempotency_key, tags, progress, message, held_by, error, "
    "coalesce(payload, (SELECT payload FROM payloads WHERE task = tasks.id)), result";
inline constexpr std::size_t task_column_count = 27;
// The last columns, which may be long.
inline constexpr std::string_view long_columns =
    "coalesce(payload, (SELECT payload FROM payloads WHERE task = tasks.id)), result";
static_assert(task_columns.ends_with(long_columns));
inline constexpr std::string_view task_names =
    ", (SELECT name FROM queues WHERE queues.id = tasks.queue), "
    "(SELECT key FROM flows WHERE flows.id = flow), "
    "(SELECT nodes.id FROM nodes WHERE number = node)";
task_record read_task(const sqlite::row& from);
task_record read_named_task(const sqlite::row& from);  // with task_names

std::string write_tags(const std::vector<std::string>& tags);  // empty: no tags
std::vector<std::string> read_tags(std::string_view json);

// The line of a task: see file/schema.cpp.
inline std::int64_t due_line(std::int64_t flow) noexcept {
    return 8 * flow;
}
inline std::int64_t later_line(std::int64_t queue) noexcept {
    return 8 * queue + 1;
}
inline std::int64_t running_line(std::int64_t node) noexcept {
    return 8 * node + 2;
}
inline std::int64_t ended_line(task_state state) noexcept {
    return 8 * static_cast<std::int64_t>(state) + 3;
}
struct position {
    std::int64_t line = 0;
    std::int64_t rank = 0;
};
// The position of a pending task.
inline position position_of(std::int64_t queue, std::int64_t flow, std::int64_t priority,
                            timestamp due_at, timestamp now) noexcept {
    return due_at <= now ? position{due_line(flow), -priority}
                         : position{later_line(queue), number_of(due_at)};
}

// ---- what changed

// Changes of tasks for the observer, if there is one.
class event_list {
public:
    event_list(bool is_wanted, timestamp now) : is_wanted_(is_wanted), now_(now) {}
    bool is_wanted() const noexcept { return is_wanted_; }
    void add(const task_record& task);
    void add(sqlite::session& on, std::int64_t task);  // reads the current row
    std::vector<task_event> take() noexcept { return std::move(events_); }

private:
    bool is_wanted_;
    timestamp now_;
    std::vector<task_event> events_;
};

// ---- operations

// Each id is larger than all ids issued before, by this process or another.
class id_source {
public:
    // `last`: the id issued before in the same transaction; without one, the tables are queried.
    task_id next(sqlite::session& on, timestamp now, task_id last);

private:
    std::atomic<std::int64_t> last_{
        0};  // they are not used again, even if the newest tasks are purged
};

class submitter {
public:
    submitter(sqlite::session& on, ledger& books, id_source& ids, event_list& events, timestamp now,
              std::size_t max_queues)
        : on_(on), books_(books), ids_(ids), events_(events), now_(now), max_queues_(max_queues) {}
    submit_result add(const new_task& fresh);

private:
    std::optional<submit_result> known(const new_task& fresh);

    sqlite::session& on_;
    ledger& books_;
    id_source& ids_;
    event_list& events_;
    timestamp now_;
    std::size_t max_queues_;
    task_id last_{};
};

claimed claim_tasks(sqlite::session& on, const claim_request& request, event_list& events);
std::vector<bool> settle_tasks(sqlite::session& on, std::string_view node,
                               const std::vector<settlement>& ended, timestamp now,
                               event_list& events);
void note_progress(sqlite::session& on, std::string_view node,
                   const std::vector<progress_note>& notes, event_list& events);

heartbeat_answer keep_lease(sqlite::session& on, const node_record& node, timestamp now);
std::vector<run_key> runs_of(sqlite::session& on, std::string_view node);
std::vector<node_record> list_nodes(sqlite::session& on);
void end_lease(sqlite::session& on, std::string_view node);
// The rescue of up to `limit` tasks; is_all: none are left.
struct rescue_step {
    rescue_result done;
    bool is_all = true;
};
rescue_step rescue_tasks(sqlite::session& on, timestamp now, std::uint32_t max_crashes,
                         std::size_t limit, event_list& events);

change_result cancel_task(sqlite::session& on, task_id id, timestamp now, event_list& events);
change_result retry_task(sqlite::session& on, task_id id, timestamp now, event_list& events);
std::size_t redrive_tasks(sqlite::session& on, const task_filter& filter, timestamp now,
                          event_list& events);
// Throws too_many_queues.
void check_room_for(sqlite::session& on, std::string_view queue, std::size_t max_queues);
void pause_queue(sqlite::session& on, std::string_view queue, bool is_paused);
void limit_queue(sqlite::session& on, std::string_view queue, const queue_limits& limits);

std::optional<task_detail> find_task(sqlite::session& on, task_id id);
std::vector<task_record> list_tasks(sqlite::session& on, const task_filter& filter, timestamp now);
// Failed tasks, the earliest failure first.
std::vector<std::int64_t> list_failed(sqlite::session& on, const task_filter& filter,
                                      timestamp now);
std::vector<hold> explain(sqlite::session& on, task_id id, timestamp now);
std::vector<queue_record> list_queues(sqlite::session& on);

void put_schedule(sqlite::session& on, const schedule& definition, timestamp next_slot);
bool remove_schedule(sqlite::session& on, std::string_view name);
std::vector<schedule_record> list_schedules(sqlite::session& on);
std::optional<submit_result> fire_schedule(sqlite::session& on, std::string_view name,
                                           timestamp slot, timestamp next_slot,
                                           const std::optional<new_task>& fresh, timestamp now,
                                           id_source& ids, event_list& events,
                                           std::size_t max_queues);

std::size_t purge_tasks(sqlite::session& on, const retention& kept, timestamp now);

// ---- shared by them

// The node's number. With `alive_at`: only if its lease is valid then.
std::optional<std::int64_t> node_number(sqlite::session& on, std::string_view node,
                                        std::optional<timestamp> alive_at = {});
// Adds a record of an ended run; only the latest records are kept.
void add_attempt(sqlite::session& on, std::int64_t task, const attempt_record& ended);

}  // namespace weir::service::detail
