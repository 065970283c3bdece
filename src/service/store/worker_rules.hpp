// SPDX-License-Identifier: MIT
// What all stores decide alike about sessions of workers.
#pragma once

#include <weir/service/store.hpp>

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace weir::service::detail {

// A session that has ended is forgotten after this: it never comes back under its id, but repeats
// of its last results may.
inline constexpr std::chrono::seconds session_retention = std::chrono::hours(1);

// Whether the session gets such tasks, while it has a lease.
inline bool takes(const worker_status& worker, const std::string& kind, const std::string& queue) {
    return !worker.is_draining && std::ranges::find(worker.kinds, kind) != worker.kinds.end() &&
           (worker.queues.empty() ||
            std::ranges::find(worker.queues, queue) != worker.queues.end());
}

// Why no worker takes a task, which nothing else holds up: `takers` are the sessions that have a
// lease and get such tasks. Empty: one waits for tasks.
std::optional<hold::reason> reason_of(std::span<const worker_status> takers,
                                      timestamp now) noexcept;

}  // namespace weir::service::detail
