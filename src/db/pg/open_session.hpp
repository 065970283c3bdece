// SPDX-License-Identifier: MIT
// From options to a connection that takes queries.
#pragma once

#include "db/pg/session/connector.hpp"
#include "db/pg/session/session.hpp"

#include <weir/db/pg/connection.hpp>

#include <memory>

namespace weir::pg::detail {

// Throws invalid_argument for those that make no sense.
void check(const connect_options& options);
task<connection> open_session(std::shared_ptr<const endpoint> at, session_settings settings);

}  // namespace weir::pg::detail
