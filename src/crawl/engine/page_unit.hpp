// SPDX-License-Identifier: MIT
// Everything that one page changes: it is stored at once, or not at all.
#pragma once

#include <weir/crawl/counters.hpp>
#include <weir/crawl/page.hpp>
#include <weir/crawl/store.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::crawl::detail {

struct page_unit {
    page settled;
    std::string body;  // that settled.body refers to
    std::string raw_body;
    bool has_raw_body = false;  // settled.raw_body refers to raw_body, or to body if that is empty
    std::vector<url_row> new_urls;
    std::vector<link_row> links;
    std::array<std::uint64_t, link_refusal_count> refused{};
};

}  // namespace weir::crawl::detail
