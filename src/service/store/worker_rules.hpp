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

// Which runs a heartbeat gives back, of those that it does not list. A run of a poll that was
// answered when the list was made has ended or has never arrived, however late the heartbeat comes.
// Others may be on their way, so they are given back only if they were claimed before a heartbeat
// that lies back far enough.
class unlisted_runs {
public:
    // `known_claim`: the last poll that had claimed tasks at `counted_at`, when the last heartbeat
    // came that counts.
    unlisted_runs(const worker_beat& beat, bool is_overtaken, std::uint64_t known_claim,
                  timestamp counted_at, timestamp now) noexcept
        : answered_(beat.answered_poll.value_or(0)),
          known_claim_(known_claim),
          counts_(!is_overtaken &&
                  now - counted_at >=
                      (beat.answered_poll.has_value() ? worker_stuck_after : min_beat_gap)),
          looks_back_(!is_overtaken && (counts_ || !beat.answered_poll.has_value())) {}

    bool is_given_back(std::uint64_t poll) const noexcept {
        return poll <= answered_ || (looks_back_ && poll <= known_claim_);
    }
    // This heartbeat is the one that later ones are compared with.
    bool counts() const noexcept { return counts_; }

private:
    std::uint64_t answered_;
    std::uint64_t known_claim_;
    bool counts_;
    bool looks_back_;
};

// Why no worker takes a task, which nothing else holds up: `takers` are the sessions that have a
// lease and get such tasks. Empty: one waits for tasks.
std::optional<hold::reason> reason_of(std::span<const worker_status> takers,
                                      timestamp now) noexcept;

}  // namespace weir::service::detail
