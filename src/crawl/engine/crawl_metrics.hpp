// SPDX-License-Identifier: MIT
// What a crawl counts, as metrics.
#pragma once

#include <weir/crawl/crawler.hpp>
#include <weir/flow/telemetry.hpp>

namespace weir::crawl::detail {

void write_crawl_metrics(metric_writer& to, const crawl_progress& now);

}  // namespace weir::crawl::detail
