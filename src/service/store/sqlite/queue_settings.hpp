// SPDX-License-Identifier: MIT
// Writes the limits of queues and of destinations.
#pragma once

#include "service/store/sql_session.hpp"

#include <weir/service/destination.hpp>
#include <weir/service/queue.hpp>

#include <string_view>

namespace weir::service::detail {

// See the store. Creates the queue if it does not exist.
void limit_queue(sql_session& session, std::string_view name, const queue_limits& limits);
void limit_destinations_of(sql_session& session, std::string_view kind,
                           const destination_limits& limits);

}  // namespace weir::service::detail
