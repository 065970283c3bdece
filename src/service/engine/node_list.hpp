// SPDX-License-Identifier: MIT
// The processes on a store, as people see them.
#pragma once

#include "service/cluster/other_nodes.hpp"
#include "service/engine/store_client.hpp"

#include <weir/service/service.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace weir::service::detail {

// Those with a lease first, then the newest; at most `most`. `self` is the node that asks, if any;
// `heard` are those that it hears of, `lease` the length of its leases.
task<std::vector<node_info>> list_nodes(store_client& store, moment now, std::string self,
                                        const other_nodes& heard, clock::duration lease,
                                        std::size_t most);

}  // namespace weir::service::detail
