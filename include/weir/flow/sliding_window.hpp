// SPDX-License-Identifier: MIT
// sliding_window: in any window of time, wherever it begins, at most `limit` requests.
//
//     weir::sliding_window limit({.limit = 5, .window = 1s});
//
// The strict limiter: exact to the nanosecond, at 16 bytes for each grant within a window.
// sliding_window_counter needs two numbers only and may admit more; decision/sliding_counter.hpp
// states its guarantee. limiter.hpp describes waiting and the common options.
#pragma once

#include <weir/flow/decision/sliding_counter.hpp>
#include <weir/flow/decision/sliding_log.hpp>
#include <weir/flow/limiter.hpp>

namespace weir {

struct sliding_window_options;
using sliding_window = limiter<decision::sliding_log, sliding_window_options>;

struct sliding_window_options {
    using policy_type = sliding_window;
    static constexpr std::string_view kind = "sliding_window";

    double limit = 0;                                  // requests ...
    clock::duration window = std::chrono::seconds(1);  // ... in any window of this length
    std::size_t max_waiting = 65536;
    weir::when_full when_full = weir::when_full::refuse_newest;
    queue_order order = queue_order::oldest_first;
    clock::duration max_wait = clock::duration::max();
    std::string_view name{};
    weir::observer* observer = nullptr;

    decision::window_limits limiter_limits() const noexcept { return {limit, window}; }
};

struct sliding_window_counter_options;
using sliding_window_counter = limiter<decision::sliding_counter, sliding_window_counter_options>;

struct sliding_window_counter_options {
    using policy_type = sliding_window_counter;
    static constexpr std::string_view kind = "sliding_window_counter";

    double limit = 0;  // requests ...
    clock::duration window =
        std::chrono::seconds(1);  // ... in approximately any window of this length
    bool strict = false;          // never more than the limit, at half of the rate
    std::size_t max_waiting = 65536;
    weir::when_full when_full = weir::when_full::refuse_newest;
    queue_order order = queue_order::oldest_first;
    clock::duration max_wait = clock::duration::max();
    std::string_view name{};
    weir::observer* observer = nullptr;

    decision::sliding_counter_limits limiter_limits() const noexcept {
        return {limit, window, strict};
    }
};

}  // namespace weir
