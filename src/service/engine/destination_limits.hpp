// SPDX-License-Identifier: MIT
// Tells the store the limits of the destinations of each kind, before the first claim.
#pragma once

#include "service/engine/handler_registry.hpp"
#include "service/engine/store_client.hpp"

namespace weir::service::detail {

// Both must outlive the task. Retries while the store is unavailable.
task<> limit_destinations(store_client& store, const handler_registry& handlers);

}  // namespace weir::service::detail
