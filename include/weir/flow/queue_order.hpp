// SPDX-License-Identifier: MIT
// queue_order: which of the waiting callers goes next. when_full: which one is refused when the
// queue is full.
//
// Oldest first is fair. Newest first suits overload, where the callers that have waited longest
// have mostly given up: new callers are answered in time, and the older ones wait for a lull or are
// refused when their max_wait is over.
#pragma once

namespace weir {

enum class queue_order : unsigned char { oldest_first, newest_first };

// Which request is refused when max_waiting are waiting.
enum class when_full : unsigned char {
    refuse_newest,    // the new request: queue_full
    displace_oldest,  // the request that has waited longest: displaced
};

}  // namespace weir
