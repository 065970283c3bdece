// SPDX-License-Identifier: MIT
// The row of a task counts its steps and their bytes, so that neither a claim nor the limits have
// to look at the steps of tasks that have none.

#include "service/store/sqlite/steps.hpp"

#include "service/store/sqlite/rows/task_rows.hpp"

namespace weir::service::detail {

step_answer keep_step(sql_session& session, std::int64_t node, const run_key& key,
                      const step_record& step) {
    step_answer answer;
    const std::int64_t id = key.id.number();
    const sqlite::rows task = session.query(
        "SELECT coalesce(steps, 0), coalesce(step_bytes, 0) FROM tasks WHERE id = ? AND state = 1 "
        "AND run = ? AND node = ?",
        id, key.run, node);
    if (task.empty()) {
        return answer;
    }
    const auto count = task[0].get<std::uint64_t>(0);
    if (count > 0) {
        const sqlite::rows known =
            session.query("SELECT result FROM steps WHERE task = ? AND name = ?", id, step.name);
        if (!known.empty()) {
            answer.what = step_answer::verdict::known;
            answer.result = known[0].get<std::string>(0);
            return answer;
        }
    }
    if (count >= max_steps ||
        task[0].get<std::uint64_t>(1) + step.result.size() > max_task_step_bytes) {
        answer.what = step_answer::verdict::too_many;
        return answer;
    }
    session.execute("INSERT INTO steps(task, name, kept_at, result) VALUES (?, ?, ?, ?)", id,
                    step.name, number_of(step.kept_at), step.result);
    session.execute(
        "UPDATE tasks SET steps = coalesce(steps, 0) + 1, step_bytes = coalesce(step_bytes, 0) + ? "
        "WHERE id = ?",
        step.result.size(), id);
    answer.what = step_answer::verdict::kept;
    answer.result = step.result;
    return answer;
}

void read_steps(sql_session& session, task_record& of) {
    if (of.step_count == 0) {
        return;
    }
    const sqlite::rows found = session.query(
        "SELECT name, result, kept_at FROM steps WHERE task = ? ORDER BY id", of.id.number());
    of.steps.reserve(found.size());
    for (const sqlite::row each : found) {
        step_record& step = of.steps.emplace_back();
        step.name = each.get<std::string>(0);
        step.result = each.get<std::string>(1);
        step.kept_at = time_of(each.get<std::int64_t>(2));
    }
}

void forget_steps(sql_session& session, std::int64_t task) {
    session.execute("DELETE FROM steps WHERE task = ?", task);
    session.execute("UPDATE tasks SET steps = NULL, step_bytes = NULL WHERE id = ?", task);
}

}  // namespace weir::service::detail
