// SPDX-License-Identifier: MIT
// The time limits of one transfer: which is the next to expire, and which has expired. A decision
// without a clock or a timer: the caller passes the time in.
#pragma once

#include <weir/clock.hpp>
#include <weir/http/client_error.hpp>

#include <algorithm>
#include <optional>

namespace weir::http::detail {

struct request_limits {
    clock::time_point total = clock::time_point::max();
    clock::duration connect{};
    clock::duration stall{};
};

class time_limits {
public:
    void begin(const request_limits& limits, clock::time_point now) noexcept {
        limits_ = limits;
        last_activity_ = now;
        connect_deadline_ = clock::time_point::max();
    }
    // Bytes were sent or received, or the peer is not what the transfer waits for.
    void note_activity(clock::time_point when) noexcept {
        last_activity_ = std::max(last_activity_, when);
    }
    // libcurl opens a connection. Returns false if the connect limit runs already: several
    // addresses share it.
    bool begin_connecting(clock::time_point now) noexcept {
        if (connect_deadline_ != clock::time_point::max()) {
            return false;
        }
        last_activity_ = now;
        connect_deadline_ = weir::detail::after(now, limits_.connect);
        return true;
    }
    void end_connecting(clock::time_point now) noexcept {
        last_activity_ = now;
        connect_deadline_ = clock::time_point::max();
    }

    // The time at which to call expired() next; max() if there is no limit.
    clock::time_point next() const noexcept {
        return std::min({limits_.total, connect_deadline_, stall_deadline()});
    }
    std::optional<request_timed_out::limit> expired(clock::time_point now) const noexcept {
        using limit = request_timed_out::limit;
        if (now >= limits_.total) {
            return limit::total;
        }
        if (now >= connect_deadline_) {
            return limit::connect;
        }
        return now >= stall_deadline() ? std::optional(limit::stall) : std::nullopt;
    }

    // What has not changed since then has stalled.
    clock::time_point stalled_since(clock::time_point now) const noexcept {
        return limits_.stall < now.time_since_epoch() ? now - limits_.stall
                                                      : clock::time_point::min();
    }

private:
    clock::time_point stall_deadline() const noexcept {
        return weir::detail::after(last_activity_, limits_.stall);
    }

    request_limits limits_;
    clock::time_point connect_deadline_ = clock::time_point::max();
    clock::time_point last_activity_{};
};

}  // namespace weir::http::detail
