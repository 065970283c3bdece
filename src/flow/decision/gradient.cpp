// SPDX-License-Identifier: MIT
// What a window of calls does to the limit.
//
// With c calls at a time that the callee can serve, and the latency growing with what is beyond,
// the limit settles where tolerance * c / limit = 1 - room / limit: a little above tolerance * c.
// So the callee is busy all the time, and the latency stays within a factor a little above the
// tolerance.

#include <weir/flow/decision/gradient.hpp>

#include <cmath>

namespace weir::decision {

void gradient::begin_window() noexcept {
    since_ = latest_;
    calls_ = 0;
    total_ = 0;
    most_in_flight_ = 0;
}

void gradient::halve(double latency) noexcept {
    probed_ = latency;
    probe_ = probe_ == 0 ? 2 : probe_ * 2;
}

// As long as halving makes calls faster, there was a queue.
void gradient::probe_on(double latency) noexcept {
    constexpr double clearly = 0.9;
    if (latency < clearly * probed_ && limit_ / probe_ > terms_.least) {
        halve(latency);
        return;
    }
    base_ = std::min(latency, probed_);
    probe_ = 0;
    next_probe_ = latest_ + terms_.probe_every;
}

bool gradient::shrink(clock::time_point begun) noexcept {
    if (begun < shrunk_) {
        return false;
    }
    shrunk_ = latest_;
    probe_ = 0;
    limit_ = std::max(limit_ * terms_.backoff, terms_.least);
    begin_window();
    return true;
}

void gradient::end_window() noexcept {
    const double latency = std::max(total_ / static_cast<double>(calls_), 1.0);
    const bool was_used = static_cast<double>(most_in_flight_) * 2 >= limit_;
    begin_window();
    if (probe_ != 0) {
        probe_on(latency);
        return;
    }
    if (latest_ >= next_probe_) {
        base_ = base_ == 0 ? latency : base_;
        halve(latency);
        return;
    }
    if (was_used) {
        const double slope = std::clamp(terms_.tolerance * base_ / latency, 0.5, 1.0);
        const double room = std::sqrt(limit_);  // to find out whether more would do
        const double wanted = limit_ * slope + room;
        limit_ =
            std::clamp(limit_ + terms_.smoothing * (wanted - limit_), terms_.least, terms_.most);
    }
}

}  // namespace weir::decision
