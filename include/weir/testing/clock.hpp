// SPDX-License-Identifier: MIT
// Moving simulated time, and letting things happen, from inside a test.
#pragma once

#include <weir/base/idle.hpp>
#include <weir/time.hpp>

namespace weir::testing {

// co_await settle_all(): continues when everything else that could run has run: each other task has
// ended or waits for time, for another task or for the outside world. Time does not move. Better
// than any number of yields, since it does not depend on the schedule. Never completes while some
// task yields for ever. A cancellation point.
inline detail::idle_operation settle_all() noexcept {
    return {};
}

namespace detail_ {
inline task<void> advance_to(clock::time_point when) {
    co_await sleep_until(when);
    co_await settle_all();
}
}  // namespace detail_

// co_await advance(5s): lets simulated time pass, and everything that falls due up to and including
// the new time happen.
template <class Rep, class Period>
task<void> advance(std::chrono::duration<Rep, Period> time) {
    return detail_::advance_to(weir::detail::after(now(), weir::detail::to_nanoseconds(time)));
}
inline task<void> advance_to(clock::time_point when) {
    return detail_::advance_to(when);
}

}  // namespace weir::testing
