// SPDX-License-Identifier: MIT
// fixed_window: so many in each window, one window after the other.
//
//     weir::fixed_window quota({.limit = 1000, .window = 1h});
//
// Around the border of two windows up to twice the limit passes in a short time; sliding_window.hpp
// is strict. See limiter.hpp for waiting.
#pragma once

#include <weir/flow/decision/fixed_window.hpp>
#include <weir/flow/limiter.hpp>

namespace weir {

struct fixed_window_options;
using fixed_window = limiter<decision::fixed_window, fixed_window_options>;

struct fixed_window_options {
    using policy_type = fixed_window;

    double limit = 0;                                  // at most so many
    clock::duration window = std::chrono::seconds(1);  // in each such time
    std::size_t max_waiting = 65536;                   // 0: nobody waits
    weir::when_full when_full = weir::when_full::refuse_newest;
    queue_order order = queue_order::oldest_first;
    clock::duration max_wait = clock::duration::max();  // longer ones are refused at once
    std::string_view name{};
    weir::observer* observer = nullptr;

    decision::window_limits limiter_limits() const noexcept { return {limit, window}; }
    detail::line_options line() const noexcept {
        return {"fixed_window", name, max_waiting, when_full, order, max_wait, observer};
    }
};

}  // namespace weir
