// SPDX-License-Identifier: MIT
// The page /metrics of `weir crawl --metrics ADDRESS`.
#pragma once

#include <weir/crawl/crawler.hpp>
#include <weir/io/address.hpp>
#include <weir/io/listener.hpp>
#include <weir/task.hpp>

namespace weir::program {

class crawl_metrics_page {
public:
    // Listens, and says where. Throws io_error if the address is taken.
    crawl_metrics_page(const io::address& at, const crawl::crawler& of);

    // Until it is cancelled. Once.
    task<> run();

private:
    io::listener listener_;
    const crawl::crawler& crawler_;
};

}  // namespace weir::program
