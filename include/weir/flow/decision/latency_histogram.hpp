// SPDX-License-Identifier: MIT
// latency_histogram: percentiles of durations in fixed memory, at most 12.5 % too high.
#pragma once

#include <weir/clock.hpp>

#include <array>
#include <bit>
#include <cstdint>

namespace weir::decision {

// Counts durations in buckets of growing width: eight for each power of two from 16 microseconds to
// six days, and one microsecond wide below.
class latency_histogram {
public:
    static constexpr std::size_t buckets = 296;

    void record(clock::duration time) noexcept {
        ++counts_[bucket_of(time)];
        ++count_;
    }
    std::uint64_t count() const noexcept { return count_; }
    std::uint32_t count_in(std::size_t bucket) const noexcept { return counts_[bucket]; }
    // Upper bound of the percentile; share is from 0 to 1. At most 12.5 % or a microsecond too
    // high. Zero if there are no durations.
    clock::duration percentile(double share) const noexcept;
    void clear() noexcept { *this = {}; }

    static constexpr std::size_t bucket_of(clock::duration time) noexcept {
        const std::int64_t nanoseconds = time.count() < 0 ? 0 : time.count();
        const std::uint64_t units = static_cast<std::uint64_t>(nanoseconds) >> unit_bits;
        if (units < linear) {
            return static_cast<std::size_t>(units);
        }
        const auto power = static_cast<unsigned>(std::bit_width(units) - 1);
        if (power > last_power) {
            return buckets - 1;
        }
        return linear + (power - first_power) * 8 + ((units >> (power - 3)) & 7);
    }
    // The upper bound of the bucket.
    static constexpr clock::duration end_of(std::size_t bucket) noexcept {
        std::uint64_t units = bucket + 1;
        if (bucket >= linear) {
            const std::size_t above = bucket - linear;
            const std::size_t power = above / 8 + first_power;
            units = (std::uint64_t{8} + above % 8 + 1) << (power - 3);
        }
        return clock::duration(static_cast<std::int64_t>(units << unit_bits));
    }

private:
    static constexpr unsigned unit_bits = 10;
    static constexpr std::size_t linear = 16;
    static constexpr unsigned first_power = 4;
    static constexpr unsigned last_power = 38;

    std::array<std::uint32_t, buckets> counts_{};
    std::uint64_t count_ = 0;
};

// Recent durations: those of the current and of the previous period.
class recent_latencies {
public:
    explicit recent_latencies(clock::duration period) noexcept : period_(period) {}

    void record(clock::time_point now, clock::duration time) noexcept {
        turn(now);
        halves_[current_].record(time);
    }
    std::uint64_t count(clock::time_point now) noexcept {
        turn(now);
        return halves_[0].count() + halves_[1].count();
    }
    clock::duration percentile(clock::time_point now, double share) noexcept;

private:
    void turn(clock::time_point now) noexcept;

    std::array<latency_histogram, 2> halves_;
    clock::duration period_;
    clock::time_point end_ = clock::time_point::min();
    std::size_t current_ = 0;
};

}  // namespace weir::decision
