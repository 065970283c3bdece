// SPDX-License-Identifier: MIT
// How not to write a circuit breaker: the one of many tutorials, each of its mistakes to be
// switched on.
#pragma once

#include <weir/flow/decision/breaker.hpp>

namespace flow_breaker {

struct mistakes {
    bool lets_everybody_try = false;     // half-open lets any number of calls through
    bool counts_late_results = false;    // for any state that the call began in
    bool believes_the_clock = false;     // a clock that was set back
    bool leaks_the_trial_slot = false;   // when a trial is stopped, or its result is to be ignored
    bool waits_for_hung_trials = false;  // for ever
    bool counts_stopped_calls = false;   // as failures
};

// Five failures in a row, open for a while, trial calls. The interface of the real one, so that the
// same property can be checked for both.
class naive_breaker {
public:
    using token = weir::decision::breaker::token;
    using verdict = weir::decision::breaker::verdict;

    naive_breaker(const weir::circuit_breaker_options& rules, const mistakes& made)
        : rules_(rules), made_(made) {}

    weir::admission<token> begin(weir::clock::time_point stamp) {
        const auto now = pass_time(stamp);
        if (state_ == weir::circuit_state::isolated) {
            return weir::refusal{weir::refusal_reason::circuit_isolated, {}};
        }
        if (state_ == weir::circuit_state::open) {
            return weir::refusal{weir::refusal_reason::circuit_open, open_until_ - now};
        }
        if (state_ == weir::circuit_state::half_open) {
            if (!made_.lets_everybody_try && trying_ + good_ >= rules_.trial_calls) {
                return weir::refusal{weir::refusal_reason::circuit_on_trial, {}};
            }
            ++trying_;
            last_trial_ = now;
        }
        return token{.begun = now, .generation = generation_};
    }
    void end(const token& ended, verdict result, weir::clock::time_point stamp) {
        const auto now = pass_time(stamp);
        if ((ended.generation != generation_ && !made_.counts_late_results) ||
            state_ == weir::circuit_state::disabled) {
            return;
        }
        if (result == verdict::ignored) {
            give_up_slot();
        } else if (result == verdict::failure) {
            if (state_ == weir::circuit_state::half_open ||
                ++failures_ == rules_.consecutive_failures) {
                open(now);
            }
        } else if (state_ == weir::circuit_state::half_open) {
            trying_ -= trying_ > 0 ? 1 : 0;
            if (++good_ >= rules_.trial_calls) {
                enter(weir::circuit_state::closed);
            }
        } else {
            failures_ = 0;
        }
    }
    void stop(const token& stopped) {
        if (made_.counts_stopped_calls) {
            end(stopped, verdict::failure, latest_);
        } else if (stopped.generation == generation_) {
            give_up_slot();
        }
    }
    weir::circuit_state state(weir::clock::time_point stamp) {
        pass_time(stamp);
        return state_;
    }
    void isolate(weir::clock::time_point now) {
        pass_time(now);
        enter(weir::circuit_state::isolated);
    }
    void disable(weir::clock::time_point now) {
        pass_time(now);
        enter(weir::circuit_state::disabled);
    }
    void trip(weir::clock::time_point now) { open(pass_time(now)); }
    void close(weir::clock::time_point now) {
        pass_time(now);
        enter(weir::circuit_state::closed);
    }
    void reset(weir::clock::time_point now) { close(now); }

private:
    void give_up_slot() {
        if (state_ == weir::circuit_state::half_open && !made_.leaks_the_trial_slot) {
            --trying_;
        }
    }
    weir::clock::time_point pass_time(weir::clock::time_point stamp) {
        latest_ = std::max(stamp, latest_);
        const auto now = made_.believes_the_clock ? stamp : latest_;
        if (state_ == weir::circuit_state::open && now >= open_until_) {
            enter(weir::circuit_state::half_open);
        } else if (state_ == weir::circuit_state::half_open && !made_.waits_for_hung_trials &&
                   trying_ > 0 && trying_ + good_ >= rules_.trial_calls &&
                   now - last_trial_ >= rules_.max_trial_time) {
            open(now);
        }
        return now;
    }
    void open(weir::clock::time_point now) {
        open_until_ = now + rules_.open_for;
        enter(weir::circuit_state::open);
    }
    void enter(weir::circuit_state next) {
        state_ = next;
        ++generation_;
        failures_ = trying_ = good_ = 0;
    }

    weir::circuit_breaker_options rules_;
    mistakes made_;
    weir::circuit_state state_ = weir::circuit_state::closed;
    weir::clock::time_point latest_{};
    weir::clock::time_point open_until_{};
    weir::clock::time_point last_trial_{};
    std::uint32_t generation_ = 1;
    unsigned failures_ = 0;
    unsigned trying_ = 0;
    unsigned good_ = 0;
};

}  // namespace flow_breaker
