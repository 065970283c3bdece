// SPDX-License-Identifier: MIT
// Counts of the whole crawl are gauges where pages can be made pending again, counters otherwise.
// Hosts are not labels: a crawl has too many.

#include "crawl/engine/crawl_metrics.hpp"

#include <array>
#include <chrono>
#include <utility>

namespace weir::crawl::detail {

namespace {

double number(std::uint64_t value) {
    return static_cast<double>(value);
}

void write_urls(metric_writer& to, const counters& totals) {
    const std::array<std::pair<std::string_view, std::uint64_t>, 4> states = {{
        {"done", totals.done},
        {"failed", totals.failed},
        {"skipped", totals.skipped},
        {"pending", totals.pending()},
    }};
    for (const auto& [state, count] : states) {
        to.gauge("weir_crawl_urls", "URLs that the crawl knows, by state.", {{"state", state}},
                 number(count));
    }
}

void write_refused_links(metric_writer& to, const counters& totals) {
    for (std::size_t i = 1; i < link_refusal_count; ++i) {
        to.counter("weir_crawl_links_refused_total", "Links that were not followed, by reason.",
                   {{"reason", name_of(static_cast<link_refusal>(i))}}, number(totals.refused[i]));
    }
}

}  // namespace

void write_crawl_metrics(metric_writer& to, const crawl_progress& now) {
    write_urls(to, now.totals);
    write_refused_links(to, now.totals);
    to.counter("weir_crawl_pages_total", "Pages that this run has settled.", {},
               number(now.fetched));
    to.counter("weir_crawl_retries_total", "Attempts after the first one of a page.", {},
               number(now.totals.retries));
    to.counter("weir_crawl_bytes_total", "Bytes of bodies, decompressed.", {},
               number(now.totals.bytes));
    to.counter("weir_crawl_wire_bytes_total", "Bytes of bodies, as they came.", {},
               number(now.totals.wire_bytes));
    to.gauge("weir_crawl_in_flight", "Requests that are under way.", {}, number(now.in_flight));
    to.gauge("weir_crawl_retrying", "Pages that wait for another attempt.", {},
             number(now.retrying));
    to.gauge("weir_crawl_hosts", "Hosts that have pending URLs.", {}, number(now.hosts));
    to.gauge("weir_crawl_hosts_ready", "Hosts that may be asked now.", {}, number(now.hosts_ready));
    to.gauge("weir_crawl_oldest_request_age_seconds", "Age of the oldest request under way.", {},
             std::chrono::duration<double>(now.oldest_age).count());
}

}  // namespace weir::crawl::detail
