// SPDX-License-Identifier: MIT
// sliding_window: in any window of time, wherever it begins, at most so many.
//
//     weir::sliding_window limit({.limit = 5, .window = 1s});
//
// The strict limiter: exact to the nanosecond, at 16 bytes for each grant within a window.
// sliding_window_counter does with two numbers and may let more pass; what it guarantees is said in
// decision/sliding_counter.hpp. See limiter.hpp for waiting.
#pragma once

#include <weir/flow/decision/sliding_counter.hpp>
#include <weir/flow/decision/sliding_log.hpp>
#include <weir/flow/limiter.hpp>

namespace weir {

struct sliding_window_options;
using sliding_window = limiter<decision::sliding_log, sliding_window_options>;

struct sliding_window_options {
    using policy_type = sliding_window;

    double limit = 0;                                  // at most so many
    clock::duration window = std::chrono::seconds(1);  // in any such time
    std::size_t max_waiting = 65536;                   // 0: nobody waits
    weir::when_full when_full = weir::when_full::refuse_newest;
    queue_order order = queue_order::oldest_first;
    clock::duration max_wait = clock::duration::max();  // longer ones are refused at once
    std::string_view name{};
    weir::observer* observer = nullptr;

    decision::window_limits limiter_limits() const noexcept { return {limit, window}; }
    detail::line_options line() const noexcept {
        return {"sliding_window", name, max_waiting, when_full, order, max_wait, observer};
    }
};

struct sliding_window_counter_options;
using sliding_window_counter = limiter<decision::sliding_counter, sliding_window_counter_options>;

struct sliding_window_counter_options {
    using policy_type = sliding_window_counter;

    double limit = 0;                                  // at most so many
    clock::duration window = std::chrono::seconds(1);  // in about any such time
    bool strict = false;                               // never more, at half of the rate
    std::size_t max_waiting = 65536;                   // 0: nobody waits
    weir::when_full when_full = weir::when_full::refuse_newest;
    queue_order order = queue_order::oldest_first;
    clock::duration max_wait = clock::duration::max();  // longer ones are refused at once
    std::string_view name{};
    weir::observer* observer = nullptr;

    decision::sliding_counter_limits limiter_limits() const noexcept {
        return {limit, window, strict};
    }
    detail::line_options line() const noexcept {
        return {"sliding_window_counter", name, max_waiting, when_full, order, max_wait, observer};
    }
};

}  // namespace weir
