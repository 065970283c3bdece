// SPDX-License-Identifier: MIT
// The result of a task of kind 'crawl'.
#pragma once

#include "service/handlers/crawl_payload.hpp"

#include <weir/crawl/crawler.hpp>
#include <weir/task.hpp>

#include <boost/json/value.hpp>

#include <string>

namespace weir::service::detail {

// Counts, and the broken links or the failed pages, up to a number and a size.
task<boost::json::value> crawl_result(const crawl_payload& request,
                                      const crawl::crawl_summary& summary, crawl::store& store);
// '120 done, 3 failed, 40 pending'.
std::string counts_text(const crawl::counters& totals);

}  // namespace weir::service::detail
