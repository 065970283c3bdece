// SPDX-License-Identifier: MIT
// When the next request to a host may start. A decision: it is given the time and never waits. The
// rate, Crawl-delay, Retry-After and the breaker all end in one time before which it says no.
#pragma once

#include <weir/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::crawl::detail {

struct gate_rules {
    clock::duration interval{};  // between the starts of two requests, at least
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

    void begin(clock::time_point now) noexcept;
    // The request that began last leaves only now.
    void leaves(clock::time_point now) noexcept;
    // A request has come back. The first one may have waited long for its connection.
    void returned(clock::time_point now) noexcept;
    void end() noexcept { --in_flight_; }
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
    gate_rules rules_;
    clock::time_point next_at_ = clock::time_point::min();
    std::size_t in_flight_ = 0;
    std::uint32_t failures_ = 0;  // in a row
    std::uint32_t trips_ = 0;     // in a row; not 0: one request at a time tries the host
    wait_reason reason_ = wait_reason::none;
    bool has_returned_ = false;
};

std::string_view name_of(host_gate::wait_reason why) noexcept;

}  // namespace weir::crawl::detail
