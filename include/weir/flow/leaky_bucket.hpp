// SPDX-License-Identifier: MIT
// leaky_bucket: one at a time, evenly spaced.
//
//     weir::leaky_bucket pace({.interval = 100ms});
//     auto turn = co_await pace.acquire();     // the next one comes 100 ms later
//
// With from = measured_from::completion the pause begins when the turn ends: when `turn` goes, or
// with turn.done(). Then there is never more than one at a time, and a slow call delays the next.
// See limiter.hpp for waiting.
#pragma once

#include <weir/flow/decision/spacing.hpp>
#include <weir/flow/limiter.hpp>

namespace weir {

struct leaky_bucket_options;
using leaky_bucket = limiter<decision::spacing, leaky_bucket_options>;

struct leaky_bucket_options {
    using policy_type = leaky_bucket;

    clock::duration interval{};  // between one and the next
    decision::measured_from from = decision::measured_from::start;
    std::size_t max_waiting = 65536;  // 0: nobody waits
    weir::when_full when_full = weir::when_full::refuse_newest;
    queue_order order = queue_order::oldest_first;
    clock::duration max_wait = clock::duration::max();  // longer ones are refused at once
    std::string_view name{};
    weir::observer* observer = nullptr;

    decision::spacing_limits limiter_limits() const noexcept { return {interval, from}; }
    detail::line_options line() const noexcept {
        return {"leaky_bucket", name, max_waiting, when_full, order, max_wait, observer};
    }
};

}  // namespace weir
