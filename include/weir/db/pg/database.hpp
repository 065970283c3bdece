// SPDX-License-Identifier: MIT
// A PostgreSQL database: a pool of connections, some of which are shared by single queries.
//
//     pg::database shop({.url = "postgresql://app@db.example.com/shop"}, {.pool = {.max = 20}});
//     const auto found = co_await shop.query("SELECT id, name FROM users WHERE id = $1", 7);
//     co_await shop.execute("UPDATE users SET name = $1 WHERE id = $2", name, 7);
//     co_await shop.transaction([&](pg::transaction& inside) -> task<> { ... });
//
// Connects when asked first. Single queries that wait at the same time go out together on few
// connections; each is a transaction of its own, and its failure or stop leaves the others alone.
// Transactions have a connection to themselves.
//
// If a connection is lost, queries that were sent on it fail with connection_error (advice:
// if_harmless), and those that were not go to another. Stopping: as with connection. Belongs to one
// loop.
#pragma once

#include <weir/db/pg/connection.hpp>
#include <weir/db/pg/copy.hpp>
#include <weir/db/pg/error.hpp>
#include <weir/db/pg/notification.hpp>
#include <weir/db/pg/options.hpp>
#include <weir/db/pg/rows.hpp>
#include <weir/db/pg/transaction.hpp>
#include <weir/flow/pool.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::pg {

namespace detail {
class lines;
}

struct database_stats {
    pool_stats pool{};           // all connections
    std::size_t lines = 0;       // of them, shared by single queries now
    std::size_t waiting = 0;     // single queries that have no line yet
    std::size_t under_way = 0;   // single queries that have one
    std::uint64_t queries = 0;   // sent, those of transactions too
    std::uint64_t batches = 0;   // in so many steps
    std::uint64_t prepared = 0;  // statements
    std::uint64_t cancels = 0;   // that the server was asked for
    std::uint64_t resent = 0;    // queries that were undone through no fault of theirs
    std::uint64_t lost = 0;      // queries whose connection was lost
};

class database {
public:
    // Throws invalid_argument for options that make no sense.
    explicit database(const connect_options& where, const database_options& options = {});
    database(const database&) = delete;
    database& operator=(const database&) = delete;
    // Queries under way fail; connections that are lent stay with who has them.
    ~database();

    // co_await query(sql, parameters...): the rows. Parameters are $1, $2, ... in the SQL, which is
    // one statement. Throws pg::error, connection_error if there is no connection or it was lost,
    // and weir::refused if none of the pool is free in time.
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
    // co_await transaction(body, options): as that of connection, on one of the pool.
    template <class Body>
    auto transaction(Body&& body, transaction_options how = {})
        -> std::invoke_result_t<Body&, pg::transaction&> {
        WEIR_CHECK_CALLABLE(Body);
        return on_own<std::remove_cvref_t<Body>>(core_, how, std::forward<Body>(body));
    }
    // co_await script(sql): as that of connection, on one of the pool.
    task<> script(std::string sql);

    // co_await copy_in(sql, body), copy_out(sql): as those of connection, on one of the pool.
    template <class Body>
    task<std::uint64_t> copy_in(std::string sql, Body&& body) {
        WEIR_CHECK_CALLABLE(Body);
        return copy_in_on_own<std::remove_cvref_t<Body>>(core_, std::move(sql),
                                                         std::forward<Body>(body));
    }
    generator<std::string> copy_out(std::string sql);
    // What others say on the channel, over a connection beside the pool: as pg::listen.
    generator<notification> listen(std::string channel, listen_options how = {});
    generator<notification> listen(std::vector<std::string> channels, listen_options how = {});

    // co_await acquire(): a connection to oneself, until the lease goes. It is lent again when
    // nothing is under way on it and no transaction open, else dropped. What was set on it (SET,
    // LISTEN, advisory locks, temporary tables) stays.
    task<lease<connection>> acquire();

    // Waits until what was asked is answered and all leases are back, up to the limit: then queries
    // fail, and leases are reported. Later calls fail.
    task<> close(clock::duration limit = std::chrono::seconds(30));
    database_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

    // For the library.
    const std::shared_ptr<detail::lines>& core() const noexcept { return core_; }

private:
    static task<lease<connection>> acquire_from(std::shared_ptr<detail::lines> core);
    template <class Body>
    static auto on_own(std::shared_ptr<detail::lines> core, transaction_options how, Body body)
        -> std::invoke_result_t<Body&, pg::transaction&> {
        const lease<connection> own = co_await acquire_from(std::move(core));
        co_return co_await detail::in_transaction<Body&>(own->opened(), 1, how, body);
    }
    template <class Body>
    static task<std::uint64_t> copy_in_on_own(std::shared_ptr<detail::lines> core, std::string sql,
                                              Body body) {
        const lease<connection> own = co_await acquire_from(std::move(core));
        co_return co_await detail::copy_in<Body&>(own->opened(), std::move(sql), body);
    }
    std::shared_ptr<detail::query_target> target() const noexcept;

    std::shared_ptr<detail::lines> core_;
};

}  // namespace weir::pg
