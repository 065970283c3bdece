// SPDX-License-Identifier: MIT
// A circuit that has opened stays tripped until a run succeeds. Until open_until nothing runs;
// after that one task at a time, as a trial. Runs that began before the circuit opened count as
// well: their success closes it, and while one of them runs, no trial starts.

#include "service/store/destination_gate.hpp"

#include <algorithm>
#include <limits>

namespace weir::service::detail {

namespace {

std::int64_t microseconds_of(timestamp at) noexcept {
    return at.time_since_epoch().count();
}

timestamp timestamp_of(std::int64_t microseconds) noexcept {
    return timestamp(std::chrono::microseconds(microseconds));
}

}  // namespace

bool destination_gate::is_tripped() const noexcept {
    return limits_.open_after > 0 && state_.failures >= limits_.open_after;
}

std::int64_t destination_gate::max_running() const noexcept {
    return is_tripped() ? 1 : limits_.max_running;
}

circuit_state destination_gate::circuit(timestamp now) const noexcept {
    if (!is_tripped()) {
        return circuit_state::closed;
    }
    return microseconds_of(now) < state_.open_until ? circuit_state::open
                                                    : circuit_state::half_open;
}

bool destination_gate::is_full() const noexcept {
    return max_running() > 0 && state_.running >= max_running();
}

timestamp destination_gate::free_at(timestamp now) const noexcept {
    timestamp at = std::max(bucket().next(now), timestamp_of(state_.not_before));
    if (is_tripped()) {
        at = std::max(at, timestamp_of(state_.open_until));
    }
    return at;
}

std::uint64_t destination_gate::room(timestamp now) const noexcept {
    if (free_at(now) > now || is_full()) {
        return 0;
    }
    const std::uint64_t places = max_running() > 0
                                     ? static_cast<std::uint64_t>(max_running() - state_.running)
                                     : std::numeric_limits<std::uint64_t>::max();
    return std::min(places, bucket().available(now));
}

std::vector<hold> destination_gate::holds(timestamp now) const {
    std::vector<hold> all;
    const auto add = [&](hold::reason why, std::optional<timestamp> until = {}) {
        hold& added = all.emplace_back();
        added.why = why;
        added.until = until;
    };
    if (circuit(now) == circuit_state::open) {
        add(hold::reason::destination_circuit, timestamp_of(state_.open_until));
    } else if (circuit(now) == circuit_state::half_open && is_full()) {
        add(hold::reason::destination_circuit);  // until the trial has ended
    }
    if (timestamp_of(state_.not_before) > now) {
        add(hold::reason::destination_pause, timestamp_of(state_.not_before));
    }
    if (limits_.max_running > 0 && state_.running >= limits_.max_running) {
        add(hold::reason::destination_full);
    }
    if (bucket().available(now) == 0) {
        add(hold::reason::destination_rate, bucket().next(now));
    }
    return all;
}

void destination_gate::started(timestamp now, std::uint64_t count) noexcept {
    rate_bucket rate = bucket();
    rate.take(now, count);
    state_.full_at = rate.full_at();
}

void destination_gate::ended(const destination_report& report, timestamp now) noexcept {
    state_.not_before = std::max(state_.not_before, microseconds_of(report.not_before));
    if (report.outcome == destination_outcome::answered) {
        state_.failures = 0;
        state_.open_until = 0;
    } else if (report.outcome == destination_outcome::failed) {
        state_.failures =
            std::min(state_.failures + 1, std::int64_t{std::numeric_limits<std::uint32_t>::max()});
        // A run that began before the circuit opened does not keep it open for longer.
        if (is_tripped() && state_.open_until <= microseconds_of(now)) {
            state_.open_until = microseconds_of(now + limits_.open_for);
        }
    }
}

}  // namespace weir::service::detail
