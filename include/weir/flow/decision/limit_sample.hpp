// SPDX-License-Identifier: MIT
// A call that has ended: the input of adaptive limits.
#pragma once

#include <weir/clock.hpp>

#include <algorithm>
#include <cstddef>

namespace weir::decision {

struct limit_sample {
    clock::time_point begun;
    clock::time_point ended;
    std::size_t in_flight = 0;  // when it began, including itself
    bool dropped = false;       // timed out, or refused by an overloaded callee

    // Never negative, even if the clock was set back.
    clock::duration latency() const noexcept {
        return std::max(ended - begun, clock::duration::zero());
    }
};

}  // namespace weir::decision
