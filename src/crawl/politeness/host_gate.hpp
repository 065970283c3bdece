// SPDX-License-Identifier: MIT
// When the next request to a host may start. A decision: it is given the time and never waits. The
// rate, Crawl-delay, Retry-After and the breaker all end in one time before which it says no.
#pragma once

#include <weir/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weir::crawl::detail {

struct gate_rules {
    gate_rules() = default;
    // `rate`: requests a second, 0 for no limit; `delay`: between two requests, at least.
    gate_rules(double rate, clock::duration delay) noexcept;

    clock::duration interval{};  // between two requests, on average
    // Within as many intervals there are at most so many requests; 1: they are evenly spaced.
    std::size_t window = 1;
    std::size_t max_in_flight = 8;
    std::uint32_t breaker_failures = 5;  // 0: never
    clock::duration breaker_time{};
    std::uint32_t breaker_trips = 3;
};

class host_gate {
public:
    enum class wait_reason : std::uint8_t { none, rate, retry_after, breaker, robots };

    explicit host_gate(const gate_rules& rules) noexcept : rules_(rules) {}

    bool is_full() const noexcept { return in_flight_ >= (trips_ > 0 ? 1 : rules_.max_in_flight); }
    std::size_t in_flight() const noexcept { return in_flight_; }
    clock::time_point next_at() const noexcept { return next_at_; }
    wait_reason reason() const noexcept { return reason_; }

    // A request begins. `due`: when it could have; what it is late by is made up for, up to half a
    // window.
    void begin(clock::time_point now, clock::time_point due);
    // The request that began last leaves only now.
    void leaves(clock::time_point now) noexcept;
    // The answer to the request that left at `left`. A request whose answer takes longer than usual
    // may have reached the server late, the first one above all, which waits for its connection.
    void answered(clock::time_point left, clock::duration latency) noexcept;
    void end(clock::time_point now) noexcept;
    // Nothing was requested for a while, and nothing is.
    bool is_idle(clock::time_point now) const noexcept;
    void succeed() noexcept;
    // A failure that is the host's: no connection, no answer. True if the host is to be given up.
    bool fail(clock::time_point now) noexcept;
    void wait_until(clock::time_point when, wait_reason why) noexcept;
    // Crawl-delay of robots.txt, if longer than the own interval.
    void slow_down(clock::duration interval) noexcept;

    std::uint32_t failures() const noexcept { return failures_; }
    std::uint32_t trips() const noexcept { return trips_; }
    void restore(clock::time_point next_at, std::uint32_t failures, std::uint32_t trips) noexcept;

private:
    clock::duration window_time() const noexcept;
    clock::duration longest_credit() const noexcept { return window_time() / 2; }
    // Between planned times.
    clock::duration step() const noexcept;
    void plan_next() noexcept;

    gate_rules rules_;
    clock::time_point next_at_ = clock::time_point::min();
    clock::time_point slot_ = clock::time_point::min();  // of the last request, as planned
    std::vector<clock::time_point> left_;  // the last requests of a window: when they left
    std::size_t last_ = 0;                 // in left_, which is a ring
    clock::time_point ended_at_ = clock::time_point::min();  // the last request
    clock::duration quickest_ = clock::duration::max();      // of the answers
    std::size_t in_flight_ = 0;
    std::uint32_t failures_ = 0;  // in a row
    std::uint32_t trips_ = 0;     // in a row; not 0: one request at a time tries the host
    wait_reason reason_ = wait_reason::none;
};

std::string_view name_of(host_gate::wait_reason why) noexcept;

}  // namespace weir::crawl::detail
