// SPDX-License-Identifier: MIT
// The order in which the addresses of a host are tried.
#pragma once

#include <weir/io/address.hpp>

#include <functional>
#include <optional>
#include <vector>

namespace weir::io::detail {

// The address that this machine would send from; none if there is no route.
using source_finder = std::function<std::optional<address>(const address& destination)>;
// Looks at the kernel's routes, without sending anything.
std::optional<address> source_for(const address& destination) noexcept;

// By RFC 6724: reachable addresses first, then matching scope and label, the precedence of the kind
// of address (::1, IPv6, IPv4, tunnels, local IPv6), the smaller scope, the longer common prefix.
// Equal addresses keep their order.
void sort_by_preference(std::vector<address>& addresses, const source_finder& source = source_for);

// By RFC 8305: the families alternate, beginning with that of the first address; each family keeps
// its order.
void interleave_families(std::vector<address>& addresses);

}  // namespace weir::io::detail
