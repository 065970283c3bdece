// SPDX-License-Identifier: MIT
// A task that can expire has a row in `expiries` until its time has come, whether it has begun or
// ended by then or not. So a change of a task need not look there, and other tasks cost nothing: an
// index of `tasks` would take part in each of their changes.

#include "service/store/sqlite/expiry.hpp"

#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/task_ends.hpp"
#include "service/store/store_texts.hpp"

namespace weir::service::detail {

bool has_expiries(sql_session& session, timestamp now) {
    return !session.query("SELECT 1 FROM expiries WHERE at <= ? LIMIT 1", number_of(now)).empty();
}

expiry_batch take_expiries(sql_session& session, timestamp now, std::size_t limit) {
    const sqlite::rows found = session.query(
        "SELECT expiries.task, expiries.at, tasks.id FROM expiries LEFT JOIN tasks ON tasks.id = "
        "expiries.task AND tasks.expires_at = expiries.at AND state = 0 AND run = 0 WHERE "
        "expiries.at <= ? ORDER BY expiries.at, expiries.task LIMIT ?",
        number_of(now), limit);
    expiry_batch batch;
    batch.is_last = found.size() < limit;
    for (const sqlite::row each : found) {
        if (!each[2].is_null()) {
            batch.expired.push_back(
                {each.get<std::int64_t>(0), time_of(each.get<std::int64_t>(1))});
        }
    }
    session.execute(
        "DELETE FROM expiries WHERE task IN (SELECT task FROM expiries WHERE at <= ? ORDER BY at, "
        "task LIMIT ?)",
        number_of(now), limit);
    return batch;
}

void change_expiry(sql_session& session, std::int64_t task, std::optional<timestamp> expires_at) {
    session.execute("UPDATE tasks SET expires_at = ? WHERE id = ?", number_of(expires_at), task);
    session.execute("DELETE FROM expiries WHERE task = ?", task);
    if (expires_at.has_value()) {
        session.execute("INSERT INTO expiries(task, at) VALUES (?, ?)", task,
                        number_of(*expires_at));
    }
}

void end_expired(sql_session& session, const std::vector<expired_task>& tasks, moment now,
                 event_list& events, id_source& ids, std::size_t max_queues) {
    ledger books(session, now);
    task_ends ends(session, books, ids, events, now, max_queues);
    for (const expired_task& each : tasks) {
        ends.cancel(each.id, expiry_error(each.expires_at));
    }
    ends.close();
    books.close();
}

}  // namespace weir::service::detail
