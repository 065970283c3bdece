// SPDX-License-Identifier: MIT
// The schedule leaves its slot and the task is inserted in one transaction, and only if the
// schedule is still at that slot: so no slot fires twice, and none is lost. A task that is replaced
// is cancelled before the new one is submitted, so that a queue that only the old one fills has
// room.

#include "service/store/sqlite/schedules.hpp"

#include "service/store/sqlite/changes.hpp"
#include "service/store/sqlite/rows/schedule_rows.hpp"

namespace weir::service::detail {

// The last task of a schedule, and the policy for the next one.
struct schedule_writer::previous_task {
    // `row` has overlap and last_task.
    explicit previous_task(const sqlite::row& row)
        : overlap(static_cast<overlap_policy>(row.get<int>(0))),
          id(row.get<std::optional<std::int64_t>>(1).value_or(0)) {}

    overlap_policy overlap;
    task_id id;
};

std::optional<submit_result> schedule_writer::fire(const std::string& name, timestamp slot,
                                                   timestamp next_slot,
                                                   const std::optional<new_task>& task) {
    const sqlite::rows found = session_.query(
        "SELECT overlap, last_task FROM schedules WHERE name = ? AND next_slot = ? AND is_paused = "
        "0",
        name, number_of(slot));
    if (found.empty()) {
        return std::nullopt;
    }
    submit_result result;
    if (task.has_value()) {
        result = submit(name, previous_task(found[0]), *task);
        if (is_refused(result.what)) {
            return result;  // the schedule stays at its slot
        }
        if (result.what != submit_result::verdict::overlap) {
            session_.execute("UPDATE schedules SET last_slot = ? WHERE name = ?",
                             number_of(task->run_at.value_or(slot)), name);
        }
    }
    session_.execute("UPDATE schedules SET next_slot = ? WHERE name = ?", number_of(next_slot),
                     name);
    return result;
}

std::optional<submit_result> schedule_writer::run(const std::string& name, const new_task& task) {
    const sqlite::rows found =
        session_.query("SELECT overlap, last_task FROM schedules WHERE name = ?", name);
    return found.empty() ? std::nullopt
                         : std::optional(submit(name, previous_task(found[0]), task));
}

submit_result schedule_writer::submit(const std::string& name, const previous_task& last,
                                      const new_task& task) {
    task_id replaced;
    if (last.overlap != overlap_policy::queue) {
        const sqlite::rows open =
            session_.query("SELECT 1 FROM tasks WHERE id = ? AND state <= 1", last.id.number());
        if (!open.empty() && last.overlap == overlap_policy::skip) {
            return {submit_result::verdict::overlap, last.id};
        }
        if (!open.empty() &&
            task_changes(session_, now_, events_, ids_, max_queues_).cancel(last.id) ==
                change_result::requested) {
            replaced = last.id;
        }
    }
    ledger books(session_, now_);
    submit_result result = submitter(session_, books, ids_, events_, now_, max_queues_).add(task);
    books.close();
    result.replaced = replaced;
    if (!is_refused(result.what)) {
        session_.execute("UPDATE schedules SET last_task = ? WHERE name = ?", result.id.number(),
                         name);
    }
    return result;
}

void put_schedule(sql_session& session, const schedule& plan, timestamp next_slot) {
    session.execute(
        "INSERT INTO schedules(name, cron, zone, missed, is_paused, task, next_slot, overlap) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT(name) DO UPDATE SET next_slot = "
        "iif(schedules.is_paused = 0 AND schedules.cron = ?2 AND schedules.zone = ?3, "
        "schedules.next_slot, ?7), cron = ?2, zone = ?3, "
        "missed = ?4, is_paused = ?5, task = ?6, overlap = ?8",
        plan.name, plan.cron, plan.zone, static_cast<int>(plan.missed), plan.is_paused,
        write_template(plan.task), number_of(next_slot), static_cast<int>(plan.overlap));
}

bool pause_schedule(sql_session& session, std::string_view name, bool is_paused,
                    timestamp next_slot) {
    const std::int64_t written = session.count(
        "UPDATE schedules SET next_slot = iif(is_paused = 1 AND ?2 = 0, ?3, next_slot), is_paused "
        "= ?2 WHERE name = ?1",
        name, is_paused, number_of(next_slot));
    return written > 0;
}

std::vector<schedule_record> read_schedules(sql_session& session) {
    static const std::string sql =
        "SELECT " + std::string(schedule_columns) + " FROM schedules ORDER BY name";
    const sqlite::rows found = session.query(sql);
    std::vector<schedule_record> all;
    for (const sqlite::row each : found) {
        all.push_back(read_schedule(each));
    }
    return all;
}

}  // namespace weir::service::detail
