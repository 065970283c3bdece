// SPDX-License-Identifier: MIT
// What an adaptive limit learns from: one call that has ended.
#pragma once

#include <weir/clock.hpp>

#include <algorithm>
#include <cstddef>

namespace weir::decision {

struct limit_sample {
    clock::time_point begun;
    clock::time_point ended;
    std::size_t in_flight = 0;  // when it began, itself included
    bool dropped = false;       // it ran into a timeout, or the callee had too much to do

    // A time stamp older than the beginning counts as the beginning.
    clock::duration latency() const noexcept {
        return std::max(ended - begun, clock::duration::zero());
    }
};

}  // namespace weir::decision
