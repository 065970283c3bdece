// SPDX-License-Identifier: MIT
// The ends of runs. Every write matches id, state, run and node: a late write changes no row.

#include "service/store/sqlite/task_rows.hpp"

namespace weir::service::detail {

namespace {

std::optional<std::string_view> unless_empty(std::string_view text) {
    return text.empty() ? std::optional<std::string_view>() : std::optional(text);
}

class settling {
public:
    settling(sqlite::session& on, std::string_view node, std::int64_t number, timestamp now,
             event_list& events)
        : on_(on), node_(node), number_(number), now_(now), events_(events), books_(on, now) {}
    bool settle(const settlement& ended);
    void close() { books_.close(); }

private:
    void write_final(const settlement& ended, task_state state);
    void write_pending(const settlement& ended, position stands);

    sqlite::session& on_;
    std::string_view node_;
    std::int64_t number_;
    timestamp now_;
    event_list& events_;
    ledger books_;
};

bool settling::settle(const settlement& ended) {
    const std::int64_t id = ended.key.id.number();
    const sqlite::rows found = on_.query(
        "SELECT queue, flow, is_cancelling, started_at, priority FROM tasks WHERE id = ? AND state "
        "= 1 AND "
        "run = ? AND node = ?",
        id, ended.key.run, number_);
    if (found.empty()) {
        return false;
    }
    const sqlite::row row = found[0];
    task_state state = ended.state;
    if (state == task_state::pending && row.get<bool>(2)) {
        state = task_state::cancelled;
    }
    const bool is_due = state == task_state::pending && ended.due_at <= now_;
    if (state == task_state::pending) {
        write_pending(ended, position_of(row.get<std::int64_t>(0), row.get<std::int64_t>(1),
                                         row.get<std::int64_t>(4), ended.due_at, now_));
    } else {
        write_final(ended, state);
    }
    if (ended.attempt.has_value()) {
        attempt_record attempt;
        attempt.run = ended.key.run;
        attempt.end = *ended.attempt;
        attempt.started_at = time_of(row.get<std::int64_t>(3));
        attempt.ended_at = now_;
        attempt.error = ended.error;
        attempt.node = node_;
        add_attempt(on_, id, attempt);
    }
    books_.moves(books_.queue(row.get<std::int64_t>(0)), books_.flow(row.get<std::int64_t>(1)),
                 {task_state::running, false}, {state, is_due});
    events_.add(on_, id);
    return true;
}

void settling::write_final(const settlement& ended, task_state state) {
    const std::int64_t id = ended.key.id.number();
    if (state == task_state::completed) {
        on_.execute(
            "UPDATE tasks SET state = 2, line = ?1, rank = ?2, is_cancelling = 0, finished_at = "
            "?2, failures = ?3, result = ?4 WHERE id = ?5",
            ended_line(state), number_of(now_), ended.failures, unless_empty(ended.result), id);
        return;
    }
    on_.execute(
        "UPDATE tasks SET state = ?1, line = ?2, rank = ?3, is_cancelling = 0, finished_at = ?3, "
        "failures = ?4, error = ?5, held_by = NULL WHERE id = ?6",
        static_cast<int>(state), ended_line(state), number_of(now_), ended.failures,
        unless_empty(ended.error), id);
}

void settling::write_pending(const settlement& ended, position stands) {
    on_.execute(
        "UPDATE tasks SET state = 0, line = ?, rank = ?, is_cancelling = 0, due_at = ?, failures = "
        "?, "
        "error = coalesce(?, error), held_by = ? WHERE id = ?",
        stands.line, stands.rank, number_of(ended.due_at), ended.failures,
        unless_empty(ended.error), unless_empty(ended.held_by), ended.key.id.number());
}

}  // namespace

std::vector<bool> settle_tasks(sqlite::session& on, std::string_view node,
                               const std::vector<settlement>& ended, timestamp now,
                               event_list& events) {
    std::vector<bool> answers(ended.size(), false);
    const std::optional<std::int64_t> number = node_number(on, node);
    if (!number.has_value()) {
        return answers;
    }
    settling here(on, node, *number, now, events);
    for (std::size_t i = 0; i < ended.size(); ++i) {
        answers[i] = here.settle(ended[i]);
    }
    here.close();
    return answers;
}

void note_progress(sqlite::session& on, std::string_view node,
                   const std::vector<progress_note>& notes, event_list& events) {
    const std::optional<std::int64_t> number = node_number(on, node);
    if (!number.has_value()) {
        return;
    }
    for (const progress_note& each : notes) {
        const sqlite::changed noted = on.execute(
            "UPDATE tasks SET progress = ?, message = ? WHERE id = ? AND state = 1 AND run = ? AND "
            "node = ?",
            each.progress, unless_empty(each.message), each.key.id.number(), each.key.run, *number);
        if (noted.rows > 0) {
            events.add(on, each.key.id.number());
        }
    }
}

}  // namespace weir::service::detail
