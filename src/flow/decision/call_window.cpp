// SPDX-License-Identifier: MIT
// The rare paths of the window of calls. Slices begin at multiples of their length since the
// clock's epoch, so their borders do not depend on the traffic.

#include <weir/flow/decision/call_window.hpp>

#include <algorithm>

namespace weir::decision {

void call_window::forget() noexcept {
    seen_ = {};
    place_ = 0;
    std::fill(marks_.begin(), marks_.end(), std::uint8_t{0});
    std::fill(buckets_.begin(), buckets_.end(), totals{});
}

void call_window::turn(clock::time_point now) noexcept {
    const clock::rep length = slice_.count();
    const clock::rep time = now.time_since_epoch().count();
    const clock::rep remainder = time % length;
    const clock::time_point begin =
        now - clock::duration(remainder < 0 ? remainder + length : remainder);
    // The number of slices begun since; all of them if this is the first call.
    std::size_t begun = buckets_.size();
    if (slice_end_ != clock::time_point::min()) {
        begun = static_cast<std::size_t>(std::min<clock::rep>(
            (begin - slice_end_) / slice_ + 1, static_cast<clock::rep>(buckets_.size())));
    }
    for (; begun > 0; --begun) {
        place_ = place_ + 1 == buckets_.size() ? 0 : place_ + 1;
        totals& oldest = buckets_[place_];
        seen_.calls -= oldest.calls;
        seen_.failures -= oldest.failures;
        seen_.slow -= oldest.slow;
        oldest = {};
    }
    slice_end_ = detail::after(begin, slice_);
}

}  // namespace weir::decision
