// SPDX-License-Identifier: MIT
// No index lists the tasks of a queue, so a reader goes through all tasks, in pieces, while the
// writer serves other calls; then a small transaction removes the tasks that it has found. Tasks
// may come and change in between: each transaction checks again, and the queue is removed only if
// it is empty in the end.

#include "service/store/sqlite/remove_queue.hpp"

#include "service/store/sqlite/purge.hpp"
#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"

#include <limits>

namespace weir::service::detail {

namespace {

constexpr std::size_t looked_at = 20'000;  // tasks in one search
constexpr std::size_t removed_at_once = 50;

}  // namespace

bool queue_remover::begin(sql_session& session) {
    const sqlite::rows found =
        session.query("SELECT id, pending, running FROM queues WHERE name = ?", name_);
    if (found.empty()) {
        return false;
    }
    queue_ = found[0].get<std::int64_t>(0);
    return may_remove(found[0].get<std::uint64_t>(1), found[0].get<std::uint64_t>(2));
}

std::vector<std::int64_t> queue_remover::find(sql_session& session) {
    const sqlite::rows last = session.query(
        "SELECT id FROM tasks WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?", searched_to_, looked_at);
    const std::int64_t end =
        last.empty() ? std::numeric_limits<std::int64_t>::max() : last[0].get<std::int64_t>(0);
    std::vector<std::int64_t> ids =
        session
            .query(
                "SELECT id FROM tasks WHERE id > ? AND id <= ? AND queue = ? AND (state > 1 OR "
                "(state = 0 AND ? != 0)) ORDER BY id LIMIT ?",
                searched_to_, end, queue_, with_pending_, removed_at_once)
            .as<std::int64_t>();
    const bool has_looked_at_all = ids.size() < removed_at_once;
    searched_to_ = has_looked_at_all ? end : ids.back();
    is_at_end_ = has_looked_at_all && last.empty();
    return ids;
}

std::size_t queue_remover::remove(sql_session& session,
                                  const std::vector<std::int64_t>& ids) const {
    static const std::string sql = "SELECT " + std::string(task_remover::columns) +
                                   " FROM tasks WHERE id = ? AND queue = ? AND (state > 1 OR "
                                   "(state = 0 AND ? != 0))";
    // Without a time: later transactions tell the tasks and groups that depend on these.
    ledger books(session, {});
    event_list no_events(false, {});
    id_source no_ids;
    task_ends ends(session, books, no_ids, no_events, {}, 0);
    task_remover tasks(session, books, ends);
    std::size_t removed = 0;
    for (const std::int64_t id : ids) {
        for (const sqlite::row each : session.query(sql, id, queue_, with_pending_)) {
            tasks.remove(each);
            ++removed;
        }
    }
    ends.postpone();
    books.close();
    return removed;
}

queue_removal queue_remover::finish(sql_session& session) const {
    queue_removal result;
    result.tasks = removed_;
    const sqlite::rows found = session.query(
        "SELECT id, pending, running, completed + failed + cancelled FROM queues WHERE name = ?",
        name_);
    if (found.empty()) {
        return result;
    }
    const sqlite::row row = found[0];
    result.pending = row.get<std::uint64_t>(1);
    result.running = row.get<std::uint64_t>(2);
    if (result.pending + result.running + row.get<std::uint64_t>(3) > 0) {
        result.what = queue_removal::verdict::has_tasks;
        return result;
    }
    result.what = queue_removal::verdict::removed;
    session.execute(
        "UPDATE destinations SET branches = branches - (SELECT count(*) FROM branches JOIN flows "
        "ON "
        "flows.id = flow WHERE destination = destinations.id AND queue = ?1) WHERE id IN (SELECT "
        "destination FROM branches JOIN flows ON flows.id = flow WHERE queue = ?1)",
        row.get<std::int64_t>(0));
    session.execute("DELETE FROM branches WHERE flow IN (SELECT id FROM flows WHERE queue = ?)",
                    row.get<std::int64_t>(0));
    session.execute("DELETE FROM flows WHERE queue = ?", row.get<std::int64_t>(0));
    session.execute("DELETE FROM queues WHERE id = ?", row.get<std::int64_t>(0));
    return result;
}

}  // namespace weir::service::detail
