// SPDX-License-Identifier: MIT
// Decides how many tasks a destination may take now, from numbers that a store can keep. All stores
// use it; the caller passes the time.
#pragma once

#include "service/store/rate_bucket.hpp"

#include <weir/service/destination.hpp>
#include <weir/service/store.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace weir::service::detail {

struct destination_state {
    std::int64_t running = 0;
    std::int64_t failures = 0;    // in a row
    std::int64_t full_at = 0;     // of its rate_bucket
    std::int64_t not_before = 0;  // microseconds since 1970: the pause that it asked for
    std::int64_t open_until = 0;  // the same: its circuit; later it is half open until a success
};

class destination_gate {
public:
    destination_gate(const destination_limits& limits, destination_state& state) noexcept
        : limits_(limits), state_(state) {}

    circuit_state circuit(timestamp now) const noexcept;
    // How many tasks may start now.
    std::uint64_t room(timestamp now) const noexcept;
    // The number of running tasks allows no other, whatever the time.
    bool is_full() const noexcept;
    // When circuit, pause and rate allow a task: now, or later.
    timestamp free_at(timestamp now) const noexcept;
    // Why no task may start; empty if one may.
    std::vector<hold> holds(timestamp now) const;

    // The caller counts running tasks; these record what else a start and an end mean.
    void started(timestamp now, std::uint64_t count) noexcept;
    void ended(const destination_report& report, timestamp now) noexcept;

private:
    bool is_tripped() const noexcept;
    std::int64_t max_running() const noexcept;  // 0: no limit
    rate_bucket bucket() const noexcept { return {limits_.rate, limits_.burst, state_.full_at}; }

    const destination_limits& limits_;
    destination_state& state_;
};

}  // namespace weir::service::detail
