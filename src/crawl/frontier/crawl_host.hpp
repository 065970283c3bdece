// SPDX-License-Identifier: MIT
// A host of a crawl: its durable row, and what only the running crawl knows about it.
#pragma once

#include "crawl/frontier/url_window.hpp"
#include "crawl/politeness/host_gate.hpp"

#include <weir/crawl/store.hpp>
#include <weir/http/url.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace weir::crawl {
class robots_txt;
}

namespace weir::crawl::detail {

struct crawl_host;

// All hosts at one address share a number of requests in flight.
struct address_group {
    std::size_t in_flight = 0;
    std::vector<crawl_host*> waiting;
};

struct crawl_host {
    crawl_host(host_row from, const gate_rules& rules) : row(std::move(from)), gate(rules) {}

    enum class place : std::uint8_t { none, ready, waiting, at_address };

    host_row row;
    host_gate gate;
    url_window window;
    std::deque<url_row> again;                 // retries that are due
    std::shared_ptr<const robots_txt> robots;  // null: everything is allowed
    address_group* address = nullptr;          // null: no limit by address
    bool is_address_known = false;             // was asked for in this run; it may have none
    place where = place::none;                 // for the frontier
    clock::time_point due = clock::time_point::min();  // when it got URLs, having been idle
    bool is_listed_for_refill = false;
    bool is_prepared = false;  // robots.txt is known
    clock::time_point prepared_until = clock::time_point::max();
    // robots.txt was requested, and no page since: the next request is for a page even if the time
    // between requests is longer than robots.txt may be kept.
    bool is_page_next = false;
    bool is_preparing = false;
    bool is_changed = false;       // the row differs from the store's
    bool has_credentials = false;  // the origin of a seed
    // ---- with several nodes
    host_id stored_as = 0;       // in the store, while the host belongs to this node; else 0
    bool is_withdrawn = false;   // to be given back: no more of its URLs are given out
    std::size_t taken = 0;       // URLs that the frontier has given out, and that are not settled
    std::uint64_t quiet_at = 0;  // the batch that was collected when it had become quiet; 0: not

    bool has_rows() const noexcept { return !again.empty() || !window.empty(); }
    bool is_given_up() const noexcept { return !row.given_up.empty(); }
};

}  // namespace weir::crawl::detail
