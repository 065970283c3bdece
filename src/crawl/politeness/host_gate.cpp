// SPDX-License-Identifier: MIT
// Requests are spaced: none starts within the interval after the one before. That keeps any second
// below the rate, which a bucket that saves up tokens would not. They are planned a little farther
// apart, so that a start which comes late by less than that does not put off all that follow, and
// since requests do not take equally long to reach the server.

#include "crawl/politeness/host_gate.hpp"

#include <algorithm>
#include <utility>

namespace weir::crawl::detail {

void host_gate::begin(clock::time_point now) noexcept {
    ++in_flight_;
    reason_ = wait_reason::rate;
    clock::time_point planned = now;
    if (next_at_ != clock::time_point::min()) {
        planned = next_at_ + rules_.interval + rules_.interval / 160;
    }
    next_at_ = std::max(planned, now + rules_.interval);
}

void host_gate::leaves(clock::time_point now) noexcept {
    next_at_ = std::max(next_at_, now + rules_.interval);
}

void host_gate::returned(clock::time_point now) noexcept {
    if (!std::exchange(has_returned_, true)) {
        leaves(now);
    }
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
        reason_ = why;
    }
}

void host_gate::slow_down(clock::duration interval) noexcept {
    if (interval > rules_.interval) {
        next_at_ += interval - rules_.interval;
        rules_.interval = interval;
    }
}

void host_gate::restore(clock::time_point next_at, std::uint32_t failures,
                        std::uint32_t trips) noexcept {
    next_at_ = next_at;
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
