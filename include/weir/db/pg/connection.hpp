// SPDX-License-Identifier: MIT
// A connection to PostgreSQL, for who wants one to himself: from database::acquire(), or made by
// connect().
//
//     pg::connection own = co_await pg::connect({.url = "postgresql://app@db.example.com/shop"});
//     const auto found = co_await own.query("SELECT id, name FROM users WHERE id = $1", 7);
//
// Several tasks may use it at once: what they ask goes out together, and the answers find their way
// back (libpq's pipeline mode). A query that fails leaves the others alone.
//
// Stopping: a query that was not sent is withdrawn. One that was is not waited for; if it does not
// end soon, the server is asked to cancel it, and the connection is usable again when it has.
// Others that were sent behind it are not disturbed: if the cancelling hits one of them, it is sent
// again.
//
// Belongs to one loop.
#pragma once

#include <weir/db/pg/copy.hpp>
#include <weir/db/pg/detail/query_call.hpp>
#include <weir/db/pg/error.hpp>
#include <weir/db/pg/options.hpp>
#include <weir/db/pg/rows.hpp>
#include <weir/db/pg/transaction.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace weir::pg {

class connection {
public:
    // For the library.
    explicit connection(std::shared_ptr<detail::session> opened) noexcept;
    connection(connection&&) noexcept;
    connection& operator=(connection&&) noexcept;
    // Closes it; queries under way fail.
    ~connection();

    // co_await query(sql, parameters...): the rows. Parameters are $1, $2, ... in the SQL, which is
    // one statement. Throws pg::error, and connection_error when the connection is lost meanwhile.
    template <class... Parameters>
    detail::rows_call query(std::string sql, Parameters&&... parameters) {
        return {target(), std::move(sql),
                detail::to_parameters(std::forward<Parameters>(parameters)...)};
    }
    // co_await execute(sql, parameters...): how many rows it changed.
    template <class... Parameters>
    detail::count_call execute(std::string sql, Parameters&&... parameters) {
        return {target(), std::move(sql),
                detail::to_parameters(std::forward<Parameters>(parameters)...)};
    }
    // co_await transaction(body, options): what body(transaction&), a task, gives. Committed when
    // it has ended, undone when it throws or is stopped. One at a time; within it,
    // transaction::nested. What other tasks ask on this connection meanwhile is part of it. Throws
    // pg::error with SQLSTATE 25P02 if the server undid it instead of committing, since a query in
    // it had failed.
    template <class Body>
    auto transaction(Body&& body, transaction_options how = {})
        -> std::invoke_result_t<Body&, pg::transaction&> {
        WEIR_CHECK_CALLABLE(Body);
        return detail::in_transaction<std::remove_cvref_t<Body>>(opened(), 1, how,
                                                                 std::forward<Body>(body));
    }
    // co_await script(sql): several statements without parameters, for schemas. Waits until nothing
    // else is under way. Without BEGIN in it they are one transaction. A stop drops the connection.
    task<> script(std::string sql);
    // co_await copy_in(sql, body): COPY ... FROM STDIN of what body(copy_writer&), a task, writes;
    // how many rows. All are undone when it throws or is stopped; a stop drops the connection.
    // Waits until nothing else is under way.
    template <class Body>
    task<std::uint64_t> copy_in(std::string sql, Body&& body) {
        WEIR_CHECK_CALLABLE(Body);
        return detail::copy_in<std::remove_cvref_t<Body>>(opened(), std::move(sql),
                                                          std::forward<Body>(body));
    }
    // COPY ... TO STDOUT, in chunks of whole rows. Waits until nothing else is under way, and keeps
    // the connection until the end; dropped half-way, it drops the connection.
    generator<std::string> copy_out(std::string sql) {
        return detail::copy_out(opened(), std::move(sql));
    }

    // False once it is lost or closed.
    bool is_open() const noexcept;
    // The server's number for it: pg_stat_activity.pid.
    int server_process() const noexcept;
    // co_await quiet(): when nothing is under way any more, also of what was stopped.
    task<> quiet();
    void close() noexcept;

    // For the library.
    const std::shared_ptr<detail::session>& opened() const;

private:
    std::shared_ptr<detail::query_target> target() const;

    std::shared_ptr<detail::session> session_;
};

// Throws connection_error, which says why: refused, unknown host, wrong password, no such database;
// invalid_argument for options that make no sense. Messages never contain the password.
task<connection> connect(connect_options options);

}  // namespace weir::pg
