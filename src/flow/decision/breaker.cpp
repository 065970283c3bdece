// SPDX-License-Identifier: MIT
// The states of the circuit breaker and the transitions between them.
//
// There is no timer: each beginning or ending of a call, and each query, first calls pass_time(),
// which makes the transition that is due. Each transition starts a new generation with empty
// counters; only the end of the ramp keeps the generation, since calls admitted during the ramp are
// ordinary calls. A change is announced last, when the state is consistent, so the listener may act
// on the breaker.

#include "flow/decision/breaker_rules.hpp"

#include <weir/flow/decision/breaker.hpp>

#include <cmath>

namespace weir::decision {

namespace {

constexpr std::uint32_t whole_call = 1'000'000;
constexpr double rounding = 1e-9;  // tolerance of a share times a count

bool reaches(std::uint32_t part, double share, std::uint32_t whole) noexcept {
    return share > 0 && part + rounding >= share * whole;
}

}  // namespace

breaker::breaker(const circuit_breaker_options& rules) : rules_(checked_rules(rules)) {
    if (rules_.failure_rate > 0 || rules_.slow_rate > 0) {
        window_ = rules_.window_time.count() > 0
                      ? call_window::of_time(rules_.window_time, rules_.window_buckets)
                      : call_window::of_calls(rules_.window_calls);
    }
    is_timed_ = rules_.slow_rate > 0 || rules_.stuck_calls > 0 || window_.is_timed();
    trials_needed_ = std::max(
        1u, static_cast<unsigned>(std::ceil(rules_.close_ratio * rules_.trial_calls - rounding)));
    state_ = rules_.initial;
    open_until_ = clock::time_point::max();
    know_what_time_is_for();
}

admission<breaker::token> breaker::begin_with_time(clock::time_point now) noexcept {
    now = pass_time(now);
    switch (state_) {
        case circuit_state::closed:
        case circuit_state::disabled:
            return admit(now);
        case circuit_state::recovering:
            if (admit_share(now)) {
                return admit(now);
            }
            break;
        case circuit_state::half_open:
            if (!trials_are_taken()) {
                ++trials_running_;
                last_trial_ = now;
                return admit(now);
            }
            break;
        case circuit_state::open:
        case circuit_state::isolated:
            break;
    }
    return refuse(now);
}

breaker::token breaker::admit(clock::time_point now) noexcept {
    ++counts_.admitted;
    const bool is_tracked = rules_.stuck_calls > 0 && (state_ == circuit_state::closed ||
                                                       state_ == circuit_state::recovering);
    return {.begun = now,
            .generation = generation_,
            .place = is_tracked ? in_flight_.add(now) : in_flight::none};
}

// Each call adds the current share to the credit, and a full credit admits a call: so the share of
// admitted calls is exact over any number of calls, without randomness.
bool breaker::admit_share(clock::time_point now) noexcept {
    const double share =
        static_cast<double>((now - since_).count()) / static_cast<double>(rules_.ramp.count());
    credit_ += static_cast<std::uint32_t>(share * whole_call);
    if (credit_ < whole_call) {
        return false;
    }
    credit_ -= whole_call;
    return true;
}

refusal breaker::refuse(clock::time_point now) noexcept {
    ++counts_.refused;
    switch (state_) {
        case circuit_state::open:
            return {.reason = refusal_reason::circuit_open, .retry_after = open_until_ - now};
        case circuit_state::isolated:
            return {.reason = refusal_reason::circuit_isolated};
        default:
            return {.reason = refusal_reason::circuit_on_trial};
    }
}

void breaker::end_with_time(const token& ended, verdict result, clock::time_point now) noexcept {
    now = pass_time(now);
    if (ended.generation != generation_) {
        ++counts_.late;
        return;
    }
    if (ended.place != in_flight::none) {
        in_flight_.remove(ended.place);
    }
    if (result == verdict::ignored) {
        ++counts_.ignored;
        trials_running_ -= state_ == circuit_state::half_open ? 1 : 0;
        return;
    }
    const bool failed = result == verdict::failure;
    const bool slow = is_slow(ended, now);
    ++(failed ? counts_.failed : counts_.succeeded);
    counts_.slow += slow ? 1 : 0;
    if (state_ == circuit_state::half_open) {
        --trials_running_;
        count_trial(!failed && !slow, now);
    } else if (state_ != circuit_state::disabled) {
        count(failed, slow, now);
    }
}

void breaker::stop(const token& stopped) noexcept {
    if (stopped.generation != generation_) {
        ++counts_.late;
        return;
    }
    ++counts_.stopped;
    if (stopped.place != in_flight::none) {
        in_flight_.remove(stopped.place);
    }
    trials_running_ -= state_ == circuit_state::half_open ? 1 : 0;
}

bool breaker::is_slow(const token& ended, clock::time_point now) const noexcept {
    return rules_.slow_rate > 0 && now - ended.begun >= rules_.slow_after;
}

void breaker::count(bool failed, bool slow, clock::time_point now) noexcept {
    in_a_row_ = failed ? in_a_row_ + 1 : 0;
    if (window_.exists()) {
        window_.add(failed, slow, now);
    }
    if (!failed && !slow) {
        return;
    }
    if (failed && rules_.consecutive_failures > 0 && in_a_row_ >= rules_.consecutive_failures) {
        open(circuit_cause::consecutive_failures, now);
        return;
    }
    const call_window::totals& seen = window_.seen();
    if (!window_.exists() || seen.calls < rules_.minimum_calls) {
        return;
    }
    if (reaches(seen.failures, rules_.failure_rate, seen.calls)) {
        open(circuit_cause::failure_rate, now);
    } else if (reaches(seen.slow, rules_.slow_rate, seen.calls)) {
        open(circuit_cause::slow_rate, now);
    }
}

void breaker::count_trial(bool succeeded, clock::time_point now) noexcept {
    ++(succeeded ? trials_good_ : trials_bad_);
    if (trials_good_ >= trials_needed_) {
        change_to(rules_.ramp.count() > 0 ? circuit_state::recovering : circuit_state::closed,
                  circuit_cause::trials_succeeded, now);
    } else if (trials_bad_ > rules_.trial_calls - trials_needed_) {
        open(circuit_cause::trials_failed, now);
    }
}

clock::time_point breaker::pass_time(clock::time_point now) noexcept {
    latest_ = now = std::max(now, latest_);
    switch (state_) {
        case circuit_state::open:
            if (open_until_ == clock::time_point::max()) {  // initially open
                openings_ = 1;
                open_until_ = detail::after(now, next_open_time());
            }
            if (now >= open_until_) {
                change_to(circuit_state::half_open, circuit_cause::time_passed, now);
            }
            break;
        case circuit_state::half_open:
            if (trials_running_ > 0 && trials_are_taken() &&
                now - last_trial_ >= rules_.max_trial_time) {
                open(circuit_cause::trials_hung, now);
            }
            break;
        case circuit_state::recovering:
            if (now - since_ >= rules_.ramp) {
                change_to(circuit_state::closed, circuit_cause::time_passed, now);
            }
            [[fallthrough]];
        case circuit_state::closed:
            if (rules_.stuck_calls > 0 &&
                in_flight_.begun_until(now - rules_.stuck_after) >= rules_.stuck_calls) {
                open(circuit_cause::stuck_calls, now);
            }
            break;
        case circuit_state::isolated:
        case circuit_state::disabled:
            break;
    }
    return now;
}

clock::duration breaker::open_time_left(clock::time_point now) noexcept {
    now = pass_time(now);
    return state_ == circuit_state::open ? open_until_ - now : clock::duration::zero();
}

clock::duration breaker::next_open_time() const noexcept {
    const clock::duration most = std::max(rules_.max_open_for, rules_.open_for);
    // In floating point: a large exponent yields infinity instead of an overflow.
    const double grown = static_cast<double>(rules_.open_for.count()) *
                         std::pow(rules_.open_factor, static_cast<double>(openings_ - 1));
    clock::duration time = grown < static_cast<double>(most.count())
                               ? clock::duration(static_cast<clock::rep>(grown))
                               : most;
    if (rules_.open_time) {
        time = rules_.open_time(openings_, time);
    }
    return std::clamp(time, clock::duration::zero(), most);
}

void breaker::open(circuit_cause cause, clock::time_point now) noexcept {
    ++openings_;
    ++counts_.openings;
    open_until_ = detail::after(now, next_open_time());
    change_to(circuit_state::open, cause, now);
}

void breaker::change_to(circuit_state next, circuit_cause cause, clock::time_point now) noexcept {
    const circuit_change change{
        .from = state_,
        .to = next,
        .cause = cause,
        .at = now,
        .open_for = next == circuit_state::open ? open_until_ - now : clock::duration::zero()};
    const bool is_end_of_ramp = state_ == circuit_state::recovering &&
                                next == circuit_state::closed &&
                                cause == circuit_cause::time_passed;
    state_ = next;
    since_ = now;
    if (!is_end_of_ramp) {
        begin_era();
    }
    if (next == circuit_state::closed) {
        openings_ = 0;
    }
    know_what_time_is_for();
    if (rules_.on_change) {
        rules_.on_change(change);
    }
}

void breaker::begin_era() noexcept {
    ++generation_;
    in_a_row_ = 0;
    window_.forget();
    in_flight_.clear();
    trials_running_ = trials_good_ = trials_bad_ = 0;
    credit_ = 0;
}

void breaker::know_what_time_is_for() noexcept {
    is_plain_ = state_ == circuit_state::closed && !is_timed_;
    needs_time_ =
        !is_plain_ && state_ != circuit_state::isolated && state_ != circuit_state::disabled;
}

void breaker::isolate(clock::time_point now) noexcept {
    change_to(circuit_state::isolated, circuit_cause::by_hand, pass_time(now));
}
void breaker::disable(clock::time_point now) noexcept {
    change_to(circuit_state::disabled, circuit_cause::by_hand, pass_time(now));
}
void breaker::trip(clock::time_point now) noexcept {
    open(circuit_cause::by_hand, pass_time(now));
}
void breaker::close(clock::time_point now) noexcept {
    change_to(circuit_state::closed, circuit_cause::by_hand, pass_time(now));
}
void breaker::reset(clock::time_point now) noexcept {
    now = pass_time(now);
    openings_ = 0;
    if (rules_.initial == circuit_state::open) {
        open(circuit_cause::by_hand, now);
    } else {
        change_to(rules_.initial, circuit_cause::by_hand, now);
    }
}

circuit_breaker_stats breaker::stats() const noexcept {
    circuit_breaker_stats now = counts_;
    now.state = state_;
    now.openings_in_a_row = openings_;
    now.failures_in_a_row = in_a_row_;
    now.window_calls = window_.seen().calls;
    now.window_failures = window_.seen().failures;
    now.window_slow = window_.seen().slow;
    return now;
}

}  // namespace weir::decision
