// SPDX-License-Identifier: MIT
// shared_crawl: what a store offers besides if several nodes work on its crawl. Each host belongs
// to one node at a time, which alone requests its URLs; the others give it the URLs that they find.
//
// A node joins and gets a number. It polls, which renews its lease: a poll gives it hosts, and the
// new URLs of the hosts that it has. A node whose lease has run out loses its hosts to the others;
// from then on everything that it calls throws lease_lost and changes nothing.
#pragma once

#include <weir/crawl/counters.hpp>
#include <weir/crawl/store.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::crawl {

// The other nodes took this one for dead, and continue what it had. Its run has ended; a new run on
// the same store joins again.
class lease_lost : public store_error {
public:
    using store_error::store_error;
};

struct join_request {
    join_request() = default;

    std::string identity;  // as for store::open
    bool accept_changes = false;
    std::uint64_t max_pages = 0;  // of all nodes together, exactly
    std::uint64_t max_pages_per_host = 0;
    // Sinks of this node. One that another living node of the same name writes is refused.
    std::vector<std::string> outputs;
};

struct returned_host {
    host_id id = 0;          // in the store
    timestamp not_before{};  // no request before
};

struct poll_request {
    poll_request() = default;

    url_id after = 0;         // the last answer's `admitted`
    bool wants_hosts = true;  // false: this node is about to leave
    std::vector<returned_host> returned;
};

struct poll_answer {
    poll_answer() = default;

    counters totals;            // of all nodes
    url_id admitted = 0;        // no URLs behind it may be requested now
    bool is_over = false;       // all URLs up to it are settled, by any node
    std::vector<host_row> got;  // hosts that belong to this node from now on, by ids of the store
    // Pending URLs after `after` up to `admitted` of the hosts that this node had before.
    std::vector<url_row> urls;
    std::size_t surplus = 0;  // hosts that this node has too many of: others have too few
};

// One call at a time, commits of the store apart.
class shared_crawl {
public:
    shared_crawl(const shared_crawl&) = delete;
    shared_crawl& operator=(const shared_crawl&) = delete;
    virtual ~shared_crawl() = default;

    // As store::open, for a node. The answer has no hosts. Waits as long as a lease lasts for a
    // node that has the same outputs: it may have been killed just now.
    virtual task<saved_crawl> join(join_request request) = 0;
    virtual task<poll_answer> poll(poll_request request) = 0;
    // Gives all hosts back. Nothing if the node has left.
    virtual task<> leave() = 0;

protected:
    shared_crawl() = default;
};

}  // namespace weir::crawl
