// SPDX-License-Identifier: MIT
// A PostgreSQL database: a pool of connections, some of which single queries share.
//
//     pg::database shop({.url = "postgresql://app@db.example.com/shop"}, {.pool = {.max = 20}});
//     const auto found = co_await shop.query("SELECT id, name FROM users WHERE id = $1", 7);
//     co_await shop.execute("UPDATE users SET name = $1 WHERE id = $2", name, 7);
//     co_await shop.transaction([&](pg::transaction& inside) -> task<> { ... });
//
// It connects on first use. Single queries that wait at the same time go out together on few
// connections, called lines; each query is a transaction of its own, and its failure or stop does
// not affect the others. Transactions have a connection to themselves.
//
// If a connection is lost, queries that were sent on it fail with connection_error (advice:
// if_harmless); queries that were not sent go to another connection. Stopping: as with connection.
// Belongs to one loop.
#pragma once

#include <weir/db/pg/connection.hpp>
#include <weir/db/pg/copy.hpp>
#include <weir/db/pg/detail/connection_use.hpp>
#include <weir/db/pg/error.hpp>
#include <weir/db/pg/notification.hpp>
#include <weir/db/pg/options.hpp>
#include <weir/db/pg/query_interface.hpp>
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
class database_core;
}

struct database_stats {
    pool_stats pool{};           // all connections
    std::size_t lines = 0;       // connections that single queries share now
    std::size_t waiting = 0;     // single queries that have no line yet
    std::size_t under_way = 0;   // single queries that have one
    std::uint64_t queries = 0;   // sent, including those of transactions
    std::uint64_t batches = 0;   // in which they were sent
    std::uint64_t prepared = 0;  // statements
    std::uint64_t cancels = 0;   // requests to the server
    std::uint64_t resent = 0;    // queries sent again, after a cancellation or a changed table
    std::uint64_t lost = 0;      // queries whose connection was lost
};

class database : public query_interface<database> {
public:
    // Throws invalid_argument for invalid options.
    explicit database(const connect_options& server, const database_options& options = {});
    database(const database&) = delete;
    database& operator=(const database&) = delete;
    // Queries in flight fail; leased connections stay open until their leases end.
    ~database();

    // co_await transaction(body, options): as connection::transaction, on one of the pool. Queries
    // and transactions of the database itself inside the body use other connections; if the bodies
    // around them have all of the pool, they throw invalid_state.
    template <class Body>
    auto transaction(Body&& body, transaction_options options = {})
        -> std::invoke_result_t<Body&, pg::transaction&> {
        WEIR_CHECK_CALLABLE(Body);
        return transaction_on<std::remove_cvref_t<Body>>(core_, options, std::forward<Body>(body));
    }
    // co_await script(sql): as connection::script, on one of the pool.
    task<> script(std::string sql);

    // co_await copy_in(sql, body), copy_out(sql): as those of connection, on one of the pool.
    template <class Body>
    task<std::uint64_t> copy_in(std::string sql, Body&& body) {
        WEIR_CHECK_CALLABLE(Body);
        return copy_in_on<std::remove_cvref_t<Body>>(core_, std::move(sql),
                                                     std::forward<Body>(body));
    }
    generator<std::string> copy_out(std::string sql);
    // Notifications on the channel, over a connection beside the pool: as pg::listen.
    generator<notification> listen(std::string channel, listen_options options = {});
    generator<notification> listen(std::vector<std::string> channels, listen_options options = {});

    // co_await acquire(): exclusive use of a connection until the lease ends. It returns to the
    // pool when nothing is in flight on it and no transaction is open, else it is closed. Session
    // state (SET, LISTEN, advisory locks, temporary tables) is kept.
    task<lease<connection>> acquire();

    // Waits until all queries are answered and all leases have ended, up to the limit: then queries
    // fail, and open leases are reported. Later calls fail.
    task<> close(clock::duration limit = std::chrono::seconds(30));
    database_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

    // For the library.
    const std::shared_ptr<detail::database_core>& core() const noexcept { return core_; }

private:
    static task<lease<connection>> acquire_from(std::shared_ptr<detail::database_core> core);
    template <class Body>
    static auto transaction_on(std::shared_ptr<detail::database_core> core,
                               transaction_options options, Body body)
        -> std::invoke_result_t<Body&, pg::transaction&> {
        const lease<connection> own = co_await acquire_from(core);
        const detail::connection_use use(core.get());
        co_return co_await detail::in_transaction<Body&>(own->session(), 1, options, body);
    }
    template <class Body>
    static task<std::uint64_t> copy_in_on(std::shared_ptr<detail::database_core> core,
                                          std::string sql, Body body) {
        const lease<connection> own = co_await acquire_from(core);
        const detail::connection_use use(core.get());
        co_return co_await detail::copy_in<Body&>(own->session(), std::move(sql), body);
    }
    friend class query_interface<database>;
    std::shared_ptr<detail::query_target> target() const noexcept;

    std::shared_ptr<detail::database_core> core_;
};

}  // namespace weir::pg
