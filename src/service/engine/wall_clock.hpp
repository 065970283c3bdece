// SPDX-License-Identifier: MIT
// The two clocks of a `moment`, and their relation to the loop's clock. The steady one is the
// loop's clock plus an offset: what the calendar was ahead of it at first. Processes of one machine
// agree on an offset by their heartbeats. The calendar is that of the machine, or of a server that
// all nodes share: then it is the loop's clock plus another offset, which heartbeats correct.
#pragma once

#include "base/wall_time.hpp"

#include <weir/flow/hook.hpp>
#include <weir/scope.hpp>
#include <weir/service/task.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>
#include <weir/time.hpp>

#include <chrono>
#include <optional>

namespace weir::service::detail {

class wall_clock {
public:
    // An empty `source`: the system clock, or on a simulated loop a clock that follows its time.
    explicit wall_clock(hook<timestamp()> source) noexcept : source_(source) {}

    moment moment_now() const { return {now(), steady()}; }
    // Without a loop it is the calendar.
    timestamp steady() const {
        const loop* const current = loop::current_or_null();
        return current != nullptr ? timestamp(loop_clock() + offset()) : now();
    }
    // Of the steady clock. On a loop.
    std::chrono::microseconds offset() const {
        if (!offset_) {
            offset_ = now().time_since_epoch() - loop_clock();
        }
        return *offset_;
    }
    void set_offset(std::chrono::microseconds offset) noexcept { offset_ = offset; }

    // The calendar.
    timestamp now() const {
        if (calendar_offset_.has_value() && loop::current_or_null() != nullptr) {
            return timestamp(loop_clock() + *calendar_offset_);
        }
        return source_ ? source_() : weir::detail::wall_time();
    }
    // The calendar of a server, which has answered a call that began then and has ended now; empty:
    // there is none. On a loop. Where it is not known which moment of the call it is, it is the
    // last one: nothing starts early.
    void follow_calendar(std::optional<timestamp> server, clock::time_point begun) {
        if (!server.has_value()) {
            calendar_offset_.reset();
            return;
        }
        const auto begun_at =
            std::chrono::floor<std::chrono::microseconds>(begun.time_since_epoch());
        const auto least = server->time_since_epoch() - loop_clock();
        const auto most = server->time_since_epoch() - begun_at;
        if (!calendar_offset_.has_value() || *calendar_offset_ < least ||
            *calendar_offset_ > most) {
            calendar_offset_ = least;
        }
    }

    // The loop's time at which the calendar shows `when`; max() if that is more than a day ahead,
    // since calendars are adjusted.
    clock::time_point loop_time(timestamp when) const {
        const auto ahead = when - now();
        return ahead > std::chrono::hours(24) ? clock::time_point::max() : weir::now() + ahead;
    }
    // The same for a time of the steady clock, however far ahead.
    clock::time_point steady_loop_time(timestamp when) const {
        return weir::now() + (when - steady());
    }

private:
    static std::chrono::microseconds loop_clock() {
        return std::chrono::floor<std::chrono::microseconds>(weir::now().time_since_epoch());
    }

    hook<timestamp()> source_;
    mutable std::optional<std::chrono::microseconds> offset_;   // unset: not used yet
    std::optional<std::chrono::microseconds> calendar_offset_;  // unset: the machine's calendar
};

// Returns when `wake` is set, and at `until` at the latest.
inline task<> wait_until(event& wake, clock::time_point until) {
    cancel_scope limit(until);
    static_cast<void>(co_await limit.run(wake.wait()));
}

}  // namespace weir::service::detail
