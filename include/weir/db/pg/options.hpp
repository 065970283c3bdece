// SPDX-License-Identifier: MIT
// Options of connections to PostgreSQL, and of databases.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/pool_options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::pg {

// The texts are copied.
struct connect_options {
    // 'postgresql://user:password@host:5432/database?sslmode=require', also with several hosts, or
    // 'host=... dbname=...'. Other settings come from the environment (PGHOST, PGPASSWORD, ...) and
    // the files that psql reads, too. Weir resolves host names, not libpq.
    std::string_view url{};
    std::string_view application_name{};
    clock::duration connect_timeout = std::chrono::seconds(10);  // all addresses together
    // Prepared statements that a connection keeps; the least recently used one is evicted. 0: none.
    std::size_t kept_statements = 256;
    // Behind a pooler such as PgBouncer, which may use another server connection for each
    // transaction, no statements are kept. True: the pooler keeps track of them, as PgBouncer does
    // since version 1.21 if its max_prepared_statements is not 0.
    bool pooler_keeps_statements = false;
    // The time that a query whose task was stopped has to end, before a cancel request is sent to
    // the server, which takes another connection.
    clock::duration cancel_after = std::chrono::milliseconds(5);
    // If the server has not cancelled the query by then, the connection is closed.
    clock::duration cancel_timeout = std::chrono::seconds(5);
    // Receives the server's notices ('NOTICE: table does not exist, skipping'); default: they are
    // dropped. Must not throw.
    hook<void(std::string_view)> on_notice = {};
};

struct database_options {
    // The connections: their number, their lifetime, and how long a task waits for one.
    pool_options pool = {.name = "postgres"};
    // The most connections that single queries share; the others are left to transactions and other
    // exclusive uses, which take a shared one if no other is free. Few are enough for quick
    // queries; more are better for writes that wait for a disk, since the server commits them
    // together. 0: three quarters of the pool, but no more than 16.
    std::size_t shared = 0;
    // The most queries in flight on one shared connection.
    std::size_t pipeline = 32;
};

}  // namespace weir::pg
