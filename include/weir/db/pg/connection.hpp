// SPDX-License-Identifier: MIT
// One connection to PostgreSQL: leased by database::acquire(), or opened by connect().
//
//     pg::connection own = co_await pg::connect({.url = "postgresql://app@db.example.com/shop"});
//     const auto found = co_await own.query("SELECT id, name FROM users WHERE id = $1", 7);
//
// Several tasks may use it at once: their queries go out together, and each task gets its own
// answer (libpq's pipeline mode). A query that fails does not affect the others.
//
// Stopping: a query that was not sent is withdrawn. The task does not wait for a query that was
// sent; if the query does not end soon, the connection sends a cancel request, and the connection
// is usable again when it has ended. Queries that were sent behind it are not affected: if the
// cancellation hits one of them, it is sent again.
//
// Belongs to one loop.
#pragma once

#include <weir/db/pg/copy.hpp>
#include <weir/db/pg/error.hpp>
#include <weir/db/pg/options.hpp>
#include <weir/db/pg/query_interface.hpp>
#include <weir/db/pg/rows.hpp>
#include <weir/db/pg/transaction.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace weir::pg {

class connection : public query_interface<connection> {
public:
    // For the library.
    explicit connection(std::shared_ptr<detail::session> session) noexcept;
    connection(connection&&) noexcept;
    connection& operator=(connection&&) noexcept;
    // Closes it; queries in flight fail.
    ~connection();

    // co_await transaction(body, options): the result of body(transaction&), a task. Committed when
    // body has ended, rolled back when it throws or is stopped. One transaction at a time; within
    // it, transaction::nested. Queries of other tasks on this connection are part of it. Throws
    // pg::error with SQLSTATE 25P02 if the server rolled back instead of committing, since a query
    // in the transaction had failed.
    template <class Body>
    auto transaction(Body&& body, transaction_options options = {})
        -> std::invoke_result_t<Body&, pg::transaction&> {
        WEIR_CHECK_CALLABLE(Body);
        return detail::in_transaction<std::remove_cvref_t<Body>>(session(), 1, options,
                                                                 std::forward<Body>(body));
    }
    // co_await script(sql): several statements without parameters, for schemas. Waits until nothing
    // else is in flight. The statements are one transaction unless they contain BEGIN. A stop
    // closes the connection.
    task<> script(std::string sql);
    // co_await copy_in(sql, body): COPY ... FROM STDIN of what body(copy_writer&), a task, writes;
    // the number of rows. All of them are undone when body throws or is stopped; a stop closes the
    // connection. Waits until nothing else is in flight.
    template <class Body>
    task<std::uint64_t> copy_in(std::string sql, Body&& body) {
        WEIR_CHECK_CALLABLE(Body);
        return detail::copy_in<std::remove_cvref_t<Body>>(session(), std::move(sql),
                                                          std::forward<Body>(body));
    }
    // COPY ... TO STDOUT, in chunks of whole rows. Waits until nothing else is in flight, and keeps
    // the connection until the end; a generator that is destroyed before closes the connection.
    generator<std::string> copy_out(std::string sql) {
        return detail::copy_out(session(), std::move(sql));
    }

    // False once the connection is lost or closed.
    bool is_open() const noexcept;
    // The server's process for this connection: pg_stat_activity.pid.
    int server_process() const noexcept;
    // co_await quiet(): waits until nothing is in flight, also of queries whose tasks were stopped.
    task<> quiet();
    void close() noexcept;

    // For the library. Throws invalid_state if the connection was moved from.
    const std::shared_ptr<detail::session>& session() const;

private:
    friend class query_interface<connection>;
    std::shared_ptr<detail::query_target> target() const;

    std::shared_ptr<detail::session> session_;
};

// Throws connection_error with the reason (refused, unknown host, wrong password, no such
// database), invalid_argument for invalid options. Messages never contain the password.
task<connection> connect(connect_options options);

}  // namespace weir::pg
