// SPDX-License-Identifier: MIT
// redis::sliding_window: at most `limit` in any window of time, for all limiters with the same key.
//
// Exact to the microsecond of the clock of Redis, which keeps some 30 bytes for each grant within a
// window. weir::sliding_window across processes. See limiter.hpp for what differs, and for what
// happens when Redis is away.
#pragma once

#include <weir/db/redis/limiter.hpp>
#include <weir/flow/decision/window_weight.hpp>

#include <chrono>
#include <string_view>

namespace weir::redis {

// The texts are copied.
struct sliding_window_options {
    std::string_view key{};  // in Redis: limiters with this key share the limit
    double limit = 0;        // at most this much
    clock::duration window = std::chrono::seconds(1);   // in any window of this length
    std::size_t max_waiting = 65536;                    // 0: no task waits
    clock::duration max_wait = clock::duration::max();  // calls that would wait longer are refused
    redis::when_away when_away = redis::when_away::refuse;
    double share = 0.1;  // limit_locally: of the limit, and at least 1
    clock::duration timeout = std::chrono::milliseconds(250);      // then Redis counts as away
    clock::duration probe_every = std::chrono::milliseconds(250);  // while it is away
    std::string_view name{};                                       // default: the key
    weir::observer* observer = nullptr;

    decision::window_limits limiter_limits() const noexcept { return {limit, window}; }
};

class sliding_window final : public limiter {
public:
    using limits = decision::window_limits;

    // The client must outlive it. Throws invalid_argument for invalid options.
    sliding_window(client& store, const sliding_window_options& options);

    // From the next question on; waiting tasks are considered again. The user has to change the
    // other processes too. A longer window does not bring back grants that the shorter one dropped.
    void set_rate(const limits& changed);
};

}  // namespace weir::redis
