// SPDX-License-Identifier: MIT
// The names of link kinds, in a table whose order is that of the enumeration.

#include <weir/crawl/page_link.hpp>

#include <array>
#include <cstddef>

namespace weir::crawl {

namespace {

constexpr std::array<std::string_view, 18> link_names = {
    "seed",       "redirect",  "refresh",   "anchor",   "area",  "frame",
    "next",       "alternate", "canonical", "sitemap",  "image", "candidate",
    "stylesheet", "script",    "media",     "embedded", "other", "sitemap_file"};

}  // namespace

std::string_view name_of(link_kind kind) noexcept {
    return link_names[static_cast<std::size_t>(kind)];
}

std::optional<link_kind> link_kind_named(std::string_view name) noexcept {
    for (std::size_t i = 0; i < link_names.size(); ++i) {
        if (link_names[i] == name) {
            return static_cast<link_kind>(i);
        }
    }
    return std::nullopt;
}

}  // namespace weir::crawl
