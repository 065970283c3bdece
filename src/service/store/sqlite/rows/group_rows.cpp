// SPDX-License-Identifier: MIT
// The callback of a group is a JSON object: the template that schedules use, with the destination
// and the trace context that the service has given it.

#include "service/store/sqlite/rows/group_rows.hpp"

#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/rows/schedule_rows.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <string>

namespace weir::service::detail {

namespace {

constexpr std::size_t max_children_read = 100;

std::string write_group_callback(const new_task& task) {
    return boost::json::serialize(boost::json::object{{"task", write_template(task)},
                                                      {"destination", task.destination},
                                                      {"is_remote", task.is_remote},
                                                      {"traceparent", task.traceparent},
                                                      {"tracestate", task.tracestate}});
}

new_task read_group_callback(std::string_view text) {
    const boost::json::value parsed =
        boost::json::parse(boost::json::string_view(text.data(), text.size()));
    const auto member = [&](const char* name) {
        return std::string(parsed.as_object().at(name).as_string());
    };
    new_task read = read_template(member("task"));
    read.destination = member("destination");
    read.is_remote = parsed.as_object().at("is_remote").as_bool();
    read.traceparent = member("traceparent");
    read.tracestate = member("tracestate");
    return read;
}

}  // namespace

group_row read_group(const sqlite::row& row) {
    group_row read;
    read.id = group_id(row.get<std::int64_t>(0));
    read.name = row.get<std::optional<std::string>>(1).value_or("");
    read.queue = row.get<std::string>(2);
    read.state = static_cast<group_state>(row.get<int>(3));
    read.is_sealed = row.get<bool>(4);
    read.on_failure = static_cast<failure_policy>(row.get<int>(5));
    read.runs_callback_on_cancel = row.get<bool>(6);
    read.total = row.get<std::uint64_t>(7);
    read.open = row.get<std::uint64_t>(8);
    read.failed = row.get<std::uint64_t>(9);
    read.cancelled = row.get<std::uint64_t>(10);
    if (const std::string* const callback = row[11].text()) {
        read.callback = read_group_callback(*callback);
        read.callback_kind = read.callback->kind;
    }
    read.callback_task = task_id(row.get<std::optional<std::int64_t>>(12).value_or(0));
    read.created_at = time_of(row.get<std::int64_t>(13));
    if (const std::int64_t* const finished = row[14].integer()) {
        read.finished_at = time_of(*finished);
    }
    return read;
}

std::optional<group_row> find_group(sql_session& session, group_id id) {
    static const std::string sql =
        "SELECT " + std::string(group_columns) + " FROM task_groups WHERE id = ?";
    const sqlite::rows found = session.query(sql, id.number());
    return found.empty() ? std::nullopt : std::optional(read_group(found[0]));
}

group_id find_group(sql_session& session, std::string_view key) {
    const sqlite::rows found =
        session.query("SELECT id FROM task_groups WHERE idempotency_key = ?", key);
    return group_id(found.empty() ? 0 : found[0].get<std::int64_t>(0));
}

group_id insert_group(sql_session& session, const new_group& group, std::string_view queue,
                      timestamp now) {
    const auto newest =
        session.query("SELECT max(id) FROM task_groups").one<std::optional<std::int64_t>>();
    const group_id id =
        next_id(group_id(newest.value_or(0)),
                std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count());
    session.execute(
        "INSERT INTO task_groups(id, name, queue, idempotency_key, is_sealed, on_failure, "
        "runs_on_cancel, callback, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        id.number(), null_if_empty(group.name), queue, null_if_empty(group.idempotency_key),
        group.is_sealed, static_cast<int>(group.on_failure), group.runs_callback_on_cancel,
        group.callback ? std::optional(write_group_callback(*group.callback)) : std::nullopt,
        number_of(now));
    return id;
}

void read_parents(sql_session& session, task_record& of) {
    if (!of.has_parents) {
        return;
    }
    const sqlite::rows found = session.query(
        "SELECT parent, policy, coalesce(outcome, 0) FROM edges WHERE child = ? ORDER BY parent",
        of.id.number());
    for (const sqlite::row each : found) {
        of.parents.push_back({task_id(each.get<std::int64_t>(0)),
                              static_cast<failure_policy>(each.get<int>(1)),
                              static_cast<dependency_outcome>(each.get<int>(2))});
    }
}

std::vector<task_id> read_children(sql_session& session, std::int64_t task) {
    std::vector<task_id> children;
    const sqlite::rows found = session.query(
        "SELECT child FROM edges INDEXED BY edges_parent WHERE parent = ? ORDER BY child LIMIT ?",
        task, max_children_read);
    for (const sqlite::row each : found) {
        children.emplace_back(each.get<std::int64_t>(0));
    }
    return children;
}

}  // namespace weir::service::detail
