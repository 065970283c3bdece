// SPDX-License-Identifier: MIT
// Each change reads where the task is, writes its row, and moves it in the counts of its queue and
// flow. A running task is only marked as cancelling: its node learns of that from its heartbeat.

#include "service/store/sqlite/changes.hpp"

#include "service/store/sqlite/expiry.hpp"
#include "service/store/sqlite/purge.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"
#include "service/store/sqlite/steps.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace weir::service::detail {

struct task_changes::task_position {
    static std::optional<task_position> read(sql_session& session, std::int64_t id, moment now);
    // Whether its state is the filter's; other members of the filter do not count.
    bool fits(const task_filter& filter, timestamp now) const;
    task_view view(timestamp now) const;

    std::int64_t queue = 0;
    std::int64_t flow = 0;
    std::optional<std::int64_t> branch;
    standing counted;
    bool is_cancelling = false;
    bool is_waiting = false;  // for its time, which has not come
    std::int64_t priority = 0;
    std::string unique_key;
    line_position position;
    std::uint32_t failures = 0;
    timestamp due_at{};
    std::uint32_t waits = 0;
    end_facts facts;
};

std::optional<task_changes::task_position> task_changes::task_position::read(sql_session& session,
                                                                             std::int64_t id,
                                                                             moment now) {
    static const std::string sql =
        "SELECT queue, flow, state, line, is_cancelling, rank, priority, branch, "
        "coalesce(unique_key, ''), failures, due_at, coalesce(waits, 0), " +
        std::string(end_columns) + " FROM tasks WHERE id = ?";
    const sqlite::rows found = session.query(sql, id);
    if (found.empty()) {
        return std::nullopt;
    }
    const sqlite::row row = found[0];
    task_position position;
    position.queue = row.get<std::int64_t>(0);
    position.flow = row.get<std::int64_t>(1);
    const auto state = static_cast<task_state>(row.get<int>(2));
    position.counted.state = state;
    position.branch = row.get<std::optional<std::int64_t>>(7);
    const auto line = row.get<std::int64_t>(3);
    position.counted.is_due = state == task_state::pending && is_due_line(line);
    position.is_cancelling = row.get<bool>(4);
    const timestamp until = time_of(row.get<std::int64_t>(5));
    position.is_waiting = (line == later_line(position.queue) && until > now.at) ||
                          (line == backoff_line(position.queue) && until > now.steady);
    position.priority = row.get<std::int64_t>(6);
    position.unique_key = row.get<std::string>(8);
    position.position = {line, row.get<std::int64_t>(5)};
    position.failures = row.get<std::uint32_t>(9);
    position.due_at = time_of(row.get<std::int64_t>(10));
    position.waits = row.get<std::uint32_t>(11);
    position.facts = read_end_facts(row, 12);
    return position;
}

bool task_changes::task_position::fits(const task_filter& filter, timestamp now) const {
    return (!filter.state || counted.state == *filter.state) &&
           (!filter.view || view(now) == *filter.view) &&
           (filter.any_of.empty() ||
            std::ranges::find(filter.any_of, counted.state) != filter.any_of.end());
}

task_view task_changes::task_position::view(timestamp now) const {
    task_record task;
    task.state = counted.state;
    task.is_cancelling = is_cancelling;
    task.failures = failures;
    task.due_at = due_at;
    task.waits = waits;
    return view_of(task, now);
}

change_result task_changes::cancel(task_id id) {
    const std::optional<task_position> found = task_position::read(session_, id.number(), now_);
    if (!found.has_value()) {
        return change_result::not_found;
    }
    const change_result result = cancel(id.number(), *found);
    close();
    return result;
}

change_result task_changes::retry(task_id id) {
    const std::optional<task_position> found = task_position::read(session_, id.number(), now_);
    if (!found.has_value()) {
        return change_result::not_found;
    }
    const change_result result = retry(id.number(), *found);
    close();
    return result;
}

std::vector<change_result> task_changes::change_all(const bulk_change& change) {
    std::vector<change_result> results;
    results.reserve(change.ids.size());
    task_remover remover(session_, books_, ends_);
    for (const task_id each : change.ids) {
        const std::int64_t id = each.number();
        const std::optional<task_position> found = task_position::read(session_, id, now_);
        if (!found.has_value()) {
            results.push_back(change_result::not_found);
        } else if (!found->fits(change.only, now_.at)) {
            results.push_back(change_result::no_change);
        } else if (change.action == task_action::cancel) {
            results.push_back(cancel(id, *found));
        } else if (change.action == task_action::retry) {
            results.push_back(retry(id, *found));
            if (results.back() == change_result::done && change.steps == step_policy::forget) {
                forget_steps(session_, id);
            }
        } else {
            results.push_back(remover.remove_ended(id));
        }
    }
    close();
    return results;
}

change_result task_changes::cancel(std::int64_t id, const task_position& position) {
    if (is_final(position.counted.state) || position.is_cancelling) {
        return change_result::no_change;
    }
    if (position.counted.state == task_state::running) {
        session_.execute("UPDATE tasks SET is_cancelling = 1 WHERE id = ?", id);
        events_.add(session_, id);
        return change_result::requested;
    }
    session_.execute(
        "UPDATE tasks SET state = 4, line = ?1, rank = ?2, finished_at = ?2, held_by = NULL WHERE "
        "id = ?3",
        ended_line(task_state::cancelled), number_of(now_.at), id);
    books_.moves(books_.place(position.queue, position.flow, position.branch), position.counted,
                 {task_state::cancelled, false});
    events_.add(session_, id);
    ends_.add(id, task_state::cancelled, position.facts);
    return change_result::done;
}

change_result task_changes::retry(std::int64_t id, const task_position& position) {
    switch (position.counted.state) {
        case task_state::running:
        case task_state::completed:
            return change_result::no_change;
        case task_state::pending: {
            if (!position.is_waiting) {
                return change_result::no_change;
            }
            const task_place place = books_.place(position.queue, position.flow, position.branch);
            session_.execute(
                "UPDATE tasks SET line = ?, rank = ?, due_at = ?, held_by = NULL WHERE id = ?",
                due_line(place), -position.priority, number_of(now_.at), id);
            books_.moves(place, position.counted, {task_state::pending, true});
            break;
        }
        case task_state::failed:
        case task_state::cancelled:
            if (const change_result result = restart(id, position); result != change_result::done) {
                return result;
            }
            break;
    }
    events_.add(session_, id);
    return change_result::done;
}

// The task leaves the counts of its old place and enters those of the new one, which differ if its
// destination does. It stays in its line while neither its time nor its turn among due tasks
// changes.
change_result task_changes::edit(task_id task, const task_edit& edit) {
    const std::int64_t id = task.number();
    const std::optional<task_position> found = task_position::read(session_, id, now_);
    if (!found.has_value()) {
        return change_result::not_found;
    }
    if (found->counted.state != task_state::pending) {
        return change_result::no_change;
    }
    const task_place before = books_.place(found->queue, found->flow, found->branch);
    books_.leaves(before, found->counted);
    const bool is_remote = before.branch != nullptr && before.branch->pool.has_value();
    const task_place place = edit.payload.has_value() && !is_remote
                                 ? with_destination(id, before, edit.destination)
                                 : before;
    const std::int64_t priority = edit.priority.value_or(found->priority);
    bool is_due = found->counted.is_due;
    line_position position = found->position;
    if (edit.run_at.has_value()) {
        if (found->waits == 0) {
            is_due = *edit.run_at <= now_.at;
            position = later_position(place, priority, *edit.run_at, now_);
        }
        session_.execute("UPDATE tasks SET run_at = ?, due_at = ?, held_by = NULL WHERE id = ?",
                         number_of(*edit.run_at), number_of(std::max(*edit.run_at, now_.at)), id);
    } else if (is_due) {
        position = {due_line(place), -priority};
    }
    session_.execute("UPDATE tasks SET line = ?, rank = ?, priority = ?, branch = ? WHERE id = ?",
                     position.line, position.rank, priority,
                     place.branch != nullptr ? std::optional(place.branch->id) : std::nullopt, id);
    if (edit.expires_at.has_value()) {
        change_expiry(session_, id, *edit.expires_at);
    }
    if (edit.payload.has_value()) {
        write_payload(session_, id, *edit.payload);
        session_.execute("UPDATE tasks SET payload_from = NULL WHERE id = ?", id);
    }
    books_.enters(place, {task_state::pending, is_due});
    books_.close();
    events_.add(session_, id);
    return change_result::done;
}

task_place task_changes::with_destination(std::int64_t id, const task_place& place,
                                          std::string_view name) {
    if (name.empty()) {
        return {place.queue, place.flow, nullptr};
    }
    const auto kind = session_.query("SELECT kind FROM tasks WHERE id = ?", id).one<std::string>();
    return {place.queue, place.flow, &books_.branch(place.flow, books_.destination(kind, name))};
}

void task_changes::close() {
    ends_.close();
    books_.close();
}

std::size_t task_changes::restart_failed(std::span<const std::int64_t> ids) {
    std::vector<std::int64_t> restarted;
    for (const std::int64_t id : ids) {
        const std::optional<task_position> found = task_position::read(session_, id, now_);
        if (found.has_value() && found->counted.state == task_state::failed) {
            if (restart(id, *found) == change_result::done) {
                restarted.push_back(id);
            }
        }
    }
    close();
    for (const std::int64_t id : restarted) {
        events_.add(session_, id);
    }
    return restarted.size();
}

change_result task_changes::restart(std::int64_t id, const task_position& position) {
    if (!position.unique_key.empty() && holder_of(session_, position.unique_key) != 0) {
        return change_result::key_taken;
    }
    std::uint32_t waits = 0;
    if (!ends_.restarts(id, position.counted.state, waits)) {
        return change_result::no_change;
    }
    if (!position.unique_key.empty()) {
        hold_key(session_, position.unique_key, id);
    }
    const task_place place = books_.place(position.queue, position.flow, position.branch);
    const line_position next = waits > 0 ? waiting_position(place, id)
                                         : line_position{due_line(place), -position.priority};
    session_.execute(
        "UPDATE tasks SET state = 0, line = ?1, rank = ?2, is_cancelling = 0, due_at = ?3, "
        "expires_at = iif(expires_at <= ?3, NULL, expires_at), finished_at = NULL, failures = 0, "
        "crashes = 0, progress = NULL, message = NULL, held_by = NULL, waits = iif(waits IS NULL, "
        "NULL, CAST(?4 AS BIGINT)) WHERE id = ?5",
        next.line, next.rank, number_of(now_.at), waits, id);
    books_.moves(place, position.counted, {task_state::pending, waits == 0});
    return change_result::done;
}

}  // namespace weir::service::detail
