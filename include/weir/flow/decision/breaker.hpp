// SPDX-License-Identifier: MIT
// The decision of a circuit breaker: whether a call is admitted. The caller passes the time.
//
// An admitted call gets a token, with which it must be ended or stopped exactly once. The token has
// the generation of the state that admitted the call: results that arrive after a change of state
// are not counted. Time stamps older than the latest one count as that one. Not thread-safe.
#pragma once

#include <weir/flow/admission.hpp>
#include <weir/flow/circuit_state.hpp>
#include <weir/flow/decision/call_window.hpp>
#include <weir/flow/decision/in_flight.hpp>

#include <algorithm>
#include <cstdint>

namespace weir {

struct circuit_breaker_stats {
    circuit_state state = circuit_state::closed;
    std::uint64_t admitted = 0;
    std::uint64_t refused = 0;
    // How admitted calls ended:
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
    std::uint64_t ignored = 0;  // cancelled, refused further inside, or ignored by a predicate
    std::uint64_t stopped = 0;  // the caller was stopped
    std::uint64_t late = 0;     // after the state had changed: not counted above
    std::uint64_t slow = 0;     // of those that succeeded or failed
    std::uint64_t openings = 0;
    unsigned openings_in_a_row = 0;  // since it was last closed
    unsigned failures_in_a_row = 0;
    // In the window, if there is one:
    unsigned window_calls = 0;
    unsigned window_failures = 0;
    unsigned window_slow = 0;

    std::uint64_t in_flight() const noexcept {
        return admitted - succeeded - failed - ignored - stopped - late;
    }
};

namespace decision {

class breaker {
public:
    struct token {
        clock::time_point begun;  // only if a rule needs it
        std::uint32_t generation = 0;
        in_flight::place place = in_flight::none;

        // Member by member, as detail::copy_of copies a refusal.
        token copy() const noexcept {
            return {.begun = begun, .generation = generation, .place = place};
        }
    };
    enum class verdict : unsigned char { success, failure, ignored };

    // Throws invalid_argument, naming the option. Ignores the name, the predicates and the
    // observer, which circuit_breaker handles.
    explicit breaker(const circuit_breaker_options& rules);

    // If false, begin(), and end() after a success, ignore the time: the clock need not be read.
    bool needs_time() const noexcept { return needs_time_; }

    admission<token> begin(clock::time_point now) noexcept {
        if (is_plain_) [[likely]] {
            ++counts_.admitted;
            return token{.begun = {}, .generation = generation_};
        }
        if (state_ == circuit_state::open && now >= latest_ && now < open_until_ &&
            open_until_ != clock::time_point::max()) {
            latest_ = now;
            ++counts_.refused;
            return refusal{refusal_reason::circuit_open, open_until_ - now};
        }
        return begin_with_time(now);
    }
    void end(const token& ended, verdict result, clock::time_point now) noexcept {
        if (is_plain_ && result == verdict::success && ended.generation == generation_) [[likely]] {
            ++counts_.succeeded;
            in_a_row_ = 0;
            if (window_.exists()) {
                window_.add(false, false, now);
            }
            return;
        }
        end_with_time(ended, result, now);
    }
    // The caller was stopped before the call had ended, which says nothing about the callee.
    void stop(const token& stopped) noexcept;

    // The state at that time. Does not use up a trial call.
    circuit_state state(clock::time_point now) noexcept {
        pass_time(now);
        return state_;
    }
    // How long it stays open; zero if it is not open.
    clock::duration open_time_left(clock::time_point now) noexcept;

    void isolate(clock::time_point now) noexcept;
    void disable(clock::time_point now) noexcept;
    // Opens, as a rule would.
    void trip(clock::time_point now) noexcept;
    // Closes, from any state, with empty counters.
    void close(clock::time_point now) noexcept;
    // Returns to the initial state.
    void reset(clock::time_point now) noexcept;

    circuit_breaker_stats stats() const noexcept;

private:
    // The rare paths, and those that need the time.
    admission<token> begin_with_time(clock::time_point now) noexcept;
    void end_with_time(const token& ended, verdict result, clock::time_point now) noexcept;

    clock::time_point pass_time(clock::time_point now) noexcept;
    token admit(clock::time_point now) noexcept;
    bool admit_share(clock::time_point now) noexcept;
    refusal refuse(clock::time_point now) noexcept;
    bool is_slow(const token& ended, clock::time_point now) const noexcept;
    void count(bool failed, bool slow, clock::time_point now) noexcept;
    void count_trial(bool succeeded, clock::time_point now) noexcept;
    bool trials_are_taken() const noexcept {
        return trials_running_ + trials_good_ + trials_bad_ >= rules_.trial_calls;
    }

    void open(circuit_cause cause, clock::time_point now) noexcept;
    void change_to(circuit_state next, circuit_cause cause, clock::time_point now) noexcept;
    void begin_era() noexcept;
    void know_what_time_is_for() noexcept;
    clock::duration next_open_time() const noexcept;

    circuit_state state_ = circuit_state::closed;
    bool is_plain_ = false;    // closed, and no rule needs the time
    bool needs_time_ = false;  // not plain, and not under manual control
    bool is_timed_ = false;    // some rule needs the time
    std::uint32_t generation_ = 1;
    unsigned in_a_row_ = 0;
    circuit_breaker_stats counts_;
    call_window window_;
    in_flight in_flight_;  // if there is a rule for stuck calls

    clock::time_point latest_{};
    clock::time_point since_{};       // of the state
    clock::time_point open_until_{};  // time_point::max(): counts from the first time stamp
    clock::time_point last_trial_{};
    unsigned openings_ = 0;
    unsigned trials_running_ = 0;
    unsigned trials_good_ = 0;
    unsigned trials_bad_ = 0;
    unsigned trials_needed_ = 1;
    std::uint32_t credit_ = 0;  // in millionths of a call, while recovering

    circuit_breaker_options rules_;
};

}  // namespace decision
}  // namespace weir
