// SPDX-License-Identifier: MIT
// How not to adapt a limit. A gradient whose idea of a good latency is a long average: under a
// lasting overload the average becomes the queueing latency, which then is good, and the limit
// grows without end. And an increase that does not ask whether the limit is in use.
#pragma once

#include <weir/flow/decision/limit_sample.hpp>

#include <algorithm>
#include <cmath>

namespace flow_bulkhead {

class drifting_gradient {
public:
    explicit drifting_gradient(double initial) : limit_(initial) {}
    std::size_t limit() const { return static_cast<std::size_t>(limit_); }
    void add(const weir::decision::limit_sample& call) {
        const auto latency = static_cast<double>(call.latency().count());
        average_ = average_ == 0 ? latency : average_ + (latency - average_) / 600;
        const double slope = std::clamp(1.5 * average_ / latency, 0.5, 1.0);
        limit_ += 0.02 * (limit_ * slope + 4 - limit_);
    }

private:
    double limit_;
    double average_ = 0;
};

class unused_increase {
public:
    explicit unused_increase(double initial) : limit_(initial) {}
    std::size_t limit() const { return static_cast<std::size_t>(limit_); }
    void add(const weir::decision::limit_sample& call) {
        limit_ = call.dropped ? limit_ * 0.9 : limit_ + 1 / limit_;
    }

private:
    double limit_;
};

}  // namespace flow_bulkhead
