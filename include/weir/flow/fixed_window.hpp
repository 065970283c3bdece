// SPDX-License-Identifier: MIT
// fixed_window: at most `limit` requests in each window; windows follow one another.
//
//     weir::fixed_window quota({.limit = 1000, .window = 1h});
//
// Around the border of two windows up to twice the limit is admitted in a short time;
// sliding_window.hpp is strict. limiter.hpp describes waiting and the common options.
#pragma once

#include <weir/flow/decision/fixed_window_decision.hpp>
#include <weir/flow/limiter.hpp>

namespace weir {

struct fixed_window_options;
using fixed_window = limiter<decision::fixed_window, fixed_window_options>;

struct fixed_window_options {
    using policy_type = fixed_window;
    static constexpr std::string_view kind = "fixed_window";

    double limit = 0;                                  // requests ...
    clock::duration window = std::chrono::seconds(1);  // ... in each window of this length
    std::size_t max_waiting = 65536;
    weir::when_full when_full = weir::when_full::refuse_newest;
    queue_order order = queue_order::oldest_first;
    clock::duration max_wait = clock::duration::max();
    std::string_view name{};
    weir::observer* observer = nullptr;

    decision::window_limits limiter_limits() const noexcept { return {limit, window}; }
};

}  // namespace weir
