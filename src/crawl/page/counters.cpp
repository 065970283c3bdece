// SPDX-License-Identifier: MIT
// The names of refusals, in a table whose order is that of the enumeration.

#include <weir/crawl/counters.hpp>

namespace weir::crawl {

namespace {

constexpr std::array<std::string_view, link_refusal_count> refusal_names = {
    "none",    "invalid",    "scheme",       "scope",     "excluded",  "nofollow",
    "depth",   "length",     "segments",     "host_full", "page_full", "crawl_full",
    "refused", "not_a_page", "pattern_full", "equal_body"};

}  // namespace

std::string_view name_of(link_refusal why) noexcept {
    return refusal_names[static_cast<std::size_t>(why)];
}

}  // namespace weir::crawl
