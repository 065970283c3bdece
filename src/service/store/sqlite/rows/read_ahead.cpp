// SPDX-License-Identifier: MIT
// PostgreSQL gets the queries for queues in the same packet as that for flows.

#include "service/store/sqlite/rows/read_ahead.hpp"

#include <memory>
#include <string>
#include <vector>

namespace weir::service::detail {

namespace {

std::string select_rows(std::string_view columns, std::string_view rest) {
    return std::string("SELECT ").append(columns).append(rest);
}

template <class Known, class Add>
void read_unknown(sql_session& session, const std::string& sql, const std::set<std::int64_t>& ids,
                  Known is_known, Add add) {
    std::vector<sql_values> sets;
    for (const std::int64_t each : ids) {
        if (!is_known(each)) {
            sets.push_back(sql_session::values_of(each));
        }
    }
    const sql_groups found = session.query_each(sql, std::move(sets));
    for (std::size_t i = 0; i < found.size(); ++i) {
        for (std::size_t k = 0; k < found.count(i); ++k) {
            add(found.row(i, k));
        }
    }
}

void add_queues(ledger& books, const std::vector<std::unique_ptr<sql_answer>>& answers) {
    for (const auto& each : answers) {
        const sqlite::rows found = each->take();
        for (const sqlite::row row : found) {
            books.add(read_queue(row));
        }
    }
}

}  // namespace

void read_ahead(sql_session& session, ledger& books, const std::set<std::int64_t>& queues,
                const std::set<std::int64_t>& flows, const std::set<std::int64_t>& branches) {
    static const std::string queue_sql = select_rows(queue_columns, " FROM queues WHERE id = ?");
    static const std::string flow_sql = select_rows(flow_columns, " FROM flows WHERE id = ?");
    static const std::string branch_sql =
        select_rows(branch_columns, " FROM branches WHERE id = ?");
    static const std::string destination_sql =
        std::string(destination_query) + "destinations.id = ?";
    std::vector<std::unique_ptr<sql_answer>> queue_answers;
    for (const std::int64_t each : queues) {
        if (!books.has_queue(each)) {
            queue_answers.push_back(session.ask(queue_sql, each));
        }
    }
    read_unknown(
        session, flow_sql, flows, [&](std::int64_t id) { return books.has_flow(id); },
        [&](const sqlite::row& row) { books.add(read_flow(row)); });
    add_queues(books, queue_answers);
    std::set<std::int64_t> destinations;
    read_unknown(
        session, branch_sql, branches, [&](std::int64_t id) { return books.has_branch(id); },
        [&](const sqlite::row& row) {
            destinations.insert(books.add(read_branch(row)).destination);
        });
    read_unknown(
        session, destination_sql, destinations,
        [&](std::int64_t id) { return books.has_destination(id); },
        [&](const sqlite::row& row) { books.add(read_destination(row)); });
}

void read_ahead(sql_session& session, ledger& books,
                const std::set<std::pair<std::string_view, std::string_view>>& flows) {
    static const std::string queue_sql = select_rows(queue_columns, " FROM queues WHERE name = ?");
    static const std::string flow_sql = select_rows(
        flow_columns,
        " FROM flows WHERE queue = (SELECT queues.id FROM queues WHERE name = ?) AND key = ?");
    std::vector<std::unique_ptr<sql_answer>> queue_answers;
    std::vector<sql_values> sets;
    std::string_view last;
    for (const auto& [queue, key] : flows) {
        if (sets.empty() || queue != last) {
            queue_answers.push_back(session.ask(queue_sql, queue));
            last = queue;
        }
        sets.push_back(sql_session::values_of(queue, key));
    }
    const sql_groups found = session.query_each(flow_sql, std::move(sets));
    for (std::size_t i = 0; i < found.size(); ++i) {
        for (std::size_t k = 0; k < found.count(i); ++k) {
            books.add_by_key(read_flow(found.row(i, k)));
        }
    }
    add_queues(books, queue_answers);
}

}  // namespace weir::service::detail
