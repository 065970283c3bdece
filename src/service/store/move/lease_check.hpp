// SPDX-License-Identifier: MIT
// Which processes serve a store, by their leases.
#pragma once

#include "service/store/sql_session.hpp"

#include <weir/service/store.hpp>

#include <optional>

namespace weir::service::detail {

// Of the loop's clock. On a loop.
timestamp loop_timestamp();

// Throws store_unavailable if a process has a lease on the store, but for this one if
// `ignores_itself`.
void check_is_unserved(sql_session& session, timestamp loop_time, bool ignores_itself);

// The time of the steady clock by which this process has its lease; empty: it has none.
std::optional<timestamp> steady_time_of_node(sql_session& session, timestamp loop_time);

}  // namespace weir::service::detail
