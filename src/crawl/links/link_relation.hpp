// SPDX-License-Identifier: MIT
// What the relation of a <link>, or of the header Link, makes of a link.
#pragma once

#include <weir/crawl/page_link.hpp>

#include <optional>
#include <string_view>

namespace weir::crawl::detail {

// None: nothing to fetch, as for 'preconnect', or no relation at all.
std::optional<link_kind> kind_of_relation(std::string_view rel);

}  // namespace weir::crawl::detail
