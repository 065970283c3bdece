// SPDX-License-Identifier: MIT
// What a new connection needs before its first query.
//
// Some settings change how the server writes values: numbers may be rounded, dates written in
// another order. They may come from the URL, the role, the database or the server's configuration,
// so they are set again for each connection.
//
// A pooler such as PgBouncer may use another server connection for each transaction: settings and
// prepared statements of a session do not belong to the client then. It gives its clients process
// numbers of its own, so a connection is pooled if the server's process has another number. The
// settings of a pooled connection are not changed, since other clients would meet them, but
// checked.
#pragma once

#include "db/pg/session/libpq.hpp"

#include <weir/task.hpp>

#include <string>

namespace weir::pg::detail {

struct opened_connection {
    connection_ptr connection;
    bool is_pooled = false;
    bool waits_for_standbys = false;  // commits are answered when a standby has them, too
};

// Throws connection_error; server is its name in messages.
task<opened_connection> set_up(connection_ptr opened, std::string server);

}  // namespace weir::pg::detail
