// SPDX-License-Identifier: MIT
// The result of a query: all of its rows.
//
//     struct user { std::int64_t id; std::string name; std::optional<double> score; };
//     const pg::rows found = co_await database.query("SELECT id, name, score FROM users");
//     for (const user& each : found.as<user>()) { ... }           // by position
//     found[0].get<std::string>("name");                          // or one by one
#pragma once

#include <weir/db/pg/value.hpp>
#include <weir/db/rows.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::pg {

class rows;

// One row; refers to data of the rows, which may be moved but not destroyed.
class row : public db::readable_row<row> {
public:
    std::size_t size() const noexcept;
    // Throws mapping_error for a column that does not exist.
    value operator[](std::size_t column) const;
    value operator[](std::string_view column) const { return (*this)[index_of(column)]; }

private:
    friend class rows;
    row(const pg_result* result, int index) noexcept : result_(result), index_(index) {}
    std::size_t index_of(std::string_view column) const;

    const pg_result* result_;
    int index_;
};

// Copies share the data.
class rows : public db::readable_rows<rows, row> {
public:
    rows() = default;
    // For the library: takes libpq's result, which is cleared with the last copy.
    explicit rows(std::shared_ptr<const pg_result> result) noexcept;

    std::vector<std::string> columns() const;
    std::size_t size() const noexcept { return static_cast<std::size_t>(size_); }
    row operator[](std::size_t index) const noexcept {
        return {result_.get(), static_cast<int>(index)};
    }
    // The number of rows that INSERT, UPDATE, DELETE, MERGE or COPY changed, or that SELECT
    // returned.
    std::uint64_t affected() const noexcept;

private:
    std::shared_ptr<const pg_result> result_;
    int size_ = 0;
};

}  // namespace weir::pg
