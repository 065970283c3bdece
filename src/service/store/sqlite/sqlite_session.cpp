// SPDX-License-Identifier: MIT
// RETURNING collects the rows in a table of its own, which takes SQLite longer than to read the row
// by a statement before the UPDATE.

#include "service/store/sqlite/sqlite_session.hpp"

#include <string>
#include <utility>

namespace weir::service::detail {

std::unique_ptr<sql_changes> sqlite_sql_session::change_each(std::string_view sql,
                                                             std::vector<sql_values> sets) {
    constexpr std::string_view update_word = "UPDATE ";
    constexpr std::string_view returning_word = " RETURNING ";
    const std::size_t where = sql.find(" WHERE ");
    const std::size_t returning = sql.find(returning_word);
    const std::string_view table =
        sql.substr(update_word.size(), sql.find(' ', update_word.size()) - update_word.size());
    std::string select = "SELECT ";
    select.append(sql.substr(returning + returning_word.size())).append(" FROM ").append(table);
    select.append(sql.substr(where, returning - where));
    std::vector<sqlite::rows> changed;
    changed.reserve(sets.size());
    for (const sql_values& each : sets) {
        sqlite::rows found = on_.fetch(select, each);
        if (!found.empty()) {
            on_.run(sql.substr(0, returning), each);
            changed.push_back(std::move(found));
        }
    }
    return std::make_unique<sql_ready<std::vector<sqlite::rows>>>(std::move(changed));
}

}  // namespace weir::service::detail
