// SPDX-License-Identifier: MIT
// The tables of a store with their columns, and the statements that copy them in steps.
#pragma once

#include "service/store/sql_session.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

struct table_layout {
    std::string name;
    std::vector<std::string> columns;
    std::vector<std::size_t> key;  // the columns of the primary key, by their position
    bool has_own_numbers = false;  // the key is one integer, which the database may choose

    // Rows in the order of the key; but for the first, the key of the last row before the step
    // gives the parameters.
    std::string select_step(bool is_first) const;
    std::string insert_row() const;
    // Removes some of the rows.
    std::string delete_step() const;
    std::string count_rows() const { return "SELECT count(*) FROM " + name; }
    sql_values key_of(const sqlite::row& row) const;
    sql_values key_of(const sql_values& row) const;

    // The columns of the key, each with a word in front of it.
    std::string key_list(std::string_view before = {}) const;
    std::string column_list() const;
    static std::string placeholders(std::size_t count);
    // Rows after a key up to another one; an empty one is no bound.
    std::string select_range(const sql_values& after, const sql_values& upto) const;
    std::string select_row() const;
    std::string select_last_key() const;
    std::string delete_row() const;
    // Many rows in one statement.
    std::string insert_rows(std::size_t count) const;
};

inline constexpr std::size_t copy_step = 1000;  // rows

// All tables that are moved, as the SQLite store among the two has them.
std::vector<table_layout> read_layouts(sql_session& sqlite);

}  // namespace weir::service::detail
