// SPDX-License-Identifier: MIT
// Calendar time as stores keep it, and its relation to the loop's clock.
#pragma once

#include <weir/flow/hook.hpp>
#include <weir/scope.hpp>
#include <weir/service/task.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>
#include <weir/time.hpp>

#include <chrono>

namespace weir::service::detail {

class wall_clock {
public:
    // An empty `source`: the system clock, or on a simulated loop a clock that follows its time.
    explicit wall_clock(hook<timestamp()> source) noexcept : source_(source) {}

    timestamp now() const {
        if (source_) {
            return source_();
        }
        loop* const current = loop::current_or_null();
        if (current != nullptr && current->get_driver().is_simulated()) {
            constexpr timestamp first = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
            return first +
                   std::chrono::floor<std::chrono::microseconds>(current->now().time_since_epoch());
        }
        return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
    }

    // The loop's time at which the calendar shows `when`; max() if that is more than a day ahead,
    // since calendars are adjusted.
    clock::time_point loop_time(timestamp when) const {
        const auto ahead = when - now();
        return ahead > std::chrono::hours(24) ? clock::time_point::max() : weir::now() + ahead;
    }

private:
    hook<timestamp()> source_;
};

// Returns when `wake` is set, and at `until` at the latest.
inline task<> wait_until(event& wake, clock::time_point until) {
    cancel_scope limit(until);
    static_cast<void>(co_await limit.run(wake.wait()));
}

}  // namespace weir::service::detail
