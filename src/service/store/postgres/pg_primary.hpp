// SPDX-License-Identifier: MIT
// Finds the primary, or a standby, among the servers of a URL.
#pragma once

#include "service/store/postgres/pg_servers.hpp"

#include <weir/clock.hpp>
#include <weir/db/pg/connection.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <string>

namespace weir::service::detail {

// What a server tells about itself.
struct pg_identity {
    int process = 0;  // that serves the connection
    bool is_standby = false;
    pg_history history;
};

// One row for read_identity(). Without the history: some servers do not tell it, or not this role.
const char* identity_sql(bool with_history) noexcept;
pg_identity read_identity(const pg::row& row);

struct pg_primary {
    pg::connection connection;
    pg_identity is;
    std::uint64_t generation;  // of the servers
};

// A connection to the primary. While the primary is known, it is asked alone. Throws
// pg::connection_error with what each server has answered if none is a primary, or only one that
// has a successor.
task<pg_primary> find_primary(pg_servers& servers, clock::duration connect_timeout,
                              std::string application_name);
// A connection to the first server that answers, which may have become a primary: it is the same
// database. Throws the error of the last one if none answers.
task<pg_primary> find_standby(pg_servers& servers, clock::duration connect_timeout,
                              std::string application_name);

}  // namespace weir::service::detail
