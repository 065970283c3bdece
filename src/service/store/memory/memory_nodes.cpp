// SPDX-License-Identifier: MIT
// A node whose lease has ended stays known, so that it cannot return under the same name: its tasks
// belong to other nodes.

#include "service/store/memory/memory_nodes.hpp"

#include "service/store/worker_rules.hpp"

#include <algorithm>

namespace weir::service::detail {

heartbeat_answer memory_nodes::beat(const node_record& node, timestamp now) {
    heartbeat_answer answer;
    const std::chrono::microseconds offset = clock_offset(node, now);
    const auto [found, is_new] = nodes_.try_emplace(node.id, node);
    if (is_new) {
        found->second.expires_at += offset - node.clock_offset;
        found->second.clock_offset = offset;
    }
    const node_record& known = found->second;
    answer.clock_offset = known.clock_offset;
    const bool is_same =
        known.host == node.host && known.pid == node.pid && known.started_at == node.started_at;
    // Where the answer to its first heartbeat was lost, the node does not know of the clock yet.
    const std::chrono::microseconds ahead = known.clock_offset - node.clock_offset;
    answer.is_alive = is_new || (is_same && known.expires_at > now + ahead);
    if (answer.is_alive && !is_new) {
        found->second.expires_at = std::max(known.expires_at, node.expires_at + ahead);
    }
    return answer;
}

bool memory_nodes::add(const worker_record& worker) {
    const auto [found, is_new] = nodes_.try_emplace(worker.id);
    if (is_new) {
        found->second.id = worker.id;
        found->second.started_at = worker.started_at;
        found->second.expires_at = worker.expires_at;
        found->second.is_worker = true;
    }
    return is_new;
}

bool memory_nodes::extend(const std::string& node, timestamp expires_at) {
    node_record& known = nodes_.at(node);
    const bool is_later = expires_at >= known.expires_at;
    known.expires_at = std::max(known.expires_at, expires_at);
    return is_later;
}

bool memory_nodes::has_lease(const std::string& node, timestamp now) const {
    const auto found = nodes_.find(node);
    return found != nodes_.end() && found->second.expires_at > now;
}

std::vector<node_record> memory_nodes::with_lease() const {
    std::vector<node_record> all;
    for (const auto& [id, each] : nodes_) {
        if (each.expires_at != timestamp::min()) {
            all.push_back(each);
        }
    }
    return all;
}

void memory_nodes::retire(const std::string& node) {
    const auto found = nodes_.find(node);
    if (found != nodes_.end()) {
        found->second.expires_at = timestamp::min();
    }
}

void memory_nodes::end_expired(timestamp now) {
    for (auto& [id, node] : nodes_) {
        if (node.expires_at <= now) {
            node.expires_at = timestamp::min();
        }
    }
}

std::chrono::microseconds memory_nodes::clock_offset(const node_record& node, timestamp now) const {
    for (const auto& [id, each] : nodes_) {
        if (!each.is_worker && each.host == node.host && each.expires_at != timestamp::min() &&
            each.expires_at - each.clock_offset > now - node.clock_offset) {
            return each.clock_offset;
        }
    }
    return node.clock_offset;
}

void memory_nodes::purge(const std::set<std::string>& busy, std::chrono::seconds age,
                         timestamp now) {
    std::erase_if(nodes_, [&](const auto& each) {
        const bool is_gone =
            each.second.expires_at == timestamp::min() && !busy.contains(each.first);
        const std::chrono::seconds kept = each.second.is_worker ? session_retention : age;
        return is_gone && gone_since_.try_emplace(each.first, now).first->second <= now - kept;
    });
    std::erase_if(gone_since_, [&](const auto& each) { return !nodes_.contains(each.first); });
}

}  // namespace weir::service::detail
