// SPDX-License-Identifier: MIT
// How a window of calls changes the limit.
//
// If the callee can serve c calls concurrently, and the latency grows with the excess, the limit
// settles where tolerance * c / limit = 1 - room / limit: slightly above tolerance * c. The callee
// is always busy, and the latency stays within a factor slightly above the tolerance.

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

// If halving the limit makes calls faster, there was a queue: halve again.
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
        const double room = std::sqrt(limit_);  // allowance to probe for more
        const double wanted = limit_ * slope + room;
        limit_ =
            std::clamp(limit_ + terms_.smoothing * (wanted - limit_), terms_.least, terms_.most);
    }
}

}  // namespace weir::decision
