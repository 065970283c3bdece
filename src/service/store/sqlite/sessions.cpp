// SPDX-License-Identifier: MIT
// A heartbeat compares the list of a worker with the line of its running tasks, in which each task
// has the number of the poll that has claimed it. A run that is given back loses its node, so that
// a late result of it is not taken for a repeat.

#include "service/store/sqlite/sessions.hpp"

#include "service/store/sqlite/leases.hpp"
#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"
#include "service/store/store_texts.hpp"
#include "service/store/worker_rules.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace weir::service::detail {

// ---- sessions

bool session_writer::add(const worker_record& worker) {
    if (!session_.query("SELECT 1 FROM nodes WHERE id = ?", worker.id).empty()) {
        return false;
    }
    add_kinds(worker.kinds);
    const std::int64_t number =
        session_
            .query(
                "INSERT INTO nodes(id, host, pid, started_at, expires_at) VALUES (?, '', 0, ?, ?) "
                "RETURNING number",
                worker.id, number_of(worker.started_at), number_of(worker.expires_at))
            .one<std::int64_t>();
    // An older process may have removed a node without its session, and numbers are used again.
    session_.execute("DELETE FROM workers WHERE node = ?", number);
    session_.execute(
        "INSERT INTO workers(node, name, kinds, queues, sdk, heard_at) VALUES (?, ?, ?, ?, ?, ?)",
        number, worker.name, write_tags(worker.kinds), write_tags(worker.queues), worker.sdk,
        number_of(now_.steady));
    return true;
}

void session_writer::add_kinds(const std::vector<std::string>& kinds) {
    std::int64_t added = 0;
    for (const std::string& each : kinds) {
        added += session_.count("INSERT INTO worker_kinds(kind) VALUES (?) ON CONFLICT DO NOTHING",
                                each);
    }
    if (added > 0 && session_.query("SELECT count(*) FROM worker_kinds").one<std::uint64_t>() >
                         max_worker_kinds) {
        throw_too_many_worker_kinds();
    }
}

std::vector<session_writer::run_row> session_writer::read_runs_of(std::int64_t node) {
    const sqlite::rows found =
        session_.query("SELECT id, run, rank, is_cancelling, failures FROM tasks WHERE line = ?",
                       running_line(node));
    std::vector<run_row> runs;
    for (const sqlite::row each : found) {
        run_row& run = runs.emplace_back();
        run.key = {task_id(each.get<std::int64_t>(0)), each.get<std::uint32_t>(1)};
        run.poll = each.get<std::uint64_t>(2);
        run.is_cancelling = each.get<bool>(3);
        run.failures = each.get<std::uint32_t>(4);
    }
    return runs;
}

worker_answer session_writer::renew(const worker_beat& beat) {
    worker_answer answer;
    const std::optional<session_row> worker = read_session(session_, beat.worker, now_.steady);
    if (!worker.has_value()) {
        return answer;
    }
    answer.is_alive = true;
    answer.is_draining = worker->is_draining;
    // If the lease lasts longer already, another heartbeat, sent later, has come before this one:
    // its list of runs is out of date.
    const bool is_overtaken =
        session_.count("UPDATE nodes SET expires_at = ?1 WHERE number = ?2 AND expires_at <= ?1",
                       number_of(beat.expires_at), worker->number) == 0;
    const unlisted_runs rule(beat, is_overtaken, worker->known_claim, worker->beat_at, now_.steady);
    write_progress(session_, worker->number, beat.progress, events_);
    std::vector<run_row> unknown;
    std::set<std::pair<task_id, std::uint32_t>> listed;
    for (const run_key& each : beat.running) {
        listed.emplace(each.id, each.run);
    }
    std::set<std::pair<task_id, std::uint32_t>> held;
    for (const run_row& each : read_runs_of(worker->number)) {
        held.emplace(each.key.id, each.key.run);
        if (rule.is_given_back(each.poll) && !listed.contains({each.key.id, each.key.run})) {
            unknown.push_back(each);
            answer.given_back.push_back(each.key);
        } else if (each.is_cancelling) {
            answer.cancelling.push_back(each.key);
        }
    }
    for (const run_key& each : beat.running) {
        if (!held.contains({each.id, each.run})) {
            answer.lost.push_back(each);
        }
    }
    give_back(beat.worker, worker->number, unknown);
    std::optional<std::int64_t> polled_at;
    if (beat.polled_at.has_value()) {
        polled_at = number_of(*beat.polled_at);
    }
    session_.execute(
        "UPDATE workers SET heard_at = ?1, free = ?2, polled_at = coalesce(max(polled_at, ?3), "
        "polled_at, ?3), known_claim = iif(?4 != 0, last_claim, known_claim), beat_at = "
        "iif(?4 != 0, ?1, beat_at) WHERE node = ?5",
        number_of(now_.steady), beat.free, polled_at, rule.counts(), worker->number);
    return answer;
}

void session_writer::give_back(const std::string& worker, std::int64_t node,
                               std::span<const run_row> runs) {
    if (runs.empty()) {
        return;
    }
    settlement_writer writer(session_, worker, node, now_, events_, ids_, max_queues_);
    for (const run_row& each : runs) {
        settlement returned;
        returned.key = each.key;
        returned.state = task_state::pending;
        returned.due_at = now_.steady;
        returned.failures = each.failures;
        writer.write(returned);
        session_.execute("UPDATE tasks SET node = NULL WHERE id = ?", each.key.id.number());
    }
    writer.close();
}

bool session_writer::drain(const std::string& worker) {
    const std::optional<session_row> found = read_session(session_, worker, now_.steady);
    if (found.has_value()) {
        session_.execute("UPDATE workers SET is_draining = 1 WHERE node = ?", found->number);
    }
    return found.has_value();
}

bool session_writer::remove(const std::string& worker) {
    const std::optional<session_row> found = read_session(session_, worker, now_.steady);
    if (found.has_value()) {
        give_back(worker, found->number, read_runs_of(found->number));
        session_.execute("UPDATE nodes SET expires_at = 0, is_gone = 1 WHERE number = ?",
                         found->number);
    }
    return found.has_value();
}

// ---- results

std::vector<settle_answer> session_writer::settle(const std::string& worker,
                                                  std::span<const settlement> ended) {
    std::vector<settle_answer> answers(ended.size(), settle_answer::refused);
    const std::optional<std::int64_t> number = node_number(session_, worker);
    if (!number.has_value()) {
        return answers;
    }
    settlement_writer writer(session_, worker, *number, now_, events_, ids_, max_queues_);
    const std::vector<bool> written = writer.write_all(ended);
    for (std::size_t i = 0; i < ended.size(); ++i) {
        answers[i] = written[i] ? settle_answer::written : find_earlier_end(*number, ended[i]);
    }
    writer.close();
    return answers;
}

settle_answer session_writer::find_earlier_end(std::int64_t node, const settlement& ended) {
    const sqlite::rows found = session_.query(
        "SELECT state, EXISTS(SELECT 1 FROM attempts WHERE task = tasks.id AND attempts.run = "
        "tasks.run AND end = ?) FROM tasks WHERE id = ? AND run = ? AND tasks.node = ? AND state "
        "!= "
        "1",
        static_cast<int>(attempt_end::crashed), ended.key.id.number(), ended.key.run, node);
    if (found.empty() || found[0].get<bool>(1)) {
        return settle_answer::refused;
    }
    const bool is_completed =
        static_cast<task_state>(found[0].get<int>(0)) == task_state::completed;
    return is_completed == (ended.state == task_state::completed) ? settle_answer::repeated
                                                                  : settle_answer::refused;
}

void write_progress(sql_session& session, std::int64_t node, std::span<const progress_note> notes,
                    event_list& events) {
    for (const progress_note& each : notes) {
        const std::int64_t noted = session.count(
            "UPDATE tasks SET progress = ?, message = ? WHERE id = ? AND state = 1 AND run = ? AND "
            "node = ?",
            each.progress, null_if_empty(each.message), each.key.id.number(), each.key.run, node);
        if (noted > 0) {
            events.add(session, each.key.id.number());
        }
    }
}

// ---- lists

std::vector<std::optional<task_record>> find_runs(sql_session& session, const std::string& worker,
                                                  std::span<const run_key> runs) {
    static const std::string sql = [] {
        std::string columns(task_columns);
        columns.replace(columns.size() - long_columns.size(), long_columns.size(),
                        "iif(secret IS NULL, NULL, coalesce(payload, (SELECT payload FROM payloads "
                        "WHERE task = tasks.id))), NULL");
        return "SELECT " + columns + std::string(task_names) +
               " FROM tasks WHERE id = ? AND state = 1 AND run = ? AND node = ?";
    }();
    std::vector<std::optional<task_record>> all(runs.size());
    const std::optional<std::int64_t> number = node_number(session, worker);
    for (std::size_t i = 0; number.has_value() && i < runs.size(); ++i) {
        const sqlite::rows found = session.query(sql, runs[i].id.number(), runs[i].run, *number);
        if (!found.empty()) {
            all[i] = read_named_task(found[0]);
        }
    }
    return all;
}

std::vector<worker_status> list_workers(sql_session& session) {
    std::vector<worker_status> all = read_sessions(session);
    for (worker_status& each : all) {
        const sqlite::rows runs = session.query(
            "SELECT id, run, kind, (SELECT name FROM queues WHERE queues.id = queue), started_at, "
            "is_cancelling FROM tasks WHERE line = (SELECT 8 * number + 2 FROM nodes WHERE "
            "nodes.id = ?) ORDER BY id",
            each.id);
        for (const sqlite::row row : runs) {
            worker_run& run = each.runs.emplace_back();
            run.key = {task_id(row.get<std::int64_t>(0)), row.get<std::uint32_t>(1)};
            run.kind = row.get<std::string>(2);
            run.queue = row.get<std::string>(3);
            run.started_at = time_of(row.get<std::int64_t>(4));
            run.is_cancelling = row.get<bool>(5);
        }
    }
    return all;
}

std::vector<worker_kind> list_worker_kinds(sql_session& session, timestamp now) {
    std::map<std::string, worker_kind> all;
    for (const sqlite::row each : session.query("SELECT kind FROM worker_kinds")) {
        all[each.get<std::string>(0)].is_known = true;
    }
    const sqlite::rows pools = session.query(
        "SELECT kind_name, due, running FROM destination_kinds CROSS JOIN destinations ON kind = "
        "destination_kinds.id AND name = ''");
    for (const sqlite::row each : pools) {
        const auto due = each.get<std::uint64_t>(1);
        const auto running = each.get<std::uint64_t>(2);
        const auto kind = each.get<std::string>(0);
        if (due > 0 || running > 0 || all.contains(kind)) {
            all[kind].due = due;
            all[kind].running = running;
        }
    }
    for (const worker_status& each : read_sessions(session, now)) {
        const std::set<std::string> kinds(each.kinds.begin(), each.kinds.end());
        for (const std::string& kind : kinds) {
            const auto known = all.find(kind);
            if (known != all.end() && !each.is_draining) {
                ++known->second.workers;
            }
        }
    }
    std::vector<worker_kind> listed;
    for (auto& [kind, each] : all) {
        each.kind = kind;
        listed.push_back(std::move(each));
    }
    return listed;
}

std::optional<hold::reason> find_worker_hold(sql_session& session, const std::string& kind,
                                             const std::string& queue, timestamp now) {
    std::vector<worker_status> takers = read_sessions(session, now);
    std::erase_if(takers, [&](const worker_status& each) { return !takes(each, kind, queue); });
    return reason_of(takers, now);
}

}  // namespace weir::service::detail
