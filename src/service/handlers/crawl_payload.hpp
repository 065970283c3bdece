// SPDX-License-Identifier: MIT
// The payload of a task of kind 'crawl'.
#pragma once

#include <weir/crawl/crawl_options.hpp>

#include <boost/json/value.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace weir::service::detail {

struct crawl_payload {
    crawl_payload() = default;

    crawl::crawl_options options;
    bool is_check = false;
    std::vector<std::pair<int, int>> accepted;  // statuses
    std::size_t max_listed = 100;               // broken links, or failed pages, in the result
};

// Throws permanent_failure that names the member, its value and what is expected.
crawl_payload read_crawl_payload(const boost::json::value& payload);

}  // namespace weir::service::detail
