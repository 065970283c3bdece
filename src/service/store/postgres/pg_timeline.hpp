// SPDX-License-Identifier: MIT
// What a failover demands of the tables: see pg_servers.hpp.
#pragma once

#include "service/store/postgres/pg_link.hpp"

#include <string>

namespace weir::service::detail {

// The first transaction on a history that the tables do not know notes it there, and gives all
// nodes that they know a new lease: the heartbeats that renewed it may be lost with the former
// primary, and nothing of a node that lives may be rescued.
void note_history(pg_link& link, const postgres_store_options& options);

// A warning if standbys follow the server asynchronously: a failover would lose what was
// acknowledged last. Otherwise empty.
std::string describe_lossy_standbys(pg_link& link);

}  // namespace weir::service::detail
