// SPDX-License-Identifier: MIT
// A cancel writes what it is about in its first transaction, so that claims obey it at once, and
// continues in steps until all members are told.

#include "service/store/sqlite/workflow/sqlite_workflows.hpp"

#include "service/store/sqlite/changes.hpp"
#include "service/store/sqlite/rows/group_rows.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"
#include "service/store/sqlite/task_ends.hpp"
#include "service/store/sqlite/workflow/graph_submit.hpp"

#include <string>
#include <utility>

namespace weir::service::detail {

namespace {

// Starts the work in the transaction of the session.
void start_ripple(sql_session& session, const ripple& work, moment now, event_list& events,
                  id_source& ids, std::size_t max_queues) {
    ledger books(session, now);
    task_ends ends(session, books, ids, events, now, max_queues);
    ends.start(work);
    ends.close();
    books.close();
}

}  // namespace

task<workflow_result> sqlite_workflows::submit(workflow flow, moment now) {
    auto create = [&](sql_session& session, event_list& events) {
        return graph_submit(session, now, events, ids_, max_queues_).run(flow);
    };
    try {
        co_return co_await calls_.change(now, create);
    } catch (const refused_graph& refused) {
        co_return refused.result;
    }
}

task<std::optional<group_record>> sqlite_workflows::seal(group_id group, moment now) {
    auto write = [this, group, now](sql_session& session, event_list& events) {
        ledger books(session, now);
        task_ends ends(session, books, ids_, events, now, max_queues_);
        ends.seals(group.number());
        ends.close();
        books.close();
        return std::optional<group_record>(find_group(session, group));
    };
    return calls_.change(now, write);
}

task<std::optional<group_record>> sqlite_workflows::find(group_id group) {
    return calls_.read([group](sql_session& session) {
        return std::optional<group_record>(find_group(session, group));
    });
}

task<std::vector<group_record>> sqlite_workflows::list(group_query filter) {
    return calls_.read([filter](sql_session& session) {
        static const std::string sql =
            "SELECT " + std::string(group_columns) +
            " FROM task_groups WHERE (?1 = 0 OR id < ?1) AND (?2 < 0 OR state = ?2) ORDER BY "
            "id DESC LIMIT ?3";
        std::vector<group_record> found;
        const int state = filter.state ? static_cast<int>(*filter.state) : -1;
        for (const sqlite::row each :
             session.query(sql, filter.before.number(), state, filter.limit)) {
            found.push_back(read_group(each));
        }
        return found;
    });
}

task<std::vector<task_record>> sqlite_workflows::members(group_id group, member_query query) {
    return calls_.read([group, query](sql_session& session) {
        std::string columns(task_columns);
        if (query.is_brief) {
            columns.replace(columns.size() - long_columns.size(), long_columns.size(),
                            "NULL, NULL");
        }
        const std::string sql = "SELECT " + columns + std::string(task_names) +
                                " FROM tasks INDEXED BY tasks_group WHERE in_group = ? AND "
                                "tasks.id > ? ORDER BY tasks.id LIMIT ?";
        std::vector<task_record> found;
        for (const sqlite::row each :
             session.query(sql, group.number(), query.after.number(), query.limit)) {
            found.push_back(read_named_task(each));
            read_parents(session, found.back());
        }
        return found;
    });
}

task<change_result> sqlite_workflows::cancel(group_id group, moment now) {
    auto begin = [&](sql_session& session, event_list& events) {
        const std::optional<group_row> found = find_group(session, group);
        if (!found.has_value()) {
            return change_result::not_found;
        }
        if (found->state != group_state::open) {
            return change_result::no_change;
        }
        session.execute("UPDATE task_groups SET state = 1, is_sealed = 1 WHERE id = ?",
                        group.number());
        start_ripple(session, {ripple::kind::cancelled, group.number(), {}, 0}, now, events, ids_,
                     max_queues_);
        start_ripple(session, {ripple::kind::checked, group.number(), {}, 0}, now, events, ids_,
                     max_queues_);
        return change_result::done;
    };
    const change_result result = co_await calls_.change(now, begin);
    if (result != change_result::done) {
        co_return result;
    }
    co_await finish(now);
    const std::optional<group_record> left = co_await find(group);
    co_return left.has_value() && !is_final(left->state) ? change_result::requested : result;
}

task<change_result> sqlite_workflows::cancel_subtree(task_id root, moment now) {
    bool has_open_children = false;
    bool is_large = false;
    const auto cancel_root = [&](sql_session& session, event_list& events) {
        return task_changes(session, now, events, ids_, max_queues_).cancel(root);
    };
    auto begin = [&](sql_session& session, event_list& events) {
        has_open_children = !session
                                 .query(
                                     "SELECT 1 FROM edges INDEXED BY edges_parent CROSS JOIN "
                                     "tasks ON tasks.id = child WHERE parent = ? AND state <= 1 "
                                     "LIMIT 1",
                                     root.number())
                                 .empty();
        start_ripple(session, {ripple::kind::subtree, root.number(), {}, 0}, now, events, ids_,
                     max_queues_);
        is_large = has_ripples(session);
        return is_large ? change_result::no_change : cancel_root(session, events);
    };
    change_result result = co_await calls_.change(now, begin);
    if (is_large) {
        // The root is last, so that its end lets no dependent run that is still to be cancelled.
        co_await finish(now);
        result = co_await calls_.change(now, cancel_root);
    }
    co_return result == change_result::no_change&& has_open_children ? change_result::done : result;
}

task<> sqlite_workflows::finish(moment now) {
    bool has_more = co_await calls_.read(&has_ripples);
    while (has_more) {
        auto proceed = [&](sql_session& session, event_list& events) {
            return continue_ripples(session, now, events, ids_, max_queues_);
        };
        has_more = co_await calls_.change(now, proceed);
    }
}

}  // namespace weir::service::detail
