// SPDX-License-Identifier: MIT
// A circuit breaker written to be obvious: it remembers everything and looks through all of it each
// time. The real one is compared with it.
#pragma once

#include <weir/flow/circuit_state.hpp>
#include <weir/refusal.hpp>

#include <cmath>
#include <map>
#include <optional>
#include <vector>

namespace flow_breaker {

using weir::circuit_state;
using time_point = weir::clock::time_point;
using duration = weir::clock::duration;

enum class ending { success, failure, ignored };

class model {
public:
    // The rules as they are after defaults: minimum_calls set, some rule on.
    model(const weir::circuit_breaker_options& rules) : rules_(rules), state_(rules.initial) {}

    // The number of the call, or a refusal.
    std::optional<int> begin(time_point stamp, weir::refusal& why) {
        const time_point now = move_clock(stamp);
        why = {};
        switch (state_) {
            case circuit_state::open:
                why = {weir::refusal_reason::circuit_open, open_until_ - now};
                return std::nullopt;
            case circuit_state::isolated:
                why = {weir::refusal_reason::circuit_isolated, {}};
                return std::nullopt;
            case circuit_state::half_open:
                if (calls_of_era() + static_cast<int>(results_.size()) >=
                    static_cast<int>(rules_.trial_calls)) {
                    why = {weir::refusal_reason::circuit_on_trial, {}};
                    return std::nullopt;
                }
                last_trial_ = now;
                break;
            case circuit_state::recovering: {
                const auto before = millionths_ / 1'000'000;
                millionths_ +=
                    static_cast<long>(1e6 * (static_cast<double>((now - since_).count()) /
                                             static_cast<double>(rules_.ramp.count())));
                if (millionths_ / 1'000'000 == before) {
                    why = {weir::refusal_reason::circuit_on_trial, {}};
                    return std::nullopt;
                }
                break;
            }
            case circuit_state::closed:
            case circuit_state::disabled:
                break;
        }
        calls_[next_] = {now, era_};
        return next_++;
    }

    void end(int call, ending result, time_point stamp) {
        const time_point now = move_clock(stamp);
        const under_way ended = calls_.at(call);
        calls_.erase(call);
        if (ended.era != era_ || result == ending::ignored || state_ == circuit_state::disabled) {
            return;
        }
        const bool failed = result == ending::failure;
        const bool slow = rules_.slow_rate > 0 && now - ended.begun >= rules_.slow_after;
        results_.push_back({now, failed, slow});
        if (state_ == circuit_state::half_open) {
            judge_trials(now);
        } else if (failed || slow) {
            judge_results(now);
        }
    }
    void stop(int call) { calls_.erase(call); }

    circuit_state state(time_point stamp) {
        move_clock(stamp);
        return state_;
    }

    void isolate(time_point stamp) { enter(circuit_state::isolated, move_clock(stamp)); }
    void disable(time_point stamp) { enter(circuit_state::disabled, move_clock(stamp)); }
    void trip(time_point stamp) { open(move_clock(stamp)); }
    void close(time_point stamp) { enter(circuit_state::closed, move_clock(stamp)); }
    void reset(time_point stamp) {
        const time_point now = move_clock(stamp);
        openings_ = 0;
        if (rules_.initial == circuit_state::open) {
            open(now);
        } else {
            enter(rules_.initial, now);
        }
    }

private:
    struct under_way {
        time_point begun;
        int era;
    };
    struct result {
        time_point at;
        bool failed;
        bool slow;
    };

    int calls_of_era() const {
        int count = 0;
        for (const auto& [number, call] : calls_) {
            count += call.era == era_ ? 1 : 0;
        }
        return count;
    }

    time_point move_clock(time_point stamp) {
        if (stamp > clock_) {
            clock_ = stamp;
        }
        const time_point now = clock_;
        if (state_ == circuit_state::open && !is_open_time_known_) {
            openings_ = 1;
            open_until_ = now + open_time();
            is_open_time_known_ = true;
        }
        if (state_ == circuit_state::open && now >= open_until_) {
            enter(circuit_state::half_open, now);
        }
        if (state_ == circuit_state::half_open && calls_of_era() > 0 &&
            calls_of_era() + results_.size() == rules_.trial_calls &&
            now - last_trial_ >= rules_.max_trial_time) {
            open(now);
        }
        if (state_ == circuit_state::recovering && now - since_ >= rules_.ramp) {
            state_ = circuit_state::closed;  // and the era continues
            openings_ = 0;
        }
        if (state_ == circuit_state::recovering || state_ == circuit_state::closed) {
            unsigned stuck = 0;
            for (const auto& [number, call] : calls_) {
                stuck += call.era == era_ && now - call.begun >= rules_.stuck_after ? 1u : 0u;
            }
            if (rules_.stuck_calls > 0 && stuck >= rules_.stuck_calls) {
                open(now);
            }
        }
        return now;
    }

    void judge_trials(time_point now) {
        unsigned good = 0;
        for (const result& each : results_) {
            good += !each.failed && !each.slow ? 1u : 0u;
        }
        const auto bad = static_cast<unsigned>(results_.size()) - good;
        const auto share = [&](unsigned count) {
            return static_cast<double>(count) / rules_.trial_calls + 1e-9;
        };
        if (share(good) >= rules_.close_ratio) {
            enter(rules_.ramp.count() > 0 ? circuit_state::recovering : circuit_state::closed, now);
        } else if (share(rules_.trial_calls - bad) < rules_.close_ratio) {
            open(now);
        }
    }

    void judge_results(time_point now) {
        unsigned in_a_row = 0;
        for (auto each = results_.rbegin(); each != results_.rend() && each->failed; ++each) {
            ++in_a_row;
        }
        if (rules_.consecutive_failures > 0 && in_a_row >= rules_.consecutive_failures) {
            open(now);
            return;
        }
        if (rules_.failure_rate == 0 && rules_.slow_rate == 0) {
            return;
        }
        unsigned calls = 0;
        unsigned failures = 0;
        unsigned slow = 0;
        for (std::size_t i = 0; i < results_.size(); ++i) {
            const bool is_in_window =
                rules_.window_time.count() > 0
                    ? slice_of(results_[i].at) + rules_.window_buckets > slice_of(now)
                    : results_.size() - i <= rules_.window_calls;
            if (is_in_window) {
                ++calls;
                failures += results_[i].failed ? 1u : 0u;
                slow += results_[i].slow ? 1u : 0u;
            }
        }
        const auto share = [&](unsigned count) {
            return static_cast<double>(count) / calls + 1e-9;
        };
        if (calls >= rules_.minimum_calls &&
            ((rules_.failure_rate > 0 && share(failures) >= rules_.failure_rate) ||
             (rules_.slow_rate > 0 && share(slow) >= rules_.slow_rate))) {
            open(now);
        }
    }
    long slice_of(time_point when) const {
        const long length = (rules_.window_time.count() + rules_.window_buckets - 1) /
                            static_cast<long>(rules_.window_buckets);
        return when.time_since_epoch().count() / length;
    }

    duration open_time() const {
        double time = static_cast<double>(rules_.open_for.count());
        const double most =
            static_cast<double>(std::max(rules_.max_open_for, rules_.open_for).count());
        for (unsigned i = 1; i < openings_; ++i) {
            time = std::min(time * rules_.open_factor, most);
        }
        return duration(static_cast<long>(std::min(time, most)));
    }
    void open(time_point now) {
        ++openings_;
        open_until_ = now + open_time();
        is_open_time_known_ = true;
        enter(circuit_state::open, now);
    }
    void enter(circuit_state next, time_point now) {
        state_ = next;
        since_ = now;
        ++era_;
        results_.clear();
        millionths_ = 0;
        if (next == circuit_state::closed) {
            openings_ = 0;
        }
    }

    weir::circuit_breaker_options rules_;
    circuit_state state_;
    time_point clock_{};
    time_point since_{};
    time_point open_until_{};
    bool is_open_time_known_ = false;
    time_point last_trial_{};
    unsigned openings_ = 0;
    long millionths_ = 0;
    int era_ = 0;
    int next_ = 0;
    std::map<int, under_way> calls_;
    std::vector<result> results_;  // of this era
};

}  // namespace flow_breaker
