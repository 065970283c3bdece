// SPDX-License-Identifier: MIT
// redis::token_bucket: so many each second on average, a burst at once, for all who use the same
// key.
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
    std::string_view key{};                         // in Redis: who has the same shares the limit
    double rate = 0;                                // tokens
    clock::duration per = std::chrono::seconds(1);  // each so often
    double burst = 1;                               // what it holds when it is full
    std::size_t max_waiting = 65536;                // 0: nobody waits
    clock::duration max_wait = clock::duration::max();  // longer ones are refused at once
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

    // The client must outlive it. Throws invalid_argument for options that make no sense.
    token_bucket(client& at, const token_bucket_options& options);

    // From the next question on; those who wait are asked for anew. The other processes have to be
    // told by the user; until then, each decides by what it was told. What the bucket holds stays.
    void set_rate(const limits& changed);
};

}  // namespace weir::redis
