// SPDX-License-Identifier: MIT
// Every table has a primary key, and texts are compared by their bytes in both databases, so that a
// step is the same set of rows on both sides.

#include "service/store/move/table_layout.hpp"

#include <algorithm>

namespace weir::service::detail {

namespace {

std::string listed(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& each : names) {
        list += (list.empty() ? "" : ", ") + each;
    }
    return list;
}

std::vector<std::string> key_names(const table_layout& table) {
    std::vector<std::string> names;
    for (const std::size_t each : table.key) {
        names.push_back(table.columns[each]);
    }
    return names;
}

table_layout read_layout(sql_session& sqlite, const std::string& name) {
    table_layout table;
    table.name = name;
    std::vector<std::pair<std::int64_t, std::size_t>> key;  // by its place in the key
    bool is_integer = false;
    for (const sqlite::row each :
         sqlite.query("SELECT name, pk, type FROM pragma_table_info(?)", name)) {
        if (const std::int64_t place = each.get<std::int64_t>(1); place > 0) {
            key.emplace_back(place, table.columns.size());
            is_integer = each.get<std::string>(2) == "INTEGER";
        }
        table.columns.push_back(each.get<std::string>(0));
    }
    std::ranges::sort(key);
    for (const auto& each : key) {
        table.key.push_back(each.second);
    }
    table.has_own_numbers = table.key.size() == 1 && is_integer;
    return table;
}

}  // namespace

std::string table_layout::select_step(bool is_first) const {
    const std::string order = listed(key_names(*this));
    return "SELECT " + listed(columns) + " FROM " + name +
           (is_first ? "" : " WHERE (" + order + ") > (" + placeholders(key.size()) + ")") +
           " ORDER BY " + order + " LIMIT " + std::to_string(copy_step);
}

std::string table_layout::insert_row() const {
    return "INSERT INTO " + name + "(" + listed(columns) + ") VALUES (" +
           placeholders(columns.size()) + ")";
}

std::string table_layout::delete_step() const {
    const std::string order = listed(key_names(*this));
    return "DELETE FROM " + name + " WHERE (" + order + ") IN (SELECT " + order + " FROM " + name +
           " LIMIT " + std::to_string(10 * copy_step) + ")";
}

std::string table_layout::placeholders(std::size_t count) {
    return listed(std::vector<std::string>(count, "?"));
}

std::string table_layout::key_list(std::string_view before) const {
    std::vector<std::string> names = key_names(*this);
    for (std::string& each : names) {
        each.insert(0, before);
    }
    return listed(names);
}

std::string table_layout::column_list() const {
    return listed(columns);
}

std::string table_layout::select_range(const sql_values& after, const sql_values& upto) const {
    const std::string order = listed(key_names(*this));
    std::string conditions;
    const auto add = [&](const char* relation, const sql_values& bound) {
        if (!bound.empty()) {
            conditions += (conditions.empty() ? " WHERE (" : " AND (") + order + ") " + relation +
                          " (" + placeholders(bound.size()) + ")";
        }
    };
    add(">", after);
    add("<=", upto);
    return "SELECT " + listed(columns) + " FROM " + name + conditions + " ORDER BY " + order;
}

std::string table_layout::select_row() const {
    return "SELECT " + listed(columns) + " FROM " + name + " WHERE (" + listed(key_names(*this)) +
           ") = (" + placeholders(key.size()) + ")";
}

std::string table_layout::select_last_key() const {
    std::string backwards;
    for (const std::string& each : key_names(*this)) {
        backwards += (backwards.empty() ? "" : ", ") + each + " DESC";
    }
    return "SELECT " + listed(key_names(*this)) + " FROM " + name + " ORDER BY " + backwards +
           " LIMIT 1";
}

std::string table_layout::delete_row() const {
    return "DELETE FROM " + name + " WHERE (" + listed(key_names(*this)) + ") = (" +
           placeholders(key.size()) + ")";
}

std::string table_layout::insert_rows(std::size_t count) const {
    std::string sql = insert_row();
    for (std::size_t i = 1; i < count; ++i) {
        sql += ", (" + placeholders(columns.size()) + ")";
    }
    return sql;
}

sql_values table_layout::key_of(const sql_values& row) const {
    sql_values values;
    for (const std::size_t each : key) {
        values.push_back(row[each]);
    }
    return values;
}

sql_values table_layout::key_of(const sqlite::row& row) const {
    sql_values values;
    for (const std::size_t each : key) {
        values.push_back(row[each]);
    }
    return values;
}

std::vector<table_layout> read_layouts(sql_session& sqlite) {
    std::vector<table_layout> tables;
    // Of `meta`, one row is moved: see move_store.cpp.
    for (const sqlite::row each : sqlite.query(
             "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND "
             "substr(name, 1, 6) <> 'noted_' AND name NOT IN ('meta', 'move_target') ORDER BY "
             "name")) {
        tables.push_back(read_layout(sqlite, each.get<std::string>(0)));
    }
    return tables;
}

}  // namespace weir::service::detail
