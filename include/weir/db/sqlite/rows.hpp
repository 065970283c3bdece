// SPDX-License-Identifier: MIT
// The result of a query: all of its rows.
//
//     struct user { std::int64_t id; std::string name; std::optional<double> score; };
//     const sqlite::rows found = co_await database.query("SELECT id, name, score FROM users");
//     for (const user& each : found.as<user>()) { ... }           // by position
//     found[0].get<std::string>("name");                          // or one by one
#pragma once

#include <weir/db/rows.hpp>
#include <weir/db/sqlite/value.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::sqlite {

class rows;

// One row; refers to the rows.
class row : public db::readable_row<row> {
public:
    std::size_t size() const noexcept { return values_.size(); }
    // Throws mapping_error for a column that does not exist.
    const value& operator[](std::size_t column) const {
        if (column >= values_.size()) {
            db::detail::throw_no_column(column, values_.size());
        }
        return values_[column];
    }
    const value& operator[](std::string_view column) const { return (*this)[index_of(column)]; }

private:
    friend class rows;
    row(const rows& all, std::span<const value> values) noexcept : rows_(&all), values_(values) {}
    std::size_t index_of(std::string_view column) const;

    const rows* rows_;
    std::span<const value> values_;
};

class rows : public db::readable_rows<rows, row> {
public:
    rows() = default;
    explicit rows(std::vector<std::string> columns) noexcept : columns_(std::move(columns)) {}

    const std::vector<std::string>& columns() const noexcept { return columns_; }
    std::size_t size() const noexcept {
        return columns_.empty() ? 0 : values_.size() / columns_.size();
    }
    row operator[](std::size_t index) const noexcept {
        return {*this, std::span(values_).subspan(index * columns_.size(), columns_.size())};
    }

    // For the library: room for so many rows.
    void reserve(std::size_t count) { values_.reserve(count * columns_.size()); }
    // For the library: appends the next value, row by row.
    void add(value next) { values_.push_back(std::move(next)); }
    // For the library: a row with the columns of these rows, and with values that are elsewhere.
    row over(std::span<const value> values) const noexcept { return {*this, values}; }

private:
    std::vector<std::string> columns_;
    std::vector<value> values_;  // row after row
};

}  // namespace weir::sqlite
