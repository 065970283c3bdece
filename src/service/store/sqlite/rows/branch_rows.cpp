// SPDX-License-Identifier: MIT
// The limits of a destination are those of its kind, so they are read with it.

#include "service/store/sqlite/rows/branch_rows.hpp"

#include <chrono>
#include <type_traits>

namespace weir::service::detail {

destination_row read_destination(const sqlite::row& row) {
    destination_row read;
    std::size_t next = 0;
    const auto take = [&](auto& member) {
        member = row.get<std::decay_t<decltype(member)>>(next++);
    };
    take(read.id);
    take(read.kind);
    take(read.name);
    take(read.limits.max_running);
    take(read.limits.rate);
    take(read.limits.burst);
    take(read.limits.open_after);
    read.limits.open_for = std::chrono::milliseconds(row.get<std::int64_t>(next++));
    take(read.state.running);
    take(read.state.failures);
    take(read.state.full_at);
    take(read.state.not_before);
    take(read.state.open_until);
    take(read.due);
    take(read.parked);
    take(read.turn);
    read.place = static_cast<destination_row::whereabouts>(row.get<int>(next++));
    take(read.free_at);
    return read;
}

branch_row read_branch(const sqlite::row& row) {
    branch_row read;
    std::size_t next = 0;
    const auto take = [&](auto& member) {
        member = row.get<std::decay_t<decltype(member)>>(next++);
    };
    take(read.id);
    take(read.flow);
    take(read.destination);
    take(read.tasks);
    take(read.due);
    take(read.rank);
    take(read.head);
    take(read.turn);
    read.place = static_cast<branch_row::whereabouts>(row.get<int>(next++));
    take(read.pool);
    take(read.offered);
    take(read.free_at);
    return read;
}

}  // namespace weir::service::detail
