// SPDX-License-Identifier: MIT
// Few tasks have callbacks, so the task is read once more instead of passing it on from each
// operation. Dependents are told one after the other from a list of work: a dependent that is
// cancelled adds its own dependents to the list. Groups are counted in memory and written once, at
// the end, so that a batch of a thousand members costs one update. Whatever is left on the list
// when the budget is spent becomes rows of `ripples`, and later transactions continue with those.

#include "service/store/sqlite/task_ends.hpp"

#include "service/store/follow_ups.hpp"
#include "service/store/group_callback.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"

#include <algorithm>
#include <string>

namespace weir::service::detail {

// A task that another one, or its group, concerns.
struct task_ends::child_row {
    static constexpr std::string_view columns =
        "tasks.id, tasks.state, tasks.queue, flow, branch, line, priority, due_at, "
        "coalesce(waits, 0), coalesce(payload_from, 0), is_cancelling, "
        "callbacks IS NOT NULL, has_children IS NOT NULL, iif(is_detached IS NULL, in_group, NULL)";
    static constexpr std::size_t column_count = 14;

    explicit child_row(const sqlite::row& row)
        : id(row.get<std::int64_t>(0)),
          state(static_cast<task_state>(row.get<int>(1))),
          queue(row.get<std::int64_t>(2)),
          flow(row.get<std::int64_t>(3)),
          branch(row.get<std::optional<std::int64_t>>(4)),
          line(row.get<std::int64_t>(5)),
          priority(row.get<std::int64_t>(6)),
          due_at(time_of(row.get<std::int64_t>(7))),
          waits(row.get<std::uint32_t>(8)),
          payload_from(row.get<std::int64_t>(9)),
          is_cancelling(row.get<bool>(10)),
          facts(read_end_facts(row, 11)) {}

    bool is_waiting() const noexcept { return state == task_state::pending && waits > 0; }

    std::int64_t id;
    task_state state;
    std::int64_t queue;
    std::int64_t flow;
    std::optional<std::int64_t> branch;
    std::int64_t line;
    std::int64_t priority;
    timestamp due_at;
    std::uint32_t waits;
    std::int64_t payload_from;
    bool is_cancelling;
    end_facts facts;
};

end_facts read_end_facts(const sqlite::row& row, std::size_t first_column) {
    return {row.get<bool>(first_column), row.get<bool>(first_column + 1),
            row.get<std::optional<std::int64_t>>(first_column + 2).value_or(0)};
}

// ---- what ends, restarts and leaves

void task_ends::add(std::int64_t task, task_state state, const end_facts& facts) {
    if (facts.has_callbacks) {
        add_follow_ups(task);
    }
    if (facts.has_children) {
        work_.push_back({ripple::kind::ended, task, outcome_of(state), 0});
        budget_ += 2;  // a batch of ends tells more
    }
    if (facts.group != 0) {
        count(facts.group, state, 1);
        --groups_[facts.group].open;
    }
}

void task_ends::count(std::int64_t group, task_state state, int change) {
    group_change& counts = groups_[group];
    counts.failed += state == task_state::failed ? change : 0;
    counts.cancelled += state == task_state::cancelled ? change : 0;
}

bool task_ends::restarts(std::int64_t task, task_state state, std::uint32_t& waits) {
    static const std::string sql =
        "SELECT waits IS NOT NULL, has_children IS NOT NULL, "
        "iif(is_detached IS NULL, in_group, NULL) FROM tasks WHERE id = "
        "?";
    const sqlite::rows found = session_.query(sql, task);
    const sqlite::row row = found[0];
    waits = 0;
    if (row.get<bool>(0)) {
        task_record record;
        record.id = task_id(task);
        record.has_parents = true;
        read_parents(session_, record);
        for (const dependency_record& each : record.parents) {
            const verdict_on_child verdict = verdict_for(each.on_failure, each.outcome);
            if (verdict == verdict_on_child::cancelled) {
                return false;
            }
            waits += verdict == verdict_on_child::waits ? 1 : 0;
        }
    }
    if (const auto group = row.get<std::optional<std::int64_t>>(2)) {
        const std::optional<group_row> in = find_group(session_, group_id(*group));
        if (in.has_value() && in->state == group_state::cancelling) {
            return false;
        }
        if (!in.has_value() || is_final(in->state)) {
            session_.execute("UPDATE tasks SET is_detached = 1 WHERE id = ?", task);
        } else {
            count(*group, state, -1);
            ++groups_[*group].open;
        }
    }
    if (row.get<bool>(1)) {
        session_.execute(
            "UPDATE edges SET outcome = NULL WHERE parent = ? AND policy != 1 AND outcome IN (2, "
            "3)",
            task);
        session_.execute("DELETE FROM ripples WHERE kind = 0 AND id = ?", task);
    }
    return true;
}

void task_ends::removes(std::int64_t task, task_state state, const end_facts& facts) {
    if (facts.has_children && state != task_state::completed) {
        session_.execute("DELETE FROM ripples WHERE kind = 0 AND id = ?", task);
        work_.push_back({ripple::kind::removed, task, dependency_outcome::gone, 0});
    }
    if (facts.group == 0) {
        return;
    }
    if (!is_final(state)) {
        count(facts.group, task_state::cancelled, 1);
        --groups_[facts.group].open;
    }
    if (state != task_state::completed) {
        // It cannot be retried any more, so the group must not wait for that.
        session_.execute(
            "UPDATE task_groups SET on_failure = 0 WHERE id = ? AND on_failure = 2 AND state = 0",
            facts.group);
        work_.push_back({ripple::kind::checked, facts.group, {}, 0});
    }
}

void task_ends::joins(std::int64_t group, std::uint64_t members) {
    groups_[group].total += static_cast<std::int64_t>(members);
    groups_[group].open += static_cast<std::int64_t>(members);
}

void task_ends::seals(std::int64_t group) {
    session_.execute("UPDATE task_groups SET is_sealed = 1 WHERE id = ? AND state = 0", group);
    groups_[group];
}

void task_ends::cancel(std::int64_t task, std::string_view error) {
    static const std::string sql =
        "SELECT " + std::string(child_row::columns) + " FROM tasks WHERE id = ?";
    const sqlite::rows found = session_.query(sql, task);
    cancel(child_row(found[0]), error);
}

void task_ends::add_follow_ups(std::int64_t task) {
    static const std::string sql = "SELECT " + std::string(task_columns) + std::string(task_names) +
                                   ", queue FROM tasks WHERE id = ?";
    const sqlite::rows found = session_.query(sql, task);
    const task_record ended = read_named_task(found[0]);
    queue_row& own_queue =
        books_.queue(found[0].get<std::int64_t>(task_column_count + task_name_count));
    for (const new_task& each : follow_ups_of(ended)) {
        const task_id created = tasks_.add_follow_up(each, &own_queue);
        session_.execute("INSERT INTO follow_ups(task, created) VALUES (?, ?)", task,
                         created.number());
    }
}

// ---- the list of work

void task_ends::close() {
    while (!work_.empty() || !groups_.empty()) {
        while (!work_.empty() && budget_ > 0) {
            const ripple next = work_.front();
            work_.pop_front();
            step(next);
        }
        write_groups();
        if (budget_ == 0) {
            postpone();
        }
    }
}

void task_ends::postpone() {
    for (const ripple& each : work_) {
        session_.execute(
            "INSERT INTO ripples(kind, id, outcome, after) VALUES (?1, ?2, ?3, ?4) ON "
            "CONFLICT(kind, id) DO UPDATE SET outcome = ?3, after = min(ripples.after, ?4)",
            static_cast<int>(each.what), each.id, static_cast<int>(each.outcome), each.after);
    }
    work_.clear();
    for (const auto& [id, change] : groups_) {
        session_.execute(
            "UPDATE task_groups SET total = total + ?, open = open + ?, failed = failed + ?, "
            "cancelled = cancelled + ? WHERE id = ?",
            change.total, change.open, change.failed, change.cancelled, id);
    }
    groups_.clear();
}

void task_ends::step(ripple work) {
    switch (work.what) {
        case ripple::kind::ended:
        case ripple::kind::removed:
            tell_children(work);
            break;
        case ripple::kind::subtree:
            cancel_children(work);
            break;
        case ripple::kind::cancelled:
            cancel_members(work);
            break;
        case ripple::kind::checked:
            groups_[work.id];
            break;
    }
}

void task_ends::continue_after(ripple work, const std::vector<child_row>& told, std::size_t limit) {
    budget_ -= told.size();
    if (told.size() == limit) {
        work.after = told.back().id;
        work_.push_front(work);
    }
}

void task_ends::tell_children(ripple work) {
    static const std::string sql =
        "SELECT " + std::string(child_row::columns) +
        ", policy FROM edges INDEXED BY edges_parent CROSS JOIN tasks ON tasks.id = child WHERE "
        "parent = ? AND child > ? AND (outcome IS NULL OR (? != 0 AND policy = 2 AND outcome IN "
        "(2, "
        "3))) ORDER BY child LIMIT ?";
    const std::size_t limit = budget_;
    const sqlite::rows found =
        session_.query(sql, work.id, work.after, work.what == ripple::kind::removed, limit);
    std::vector<child_row> told;
    for (const sqlite::row each : found) {
        told.emplace_back(each);
        session_.execute_row("UPDATE edges SET outcome = ? WHERE parent = ? AND child = ?",
                             static_cast<int>(work.outcome), work.id, told.back().id);
        decide(told.back(), work.id,
               static_cast<failure_policy>(each.get<int>(child_row::column_count)), work.outcome);
    }
    continue_after(work, told, limit);
}

void task_ends::decide(const child_row& child, std::int64_t parent, failure_policy policy,
                       dependency_outcome outcome) {
    if (!child.is_waiting()) {
        return;
    }
    if (child.payload_from == parent && outcome == dependency_outcome::completed) {
        for (const sqlite::row each :
             session_.query("SELECT coalesce(result, 'null') FROM tasks WHERE id = ?", parent)) {
            write_payload(session_, child.id, each.get<std::string_view>(0));
        }
    }
    switch (verdict_for(policy, outcome)) {
        case verdict_on_child::waits:
            break;
        case verdict_on_child::cancelled:
            cancel(child, upstream_error(task_id(parent), outcome));
            break;
        case verdict_on_child::released:
            if (child.waits == 1) {
                release(child);
            } else {
                session_.execute("UPDATE tasks SET waits = waits - 1 WHERE id = ?", child.id);
            }
            break;
    }
}

void task_ends::release(const child_row& child) {
    const task_place place = books_.place(child.queue, child.flow, child.branch);
    const line_position position = later_position(place, child.priority, child.due_at, now_);
    session_.execute("UPDATE tasks SET waits = 0, line = ?, rank = ?, due_at = ? WHERE id = ?",
                     position.line, position.rank, number_of(std::max(child.due_at, now_.at)),
                     child.id);
    books_.moves(place, {task_state::pending, false},
                 {task_state::pending, child.due_at <= now_.at});
    events_.add(session_, child.id);
}

void task_ends::cancel(const child_row& child, std::string_view error) {
    session_.execute_row(
        "UPDATE tasks SET state = 4, line = ?1, rank = ?2, finished_at = ?2, held_by = NULL, error "
        "= coalesce(?3, error) WHERE id = ?4",
        ended_line(task_state::cancelled), number_of(now_.at), null_if_empty(error), child.id);
    books_.moves(books_.place(child.queue, child.flow, child.branch),
                 {task_state::pending, is_due_line(child.line)}, {task_state::cancelled, false});
    events_.add(session_, child.id);
    add(child.id, task_state::cancelled, child.facts);
}

void task_ends::cancel_open(const child_row& child) {
    if (child.state == task_state::pending) {
        cancel(child, {});
    } else if (child.state == task_state::running && !child.is_cancelling) {
        session_.execute("UPDATE tasks SET is_cancelling = 1 WHERE id = ?", child.id);
        events_.add(session_, child.id);
    }
}

void task_ends::cancel_children(ripple work) {
    static const std::string sql =
        "SELECT " + std::string(child_row::columns) +
        " FROM edges INDEXED BY edges_parent CROSS JOIN tasks ON tasks.id = child WHERE parent = ? "
        "AND child > ? ORDER BY child LIMIT ?";
    const std::size_t limit = budget_;
    std::vector<child_row> told;
    for (const sqlite::row each : session_.query(sql, work.id, work.after, limit)) {
        told.emplace_back(each);
        const child_row& child = told.back();
        // Before the end of the child lets those of its dependents run that ignore failures.
        if (!is_final(child.state) && !child.is_cancelling && child.facts.has_children) {
            work_.push_back({ripple::kind::subtree, child.id, {}, 0});
        }
        cancel_open(child);
    }
    continue_after(work, told, limit);
}

void task_ends::cancel_members(ripple work) {
    static const std::string sql = "SELECT " + std::string(child_row::columns) +
                                   " FROM tasks INDEXED BY tasks_group WHERE in_group = ? AND id > "
                                   "? ORDER BY id LIMIT ?";
    const std::size_t limit = budget_;
    std::vector<child_row> told;
    for (const sqlite::row each : session_.query(sql, work.id, work.after, limit)) {
        told.emplace_back(each);
        cancel_open(told.back());
    }
    continue_after(work, told, limit);
}

// ---- groups

void task_ends::write_groups() {
    const std::map<std::int64_t, group_change> changed = std::exchange(groups_, {});
    for (const auto& [id, change] : changed) {
        session_.execute(
            "UPDATE task_groups SET total = total + ?, open = open + ?, failed = failed + ?, "
            "cancelled = cancelled + ? WHERE id = ?",
            change.total, change.open, change.failed, change.cancelled, id);
        end_if_done(id);
    }
}

void task_ends::end_if_done(std::int64_t id) {
    if (session_
            .query(
                "SELECT 1 FROM task_groups WHERE id = ? AND open = 0 AND is_sealed = 1 AND state < "
                "2",
                id)
            .empty()) {
        return;
    }
    const std::optional<group_row> group = find_group(session_, group_id(id));
    if (!has_ended(*group)) {
        return;
    }
    session_.execute(
        "UPDATE task_groups SET state = ?1, finished_at = ?2, purge_at = ?2 WHERE id = ?3",
        static_cast<int>(final_state(*group)), number_of(now_.at), id);
    if (group->callback.has_value()) {
        create_callback(*group);
    }
}

void task_ends::create_callback(const group_row& ended) {
    group_callback callback = callback_of(*ended.callback, ended);
    if (!session_
             .query("SELECT 1 FROM tasks WHERE idempotency_key = ?", callback.task.idempotency_key)
             .empty()) {
        callback.task.idempotency_key.clear();  // a client's task has it
    }
    const task_id created = tasks_.add_follow_up(callback.task, nullptr);
    session_.execute("UPDATE task_groups SET callback_task = ? WHERE id = ?", created.number(),
                     ended.id.number());
    if (!callback.error.empty()) {
        cancel(created.number(), callback.error);
    }
}

std::unique_ptr<sql_answer> ask_ripples(sql_session& session) {
    constexpr std::size_t read_at_once = 100;
    return session.ask(
        "SELECT kind, id, outcome, after FROM ripples ORDER BY kind DESC, id LIMIT ?",
        read_at_once);
}

bool continue_ripples(sql_session& session, moment now, event_list& events, id_source& ids,
                      std::size_t max_queues) {
    return continue_ripples(session, ask_ripples(session)->take(), now, events, ids, max_queues);
}

bool continue_ripples(sql_session& session, const sqlite::rows& left, moment now,
                      event_list& events, id_source& ids, std::size_t max_queues) {
    if (left.empty()) {
        return false;
    }
    ledger books(session, now);
    task_ends ends(session, books, ids, events, now, max_queues);
    for (const sqlite::row each : left) {
        const ripple work{static_cast<ripple::kind>(each.get<int>(0)), each.get<std::int64_t>(1),
                          static_cast<dependency_outcome>(each.get<int>(2)),
                          each.get<std::int64_t>(3)};
        session.execute("DELETE FROM ripples WHERE kind = ? AND id = ?", each.get<int>(0), work.id);
        ends.start(work);
    }
    ends.close();
    books.close();
    return has_ripples(session);
}

bool has_ripples(sql_session& session) {
    return !session.query("SELECT 1 FROM ripples LIMIT 1").empty();
}

std::vector<task_id> read_follow_ups(sql_session& session, std::int64_t task) {
    const sqlite::rows found = session.query(
        "SELECT created FROM follow_ups WHERE task = ? ORDER BY created DESC LIMIT 20", task);
    std::vector<task_id> created;
    for (const sqlite::row each : found) {
        created.emplace_back(each.get<std::int64_t>(0));
    }
    std::reverse(created.begin(), created.end());
    return created;
}

}  // namespace weir::service::detail
