// SPDX-License-Identifier: MIT
// token_bucket: limits the average rate and allows bursts.
//
//     weir::token_bucket bucket({.rate = 10, .burst = 20});
//     const auto waited = co_await bucket.acquire(3);
//
// In every interval of length t at most burst + rate * t tokens are granted. Tokens may be
// fractions. A request for more than the burst is an error. limiter.hpp describes waiting and the
// common options, decision/gcra.hpp the decision, which threads may share.
#pragma once

#include <weir/flow/decision/gcra.hpp>
#include <weir/flow/limiter.hpp>

namespace weir {

struct token_bucket_options;
using token_bucket = limiter<decision::gcra, token_bucket_options>;

struct token_bucket_options {
    using policy_type = token_bucket;
    static constexpr std::string_view kind = "token_bucket";

    double rate = 0;                                // tokens ...
    clock::duration per = std::chrono::seconds(1);  // ... per this period
    double burst = 1;                               // capacity of the bucket
    std::size_t max_waiting = 65536;
    weir::when_full when_full = weir::when_full::refuse_newest;
    queue_order order = queue_order::oldest_first;
    clock::duration max_wait = clock::duration::max();
    std::string_view name{};
    weir::observer* observer = nullptr;

    decision::gcra_limits limiter_limits() const noexcept { return {rate, per, burst}; }
};

}  // namespace weir
