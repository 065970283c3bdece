// SPDX-License-Identifier: MIT
// token_bucket: so many each second on average, a burst at once.
//
//     weir::token_bucket bucket({.rate = 10, .burst = 20});
//     const auto waited = co_await bucket.acquire(3);
//
// In every interval of length t at most burst + rate * t pass. Tokens may be fractions. Asking for
// more than the burst is an error at once. See limiter.hpp for waiting, and decision/gcra.hpp for
// what threads may share.
#pragma once

#include <weir/flow/decision/gcra.hpp>
#include <weir/flow/limiter.hpp>

namespace weir {

struct token_bucket_options;
using token_bucket = limiter<decision::gcra, token_bucket_options>;

struct token_bucket_options {
    using policy_type = token_bucket;

    double rate = 0;                                // tokens
    clock::duration per = std::chrono::seconds(1);  // each so often
    double burst = 1;                               // what it holds when it is full
    std::size_t max_waiting = 65536;                // 0: nobody waits
    weir::when_full when_full = weir::when_full::refuse_newest;
    queue_order order = queue_order::oldest_first;
    clock::duration max_wait = clock::duration::max();  // longer ones are refused at once
    std::string_view name{};
    weir::observer* observer = nullptr;

    decision::gcra_limits limiter_limits() const noexcept { return {rate, per, burst}; }
    detail::line_options line() const noexcept {
        return {"token_bucket", name, max_waiting, when_full, order, max_wait, observer};
    }
};

}  // namespace weir
