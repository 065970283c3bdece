// SPDX-License-Identifier: MIT
// The options and statistics of keyed_limiter.
#pragma once

#include <weir/flow/decision/pace.hpp>
#include <weir/flow/detail/time_slot.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/telemetry.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weir {

// What becomes of a new key when max_keys others still limit.
enum class when_keys_full : unsigned char {
    refuse,  // refused: too_many_keys
    share,   // all such keys share one bucket of their rate
};

template <class Key>
struct keyed_limiter_options {
    double rate = 0;  // tokens for each key ...
    clock::duration per = std::chrono::seconds(1);
    double burst = 1;  // and at most so many at once
    std::size_t max_keys = 1'000'000;
    weir::when_keys_full when_keys_full = weir::when_keys_full::refuse;
    // Rates of their own: class_of gives 0 for the rate above, n for the n-th of classes.
    std::span<const key_rate> classes = {};
    hook<std::size_t(detail::lookup_key<Key>)> class_of = nullptr;
    std::size_t max_waiting = 10'000;  // of all keys together
    clock::duration max_wait = clock::duration::max();
    std::string_view name = "keyed_limiter";
    weir::observer* observer = nullptr;  // told "full", once a minute at most
    hash_seed seed = {};                 // all 0: random
};

struct keyed_limiter_stats {
    std::uint64_t granted = 0;
    std::uint64_t limited = 0;     // refused: the key's own rate
    std::uint64_t full = 0;        // refused: too many keys
    std::uint64_t not_waited = 0;  // refused: the line was full, or the wait too long
    std::uint64_t returned = 0;    // granted to tasks that were stopped before they saw it
    std::uint64_t evicted = 0;     // keys forgotten
    std::size_t keys = 0;          // keys remembered; some may be forgotten already when it matters
    std::size_t waiting = 0;
    std::size_t bytes = 0;
};

}  // namespace weir
