// SPDX-License-Identifier: MIT
// Tasks in a PostgreSQL database, which any number of services on any number of machines share.
//
//     auto store = co_await service::open_postgres_store("postgres://app@db.example.com/shop");
//
// Its tables are in a schema of their own. Calls of one service that wait at the same time share a
// transaction. Transactions that change tasks exclude each other, of all services, so that limits
// hold across all of them and nothing is counted twice; heartbeats and reads wait for nobody. While
// the database cannot be reached, calls throw store_unavailable, and the store reconnects by
// itself. The URL may name several servers, postgres://one,two/shop: the store uses the primary,
// and after a failover the new one. docs/cluster.md says what is promised.
#pragma once

#include <weir/clock.hpp>
#include <weir/service/store.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace weir::service {

struct postgres_store_options {
    postgres_store_options() = default;  // not an aggregate: safe in co_await expressions

    std::string schema = "weir";  // created if it does not exist; lower case letters, digits and _
    std::size_t readers = 2;      // connections for read-only calls; two more are for writes
    // How long one statement may take, and how long it may wait for a lock. Keep both below the
    // lease of the service.
    std::chrono::milliseconds statement_timeout = std::chrono::seconds(5);
    std::chrono::milliseconds lock_timeout = std::chrono::seconds(4);
    clock::duration connect_timeout = std::chrono::seconds(5);
    // After a failover, nodes that the new primary knows keep their leases for at least this long:
    // those of the longest lease among nodes and workers.
    clock::duration failover_grace = std::chrono::seconds(30);
    std::size_t max_queues = default_max_queues;  // further queues are refused; existing ones stay
    // Upgrades the tables even while older programs use them that cannot use the new ones.
    bool upgrades_in_use = false;
    // Leases and delays are measured by the server's clock, so that the clocks of machines need not
    // agree. False, for tests that choose the time: by the caller's.
    bool uses_server_clock = true;
    // Once a minute, tables that are a fifth dead and were not vacuumed for five minutes are
    // vacuumed, and indexes of four times the size that they need are made anew, on a connection of
    // their own. Not behind a pooler.
    bool maintains = true;
    // The URL of a standby, which may name several. Lists that may lag (task_filter::may_lag) and
    // have no tasks that are younger than most_lag are read from there, as long as it is no further
    // than that behind the primary, and from the primary otherwise.
    std::string read_replica;
    std::chrono::milliseconds most_lag = std::chrono::minutes(1);
    // Called while the store is being opened, if something about the server is a risk: asynchronous
    // standbys, or a read replica that cannot be used.
    std::function<void(std::string_view)> on_warning = {};
};

// The tables were made by a newer program, and this one cannot use them: starting it again does not
// help.
class store_too_new : public store_unavailable {
public:
    explicit store_too_new(const std::string& what)
        : store_unavailable(what, db::retry_advice::no) {}
};

// Whether the text is the URL of a PostgreSQL database: postgres://... or postgresql://...
bool is_postgres_url(std::string_view text) noexcept;

// Connects, and creates or upgrades the tables. Several services may do so at once. Throws
// store_unavailable with the reason and what to do: no server, a server that is older than version
// 12, a standby or a read-only database, missing privileges, the schema of another program, tables
// of a newer version (store_too_new). Its advice() is no if waiting does not help. Messages never
// contain the password.
task<std::unique_ptr<store>> open_postgres_store(std::string url,
                                                 postgres_store_options options = {});

}  // namespace weir::service
