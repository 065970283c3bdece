// SPDX-License-Identifier: MIT
// `weir crawl why URL STATE`: what became of a URL, what a pending one waits for, and which rule
// refused one that the crawl does not have.
#pragma once

#include <weir/crawl/store.hpp>
#include <weir/http/url.hpp>
#include <weir/task.hpp>

namespace weir::program {

// Prints it; the exit code.
task<int> explain_url(crawl::store& store, const http::url& url);

}  // namespace weir::program
