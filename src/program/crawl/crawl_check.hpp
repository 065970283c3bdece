// SPDX-License-Identifier: MIT
// The report of `weir crawl --check`, and the explanations of --dry-run.
#pragma once

#include "program/crawl/crawl_settings.hpp"

#include <weir/crawl/store.hpp>
#include <weir/task.hpp>

namespace weir::program {

// Prints the report; 3 if links are broken, 0 if not.
task<int> report_links(const crawl_settings& settings, crawl::store& store);
// Prints every link of the pages in the store, and why it is followed or not.
task<> explain_links(crawl::store& store);

}  // namespace weir::program
