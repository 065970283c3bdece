// SPDX-License-Identifier: MIT
// A server with one path. Scrapers ask a few times a minute, so it has few connections.

#include "program/crawl/crawl_metrics_page.hpp"

#include <weir/flow/process_metrics.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/http/response.hpp>
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>

#include <cstdio>
#include <string>
#include <utility>

namespace weir::program {

namespace {

constexpr std::size_t most_connections = 16;

http::response metrics_of(const crawl::crawler& crawler, const process_metrics& process) {
    prometheus_writer page;
    crawler.write_metrics(page);
    process.write_metrics(page);
    return http::response(http::status::ok, "text/plain; version=0.0.4; charset=utf-8",
                          page.text());
}

}  // namespace

crawl_metrics_page::crawl_metrics_page(const io::address& at, const crawl::crawler& of)
    : listener_(io::listen(at)), crawler_(of) {
    const io::address bound = listener_.local_address();
    const bool is_path = bound.kind() == io::address::family::local;
    std::fprintf(stderr, "metrics: %s%s%s\n", is_path ? "" : "http://", bound.text().c_str(),
                 is_path ? "" : "/metrics");
}

task<> crawl_metrics_page::run() {
    const process_metrics process;
    http::router app;
    app.get("/metrics", [this, &process] { return metrics_of(crawler_, process); });
    http::server_options options;
    options.connections.max_connections = most_connections;
    co_await http::serve(std::move(listener_), std::move(app), options);
}

}  // namespace weir::program
