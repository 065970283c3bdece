// SPDX-License-Identifier: MIT
// Sessions forward to their connection, and collect rows.

#include "db/sqlite/connection.hpp"

namespace weir::sqlite {

changed session::run(std::string_view sql, std::span<const value> parameters) {
    return connection_->run(sql, parameters);
}

rows session::fetch(std::string_view sql, std::span<const value> parameters) {
    rows all;
    connection_->each(
        sql, parameters, [&](std::vector<std::string> names) { all = rows(std::move(names)); },
        [&](std::span<const value> values) {
            for (const value& each : values) {
                all.add(each);
            }
            return true;
        });
    return all;
}

void session::each(std::string_view sql, std::span<const value> parameters,
                   const std::function<bool(const row&)>& visit) {
    rows none;  // has the names of the columns
    connection_->each(
        sql, parameters, [&](std::vector<std::string> columns) { none = rows(std::move(columns)); },
        [&](std::span<const value> values) { return visit(none.over(values)); });
}

void session::script(std::string_view sql) {
    connection_->script(sql);
}

}  // namespace weir::sqlite
