// SPDX-License-Identifier: MIT
// How to reach a PostgreSQL, and how connections to it are used.
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
    // 'host=... dbname=...'. What it does not say comes from the environment (PGHOST, PGPASSWORD,
    // ...) and the files that psql reads, too. Host names are looked up by Weir.
    std::string_view url{};
    std::string_view application_name{};
    clock::duration connect_timeout = std::chrono::seconds(10);  // all addresses together
    // Prepared statements that a connection keeps, by their text; the one that was not used for
    // longest goes first. 0: none, for poolers such as PgBouncer that hand out another server for
    // each query.
    std::size_t kept_statements = 256;
    // A query whose task was stopped has so long to end by itself before the server is asked to
    // cancel it, which costs a connection of its own.
    clock::duration cancel_after = std::chrono::milliseconds(5);
    // If the server has not obeyed by then, the connection is dropped.
    clock::duration cancel_timeout = std::chrono::seconds(5);
    // What the server remarks ('NOTICE: table does not exist, skipping'); default: dropped. Must
    // not throw.
    hook<void(std::string_view)> on_notice = {};
};

struct database_options {
    // Of the connections: how many, how long they live, how long one is waited for.
    pool_options pool = {.name = "postgres"};
    // So many of them are shared by single queries; the rest is left to transactions and the like,
    // and if none is left, they get one of these. A few carry as many quick queries as the server
    // can answer; for writes that wait for a disk more are better, since the server commits them
    // together. 0: three quarters of the pool, but no more than 16.
    std::size_t shared = 0;
    // Queries that are sent on one shared connection before the first of them is answered.
    std::size_t pipeline = 32;
};

}  // namespace weir::pg
