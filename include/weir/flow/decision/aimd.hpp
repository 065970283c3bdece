// SPDX-License-Identifier: MIT
// aimd: additive increase, multiplicative decrease. The limit grows by one for each `limit` good
// calls, and is multiplied by a factor when calls are dropped or too slow.
//
// It does not grow while less than half of it is in use, since these calls say nothing about a
// higher limit. One overload causes one decrease: calls that began before the last decrease are
// ignored. It stays within its bounds.
#pragma once

#include <weir/flow/decision/limit_sample.hpp>

namespace weir::decision {

class aimd {
public:
    struct terms {
        double initial;
        double least;
        double most;
        double backoff;                 // the factor
        clock::duration latency_limit;  // calls that take longer count as dropped; zero: no limit
    };

    explicit aimd(const terms& given) noexcept : terms_(given), limit_(given.initial) {}

    std::size_t limit() const noexcept { return static_cast<std::size_t>(limit_); }

    // True if the limit was decreased.
    bool add(const limit_sample& call) noexcept {
        const bool is_bad = call.dropped || (terms_.latency_limit.count() > 0 &&
                                             call.latency() > terms_.latency_limit);
        if (!is_bad) {
            if (static_cast<double>(call.in_flight) * 2 >= limit_) {
                limit_ = std::min(limit_ + 1 / limit_, terms_.most);
            }
            return false;
        }
        if (call.begun < shrunk_) {
            return false;
        }
        shrunk_ = call.ended;
        limit_ = std::max(limit_ * terms_.backoff, terms_.least);
        return true;
    }

private:
    terms terms_;
    double limit_;
    clock::time_point shrunk_{};
};

}  // namespace weir::decision
