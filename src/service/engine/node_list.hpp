// SPDX-License-Identifier: MIT
// The processes on a store, as people see them.
#pragma once

#include "service/engine/store_client.hpp"

#include <weir/service/service.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace weir::service::detail {

// Those with a lease first, then the newest; at most `most`. `self` is the node that asks, if any.
task<std::vector<node_info>> list_nodes(store_client& store, moment now, std::string self,
                                        std::size_t most);

}  // namespace weir::service::detail
