// SPDX-License-Identifier: MIT
// The nodes of a memory_store and their leases.
#pragma once

#include <weir/service/store.hpp>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace weir::service::detail {

class memory_nodes {
public:
    // Registers the node or renews its lease. The answer has no cancelled runs.
    heartbeat_answer beat(const node_record& node, timestamp now);
    // A session of a worker. False: the id is taken.
    bool add(const worker_record& worker);
    // False: the lease lasts longer already.
    bool extend(const std::string& node, timestamp expires_at);
    bool contains(const std::string& node) const { return nodes_.contains(node); }
    timestamp expires_at(const std::string& node) const { return nodes_.at(node).expires_at; }
    bool has_lease(const std::string& node, timestamp now) const;
    std::vector<node_record> with_lease() const;
    void retire(const std::string& node);
    // Leases that have passed end for good.
    void end_expired(timestamp now);
    // Removes nodes that are not busy and were found gone so long ago; sessions of workers earlier.
    void purge(const std::set<std::string>& busy, std::chrono::seconds age, timestamp now);

private:
    // That of another node of its host with a lease; its own if there is none.
    std::chrono::microseconds clock_offset(const node_record& node, timestamp now) const;

    std::map<std::string, node_record> nodes_;  // expires_at is min() once the lease has ended
    std::map<std::string, timestamp> gone_since_;
};

}  // namespace weir::service::detail
