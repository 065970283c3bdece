// SPDX-License-Identifier: MIT
// pg_many_rows: a statement for one row, performed for many rows as one statement with arrays.
#pragma once

#include "service/store/sql_session.hpp"

#include <weir/db/pg/parameter.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

pg::parameter to_parameter(const sqlite::value& from);

class pg_many_rows {
public:
    // `sql` as PostgreSQL wants it, with $1, $2, ...: an INSERT ... VALUES, an UPDATE or a SELECT.
    explicit pg_many_rows(std::string sql);

    struct request {
        std::string sql;
        std::vector<pg::parameter> parameters;
    };
    // For two rows or more. The rows of a SELECT begin with the number of their set, from 1.
    request make(std::span<const sql_values> sets);

private:
    enum class statement : unsigned char { insert, update, select };
    // A parameter that is the same for all rows is passed as it is, the others as arrays.
    enum class column : unsigned char { same, integers, reals, texts };

    void find_columns(std::span<const sql_values> sets);
    std::string write_sql() const;
    std::string write_insert(const std::string& source) const;
    std::string write_update(const std::string& source) const;
    std::string with_columns(std::string_view sql) const;
    std::optional<std::size_t> only_key() const;
    std::size_t key_column() const noexcept;

    std::string sql_;
    statement what_;
    std::vector<column> columns_;
};

}  // namespace weir::service::detail
