// SPDX-License-Identifier: MIT
// The columns are in the order of queue_columns and flow_columns.

#include "service/store/sqlite/rows/queue_rows.hpp"

#include <algorithm>
#include <type_traits>

namespace weir::service::detail {

std::uint64_t flow_row::room(const queue_limits& limits, timestamp now) const noexcept {
    if (own.is_paused || is_full(limits)) {
        return 0;
    }
    const std::uint32_t most = own.max_running_in(limits);
    const std::uint64_t available = bucket(limits).available(now);
    return most == 0 ? available : std::min(available, most - static_cast<std::uint64_t>(running));
}

queue_row read_queue(const sqlite::row& row) {
    queue_row read;
    std::size_t next = 0;
    const auto take = [&](auto& member) {
        member = row.get<std::decay_t<decltype(member)>>(next++);
    };
    take(read.id);
    take(read.name);
    take(read.is_paused);
    take(read.limits.max_pending);
    take(read.limits.max_running);
    take(read.limits.rate);
    take(read.limits.burst);
    take(read.limits.key_max_running);
    take(read.limits.key_rate);
    take(read.limits.key_burst);
    for (std::uint64_t& each : read.counts) {
        take(each);
    }
    take(read.due);
    take(read.turn);
    take(read.full_at);
    take(read.keys_set);
    return read;
}

std::string qualified(std::string_view table, std::string_view columns) {
    std::string all = std::string(table) + ".";
    for (const char each : columns) {
        all += each;
        if (each == ' ') {  // after a comma
            all.append(table).append(".");
        }
    }
    return all;
}

flow_row read_flow(const sqlite::row& row, std::size_t first) {
    flow_row read;
    std::size_t next = first;
    const auto take = [&](auto& member) {
        member = row.get<std::decay_t<decltype(member)>>(next++);
    };
    take(read.id);
    take(read.queue);
    take(read.key);
    take(read.tasks);
    take(read.due);
    take(read.running);
    take(read.turn);
    take(read.full_at);
    read.place = static_cast<flow_row::whereabouts>(row.get<int>(next++));
    take(read.free_at);
    take(read.ready_branches);
    take(read.own.is_paused);
    take(read.own.max_running);
    take(read.own.rate);
    take(read.own.burst);
    take(read.held_branches);
    std::optional<std::int64_t> rank;
    std::optional<std::int64_t> id;
    take(rank);
    take(id);
    if (rank.has_value() && id.has_value()) {
        read.head = {*rank, *id};
    }
    return read;
}

}  // namespace weir::service::detail
