// SPDX-License-Identifier: MIT
// The delay doubles with each failure. Objects made ahead wait a second at least: no task needs
// them yet, and they are not worth a storm of connects.

#include <weir/flow/detail/connect_backoff.hpp>

#include <algorithm>

namespace weir::detail {

clock::duration connect_backoff::grown(clock::duration first,
                                       clock::duration longest) const noexcept {
    const auto doublings = std::min<std::size_t>(failures_ - 1, 62);
    return first.count() > (longest.count() >> doublings)
               ? longest
               : clock::duration(first.count() << doublings);
}

void connect_backoff::failed(clock::time_point now) noexcept {
    ++failures_;
    const clock::duration delay = grown(first_, longest_);
    const clock::duration refill_delay = grown(
        std::chrono::seconds(1), std::max<clock::duration>(longest_, std::chrono::seconds(1)));
    next_connect_ = after(now, delay);
    next_refill_ = after(now, std::max(delay, refill_delay));
}

}  // namespace weir::detail
