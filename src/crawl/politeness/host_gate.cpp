// SPDX-License-Identifier: MIT
// Requests have planned times, evenly spaced, and a request that starts late does not put off the
// times of those that follow: they come closer to each other until the delay is made up for. The
// rate holds nevertheless, since a request waits until the one that is a window before it is as old
// as the window; a bucket that saves up tokens would not keep that.

#include "crawl/politeness/host_gate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir::crawl::detail {

namespace {

// With more requests a second they are evenly spaced: the window would be long.
constexpr double max_window = 100;
// Requests are planned a little farther apart, so that delays can be made up for.
constexpr int slack_part = 80;
// A server that is busy notices a request some milliseconds after it was sent, and not each one
// equally late.
constexpr clock::duration unevenness = std::chrono::milliseconds(10);

}  // namespace

gate_rules::gate_rules(double rate, clock::duration delay) noexcept {
    if (rate > 0) {
        interval = std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 / rate));
    }
    if (delay > interval) {
        interval = delay;
    } else if (rate > 1 && rate <= max_window) {
        window = static_cast<std::size_t>(std::ceil(rate));
    }
}

clock::duration host_gate::window_time() const noexcept {
    return rules_.interval * static_cast<std::int64_t>(rules_.window);
}

clock::duration host_gate::step() const noexcept {
    return rules_.interval + rules_.interval / slack_part;
}

void host_gate::plan_next() noexcept {
    if (left_.empty()) {
        return;
    }
    const bool is_even = rules_.window == 1;
    clock::time_point planned =
        std::max(slot_ + step(), left_[last_] + (is_even ? rules_.interval : rules_.interval / 2));
    if (!is_even && left_.size() == rules_.window) {
        planned = std::max(planned, left_[(last_ + 1) % left_.size()] + window_time() + unevenness);
    }
    next_at_ = std::max(next_at_, planned);
}

void host_gate::begin(clock::time_point now, clock::time_point due) {
    ++in_flight_;
    reason_ = wait_reason::rate;
    slot_ = std::min(now, std::max({slot_ + step(), due, now - longest_credit()}));
    if (left_.size() < rules_.window) {
        left_.push_back(now);
        last_ = left_.size() - 1;
    } else {
        last_ = (last_ + 1) % left_.size();
        left_[last_] = now;
    }
    plan_next();
}

void host_gate::leaves(clock::time_point now) noexcept {
    if (!left_.empty()) {
        left_[last_] = now;
        plan_next();
    }
}

void host_gate::answered(clock::time_point left, clock::duration latency) noexcept {
    const bool is_first = quickest_ == clock::duration::max();
    quickest_ = std::min(quickest_, latency);
    for (clock::time_point& each : left_) {
        if (is_first) {
            each = std::max(each, left + latency);
        } else if (each == left) {
            each += std::min(latency - quickest_, rules_.interval / 4);
        }
    }
    plan_next();
}

void host_gate::end(clock::time_point now) noexcept {
    --in_flight_;
    ended_at_ = now;
}

bool host_gate::is_idle(clock::time_point now) const noexcept {
    return in_flight_ == 0 &&
           (ended_at_ == clock::time_point::min() || now - ended_at_ > longest_credit());
}

void host_gate::succeed() noexcept {
    failures_ = 0;
    trips_ = 0;
}

bool host_gate::fail(clock::time_point now) noexcept {
    ++failures_;
    if (rules_.breaker_failures == 0 || (trips_ == 0 && failures_ < rules_.breaker_failures)) {
        return false;
    }
    // Requests that were in flight when the breaker opened say nothing new.
    if (trips_ > 0 && now < next_at_ && reason_ == wait_reason::breaker) {
        return false;
    }
    ++trips_;
    wait_until(now + rules_.breaker_time, wait_reason::breaker);
    return trips_ >= rules_.breaker_trips;
}

void host_gate::wait_until(clock::time_point when, wait_reason why) noexcept {
    if (when > next_at_) {
        next_at_ = when;
        slot_ = when - step();
        reason_ = why;
    }
}

void host_gate::slow_down(clock::duration interval) noexcept {
    if (interval <= rules_.interval) {
        return;
    }
    rules_.interval = interval;
    rules_.window = 1;
    if (!left_.empty()) {
        left_ = {left_[last_]};
        last_ = 0;
        slot_ = left_.front();
        plan_next();
    }
}

void host_gate::restore(clock::time_point next_at, std::uint32_t failures,
                        std::uint32_t trips) noexcept {
    next_at_ = next_at;
    slot_ = next_at - step();
    failures_ = failures;
    trips_ = trips;
}

std::string_view name_of(host_gate::wait_reason why) noexcept {
    switch (why) {
        case host_gate::wait_reason::none:
            return "none";
        case host_gate::wait_reason::rate:
            return "rate";
        case host_gate::wait_reason::retry_after:
            return "Retry-After";
        case host_gate::wait_reason::breaker:
            return "the host fails";
        case host_gate::wait_reason::robots:
            return "robots.txt fails";
    }
    return "?";
}

}  // namespace weir::crawl::detail
