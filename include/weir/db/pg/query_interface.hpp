// SPDX-License-Identifier: MIT
// query() and execute(), which pg::database, pg::connection and pg::transaction have in common.
//
//     const auto found = co_await shop.query("SELECT id, name FROM users WHERE id = $1", 7);
//     co_await shop.execute("UPDATE users SET name = $1 WHERE id = $2", name, 7);
#pragma once

#include <weir/db/pg/detail/query_call.hpp>
#include <weir/db/pg/parameter.hpp>

#include <string>
#include <utility>

namespace weir::pg {

template <class Derived>
class query_interface {
public:
    // co_await query(sql, parameters...): the rows. Parameters are $1, $2, ... in the SQL, which is
    // one statement. Throws pg::error; connection_error if there is no connection, or if it is lost
    // before the answer; on a database also weir::refused, if no connection of the pool is free in
    // time.
    template <class... Parameters>
    detail::rows_call query(std::string sql, Parameters&&... parameters) {
        return {self().target(), std::move(sql),
                detail::to_parameters(std::forward<Parameters>(parameters)...)};
    }
    // co_await execute(sql, parameters...): the number of rows that it changed.
    template <class... Parameters>
    detail::count_call execute(std::string sql, Parameters&&... parameters) {
        return {self().target(), std::move(sql),
                detail::to_parameters(std::forward<Parameters>(parameters)...)};
    }

private:
    friend Derived;
    query_interface() = default;
    Derived& self() noexcept { return static_cast<Derived&>(*this); }
};

}  // namespace weir::pg
