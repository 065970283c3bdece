// SPDX-License-Identifier: MIT
// leaky_bucket: one request at a time, evenly spaced.
//
//     weir::leaky_bucket pace({.interval = 100ms});
//     auto turn = co_await pace.acquire();     // the next one comes 100 ms later
//
// With from = measured_from::completion the pause begins when the turn ends: when `turn` is
// destroyed, or with turn.done(). Then at most one turn is in flight, and a slow call delays the
// next. limiter.hpp describes waiting and the common options.
#pragma once

#include <weir/flow/decision/spacing.hpp>
#include <weir/flow/limiter.hpp>

namespace weir {

struct leaky_bucket_options;
using leaky_bucket = limiter<decision::spacing, leaky_bucket_options>;

struct leaky_bucket_options {
    using policy_type = leaky_bucket;
    static constexpr std::string_view kind = "leaky_bucket";

    clock::duration interval{};  // between one request and the next
    decision::measured_from from = decision::measured_from::start;
    std::size_t max_waiting = 65536;
    weir::when_full when_full = weir::when_full::refuse_newest;
    queue_order order = queue_order::oldest_first;
    clock::duration max_wait = clock::duration::max();
    std::string_view name{};
    weir::observer* observer = nullptr;

    decision::spacing_limits limiter_limits() const noexcept { return {interval, from}; }
};

}  // namespace weir
