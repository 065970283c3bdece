// SPDX-License-Identifier: MIT
// redis::token_bucket: a rate on average and a burst at once, for all limiters with the same key.
//
// By the clock of Redis at most burst + rate * t pass in every interval of length t:
// weir::token_bucket across processes. See limiter.hpp for what differs, and for what happens when
// Redis is away.
#pragma once

#include <weir/db/redis/limiter.hpp>
#include <weir/flow/decision/gcra_terms.hpp>

#include <chrono>
#include <string_view>

namespace weir::redis {

// The texts are copied.
struct token_bucket_options {
    std::string_view key{};                             // in Redis: limiters with this key share it
    double rate = 0;                                    // tokens
    clock::duration per = std::chrono::seconds(1);      // the time for `rate` tokens
    double burst = 1;                                   // tokens in a full bucket
    std::size_t max_waiting = 65536;                    // 0: no task waits
    clock::duration max_wait = clock::duration::max();  // calls that would wait longer are refused
    redis::when_away when_away = redis::when_away::refuse;
    double share = 0.1;  // limit_locally: of rate and burst; the burst is at least 1
    clock::duration timeout = std::chrono::milliseconds(250);      // then Redis counts as away
    clock::duration probe_every = std::chrono::milliseconds(250);  // while it is away
    std::string_view name{};                                       // default: the key
    weir::observer* observer = nullptr;

    decision::gcra_limits limiter_limits() const noexcept { return {rate, per, burst}; }
};

class token_bucket final : public limiter {
public:
    using limits = decision::gcra_limits;

    // The client must outlive it. Throws invalid_argument for invalid options.
    token_bucket(client& store, const token_bucket_options& options);

    // From the next question on; waiting tasks are considered again. The user has to change the
    // other processes too; until then each decides by its own rate. The tokens in the bucket stay.
    void set_rate(const limits& changed);
};

}  // namespace weir::redis
