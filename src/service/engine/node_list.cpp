// SPDX-License-Identifier: MIT
// A store keeps nodes for a while after their lease has ended, so that they learn of it. A node
// that tells no news was last heard of by a heartbeat, if its lease is as long as that of this one.

#include "service/engine/node_list.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

namespace weir::service::detail {

namespace {

std::chrono::microseconds to_microseconds(clock::duration time) {
    return std::chrono::floor<std::chrono::microseconds>(time);
}

node_info info_of(const node_record& record, moment now, const std::string& self) {
    node_info info;
    static_cast<node_record&>(info) = record;
    info.is_alive = record.expires_at > now.steady;
    if (info.is_alive) {
        info.lease_until = now.calendar_of(record.expires_at);
    }
    info.is_self = !self.empty() && record.id == self;
    return info;
}

}  // namespace

task<std::vector<node_info>> list_nodes(store_client& store, moment now, std::string self,
                                        const other_nodes& heard, clock::duration lease,
                                        std::size_t most) {
    const std::vector<node_record> records = co_await store.call(store->nodes());
    std::vector<node_info> found;
    for (const node_record& each : records) {
        if (each.is_worker) {
            continue;  // listed by store::workers()
        }
        found.push_back(info_of(each, now, self));
    }
    std::ranges::sort(found, [](const node_info& one, const node_info& other) {
        return std::tuple(other.is_alive, other.started_at, one.id) <
               std::tuple(one.is_alive, one.started_at, other.id);
    });
    if (found.size() > most) {
        found.resize(most);
    }
    for (node_info& each : found) {
        const std::vector<run_key> runs = co_await store.call(store->running_on(each.id));
        each.running = runs.size();
        if (const auto at = heard.heard_at(each.id)) {
            each.heard_at = now.at - to_microseconds(weir::now() - *at);
        } else if (each.is_self) {
            each.heard_at = now.at;
        } else if (each.lease_until) {
            each.heard_at = *each.lease_until - to_microseconds(lease);
        }
    }
    co_return found;
}

}  // namespace weir::service::detail
