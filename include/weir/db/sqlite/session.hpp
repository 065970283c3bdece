// SPDX-License-Identifier: MIT
// A connection for functions that run on a thread of the database (write, read, perform): they call
// it without await, and nothing comes between two statements.
#pragma once

#include <weir/db/sqlite/rows.hpp>
#include <weir/db/sqlite/value.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::sqlite {

class database;

namespace detail {
class connection;

template <class... Parameters>
std::vector<value> to_values(Parameters&&... parameters) {
    std::vector<value> all;
    all.reserve(sizeof...(parameters));
    (all.emplace_back(std::forward<Parameters>(parameters)), ...);
    return all;
}
}  // namespace detail

struct changed {
    std::int64_t rows = 0;     // inserted, updated or deleted
    std::int64_t last_id = 0;  // rowid of the last insert on this connection
};

class session {
public:
    explicit session(detail::connection& on) noexcept : connection_(&on) {}

    // One statement each; parameters are '?', '?1' or ':name', in their order. Statements are
    // prepared once and kept. Throws error.
    template <class... Parameters>
    changed execute(std::string_view sql, Parameters&&... parameters) {
        return run(sql, detail::to_values(std::forward<Parameters>(parameters)...));
    }
    template <class... Parameters>
    rows query(std::string_view sql, Parameters&&... parameters) {
        return fetch(sql, detail::to_values(std::forward<Parameters>(parameters)...));
    }
    changed run(std::string_view sql, std::span<const value> parameters);
    rows fetch(std::string_view sql, std::span<const value> parameters);
    // Row by row, for results that are too large to keep; visit returns false to end it.
    void each(std::string_view sql, std::span<const value> parameters,
              const std::function<bool(const row&)>& visit);
    // Several statements without parameters, for schemas.
    void script(std::string_view sql);

private:
    friend class database;
    detail::connection* connection_;
};

}  // namespace weir::sqlite
