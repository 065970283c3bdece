// SPDX-License-Identifier: MIT
// Which calls of a burst lead to a run, and when: the decisions behind debouncer and throttler.
//
// Both receive each call and each run that starts, and answer whether the call is covered by the
// latest run already, and when the calls that are not are due. Values; time is passed in; no
// waiting.
#pragma once

#include <weir/clock.hpp>

namespace weir::decision {

// Runs when the calls have paused.
class debounce {
public:
    struct rules {
        clock::duration delay{};                            // a pause of so long ends a burst
        clock::duration max_wait = clock::duration::max();  // no call waits longer
        bool leading = false;  // the first call of a burst runs at once
        bool trailing = true;  // those after it run when it has ended
    };

    explicit constexpr debounce(const rules& given) noexcept : rules_(given) {}

    // A call. False: the latest run covers it; true: it is pending until due().
    constexpr bool call(clock::time_point now) noexcept {
        const bool begins_burst = !in_burst_ || now - last_call_ >= rules_.delay;
        in_burst_ = true;
        last_call_ = now;
        if (is_pending_) {
            return true;
        }
        const bool runs_again =
            !rules_.trailing && now - last_start_ >= rules_.max_wait;  // a burst without end
        if ((begins_burst && rules_.leading) || runs_again) {
            is_pending_ = is_due_ = true;
        } else if (rules_.trailing) {
            is_pending_ = true;
            first_pending_ = now;
        }
        return is_pending_;
    }
    constexpr bool is_pending() const noexcept { return is_pending_; }
    // When the pending calls are to be run; the end of time if there are none.
    constexpr clock::time_point due() const noexcept {
        if (!is_pending_) {
            return clock::time_point::max();
        }
        if (is_due_) {
            return clock::time_point::min();
        }
        const clock::time_point quiet = weir::detail::after(last_call_, rules_.delay);
        const clock::time_point latest = weir::detail::after(first_pending_, rules_.max_wait);
        return quiet < latest ? quiet : latest;
    }
    // A run that covers the pending calls starts.
    constexpr void start(clock::time_point now) noexcept {
        is_pending_ = is_due_ = false;
        last_start_ = now;
    }
    // The pending calls are due now.
    constexpr void flush() noexcept { is_due_ = is_pending_; }
    // The pending calls are dropped, and the burst is over.
    constexpr void cancel() noexcept { is_pending_ = is_due_ = in_burst_ = false; }

private:
    rules rules_;
    clock::time_point last_call_{};
    clock::time_point first_pending_{};
    clock::time_point last_start_{};
    bool in_burst_ = false;  // there was a call, and nothing since has ended its burst but time
    bool is_pending_ = false;
    bool is_due_ = false;
};

// Runs at most once in an interval, measured from start to start.
class throttle {
public:
    struct rules {
        clock::duration interval{};
        bool leading = true;   // a call after a pause runs at once
        bool trailing = true;  // calls within the interval run at its end
    };

    explicit constexpr throttle(const rules& given) noexcept : rules_(given) {}

    constexpr bool call(clock::time_point now) noexcept {
        if (is_pending_) {
            return true;
        }
        const bool within = has_run_ && now - last_start_ < rules_.interval;
        if (within ? rules_.trailing : true) {
            is_pending_ = true;
            due_ = within           ? weir::detail::after(last_start_, rules_.interval)
                   : rules_.leading ? clock::time_point::min()
                                    : weir::detail::after(now, rules_.interval);
        }
        return is_pending_;
    }
    constexpr bool is_pending() const noexcept { return is_pending_; }
    constexpr clock::time_point due() const noexcept {
        return is_pending_ ? due_ : clock::time_point::max();
    }
    constexpr void start(clock::time_point now) noexcept {
        is_pending_ = false;
        has_run_ = true;
        last_start_ = now;
    }
    constexpr void flush() noexcept { due_ = clock::time_point::min(); }
    constexpr void cancel() noexcept { is_pending_ = false; }

private:
    rules rules_;
    clock::time_point last_start_{};
    clock::time_point due_{};
    bool has_run_ = false;
    bool is_pending_ = false;
};

}  // namespace weir::decision
