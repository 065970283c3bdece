// SPDX-License-Identifier: MIT
// gradient: derives the limit from latencies. While calls take about as long as without a queue,
// the limit grows; when they take longer, they queue at the callee, and the limit shrinks in
// proportion.
//
// The latency without a queue is measured from time to time: for a few calls the limit is halved,
// and halved again while that makes calls faster, so that the queue drains. A long-term average
// would not work: under a mild, lasting overload it learns that queueing is normal, and the limit
// grows without end.
//
// Decides once per window, from the calls that both began and ended in it: earlier calls reflect an
// earlier limit, and acting on them again would overshoot. A window in which less than half of the
// limit was in use is ignored. A drop decreases the limit at once, and one overload causes one
// decrease: calls that began before the last decrease are ignored. It stays within its bounds.
#pragma once

#include <weir/flow/decision/limit_sample.hpp>

namespace weir::decision {

class gradient {
public:
    struct terms {
        double initial;
        double least;
        double most;
        double backoff;            // for drops: the factor
        double tolerance;          // accepted multiple of the latency without a queue
        double smoothing;          // weight of a new result
        clock::duration window;    // minimum duration of a window
        std::size_t window_calls;  // minimum number of calls of a window
        clock::duration probe_every;
    };

    explicit gradient(const terms& given) noexcept : terms_(given), limit_(given.initial) {}

    std::size_t limit() const noexcept {
        return static_cast<std::size_t>(probe_ == 0 ? limit_
                                                    : std::max(limit_ / probe_, terms_.least));
    }
    // The latency without a queue; zero until measured.
    clock::duration base_latency() const noexcept {
        return clock::duration(static_cast<clock::rep>(base_));
    }
    bool is_probing() const noexcept { return probe_ != 0; }

    // True if the limit was decreased because of a drop.
    bool add(const limit_sample& call) noexcept {
        latest_ = std::max(latest_, call.ended);
        if (call.dropped) {
            return shrink(call.begun);
        }
        if (call.begun < since_) {
            return false;
        }
        ++calls_;
        total_ += static_cast<double>(call.latency().count());
        most_in_flight_ = std::max(most_in_flight_, call.in_flight);
        if (calls_ >= terms_.window_calls && latest_ - since_ >= terms_.window) {
            end_window();
        }
        return false;
    }

private:
    bool shrink(clock::time_point begun) noexcept;
    void end_window() noexcept;
    void halve(double latency) noexcept;
    void probe_on(double latency) noexcept;
    void begin_window() noexcept;

    terms terms_;
    double limit_;
    double base_ = 0;  // in nanoseconds
    clock::time_point latest_{};
    clock::time_point since_{};       // of the window
    clock::time_point shrunk_{};      // last decrease by a drop
    clock::time_point next_probe_{};  // the first is due at once
    double probe_ = 0;                // divisor of the limit while probing; 0: not probing
    double probed_ = 0;               // the latency before the last halving
    // In the window:
    std::size_t calls_ = 0;
    double total_ = 0;
    std::size_t most_in_flight_ = 0;
};

}  // namespace weir::decision
