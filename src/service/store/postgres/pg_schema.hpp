// SPDX-License-Identifier: MIT
// The schema of the PostgreSQL store: creates and upgrades its tables, and checks the server.
#pragma once

#include "service/store/postgres/pg_link.hpp"

#include <string>

namespace weir::service::detail {

// Creates the schema and its tables, or upgrades them, in one transaction; several nodes may do so
// at once. Throws store_unavailable with the reason and what to do, or pg::error.
void prepare_schema(pg_link& link, const postgres_store_options& options);

// The store_unavailable that describes an error of the server, or the error itself if it is about
// the values of a call.
[[noreturn]] void throw_as_unavailable(const pg::error& error, const std::string& schema);

}  // namespace weir::service::detail
