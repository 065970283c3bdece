// SPDX-License-Identifier: MIT
// The schema of the PostgreSQL store: creates and upgrades its tables, and checks the server.
#pragma once

#include "service/store/postgres/pg_link.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace weir::service::detail {

// The versions of the tables: scripts[i] leads from version i to version i + 1.
struct pg_versions {
    std::span<const char* const> scripts;
    // The oldest program, by the version it was made for, that may use the newest tables.
    std::int64_t oldest_program = 0;

    std::int64_t newest() const noexcept { return std::ssize(scripts); }
    static pg_versions of_this_program() noexcept;
};

// Creates the schema and its tables, or upgrades them, in one transaction; several nodes may do so
// at once. Tables are not upgraded while programs use them that could not go on. Throws
// store_too_new, store_unavailable with the reason and what to do, or pg::error.
void prepare_schema(pg_link& link, const postgres_store_options& options,
                    const pg_versions& versions = pg_versions::of_this_program());

// Of the messages between the nodes of this store: a part of it nobody can guess.
std::string channel_name(pg_link& link, const postgres_store_options& options);

// The store_unavailable that describes an error of the server, or the error itself if it is about
// the values of a call.
[[noreturn]] void throw_as_unavailable(const pg::error& error, const std::string& schema);

}  // namespace weir::service::detail
