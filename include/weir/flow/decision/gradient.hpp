// SPDX-License-Identifier: MIT
// gradient: finds the limit from latencies. As long as calls take about as long as they do without
// a queue, the limit grows; when they take longer, calls queue up at the callee, and it shrinks in
// proportion.
//
// How long calls take without a queue is measured, from time to time: for a few calls the limit is
// halved, and halved again as long as that makes calls faster, so that the queue drains. An average
// over a longer time would not do: under a mild, lasting overload it learns that queueing is
// normal, and the limit grows without end.
//
// Decides once per window, by the calls that both began and ended in it: what began earlier tells
// about an earlier limit, and acting on it again would overshoot. Nothing is learned from a window
// in which less than half of the limit was in use. A drop shrinks the limit at once, and one
// overload is one decrease: calls that began before the last one say nothing about the limit after
// it. Never leaves its bounds.
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
        double tolerance;          // so many times the latency without a queue is well
        double smoothing;          // the share of a new result in the limit
        clock::duration window;    // a window has so much time at least,
        std::size_t window_calls;  // and so many calls
        clock::duration probe_every;
    };

    explicit gradient(const terms& given) noexcept : terms_(given), limit_(given.initial) {}

    std::size_t limit() const noexcept {
        return static_cast<std::size_t>(probe_ == 0 ? limit_
                                                    : std::max(limit_ / probe_, terms_.least));
    }
    // The latency without a queue; zero until it is known.
    clock::duration base_latency() const noexcept {
        return clock::duration(static_cast<clock::rep>(base_));
    }
    bool is_probing() const noexcept { return probe_ != 0; }

    // True if it has shrunk because of drops.
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
    clock::time_point shrunk_{};      // by a drop, last
    clock::time_point next_probe_{};  // the first comes soon
    double probe_ = 0;   // what the limit is divided by meanwhile; 0: it is not probing
    double probed_ = 0;  // the latency before the last halving
    // In the window:
    std::size_t calls_ = 0;
    double total_ = 0;
    std::size_t most_in_flight_ = 0;
};

}  // namespace weir::decision
