// SPDX-License-Identifier: MIT
// Times of the last while, for percentiles: buckets that grow by an eighth, from a microsecond to
// hours. Recording costs some shifts and no memory; what is read is at most 12.5 % too large.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace weir::service::detail {

class latency_window {
public:
    void record(std::chrono::microseconds took) noexcept {
        ++counts_[bucket_of(static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0)))];
        ++count_;
    }
    std::uint64_t count() const noexcept { return count_; }
    // In seconds; 0 if there is nothing.
    double quantile(double part) const noexcept {
        const auto wanted = static_cast<std::uint64_t>(part * static_cast<double>(count_));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            seen += counts_[i];
            if (seen > wanted || (seen == count_ && count_ > 0)) {
                return static_cast<double>(end_of(i)) / 1e6;
            }
        }
        return 0;
    }
    void clear() noexcept {
        counts_.fill(0);
        count_ = 0;
    }

private:
    static constexpr std::size_t exponents = 36;

    static constexpr std::size_t bucket_of(std::uint64_t micros) noexcept {
        if (micros < 8) {
            return static_cast<std::size_t>(micros);
        }
        const auto shift = static_cast<std::size_t>(std::bit_width(micros)) - 4;
        const std::size_t bucket = (shift + 1) * 8 + (micros >> shift & 7);
        return std::min(bucket, exponents * 8 - 1);
    }
    static constexpr std::uint64_t end_of(std::size_t bucket) noexcept {
        if (bucket < 8) {
            return bucket;
        }
        const std::size_t shift = bucket / 8 - 1;
        return ((bucket % 8 + 9) << shift) - 1;
    }

    std::array<std::uint32_t, exponents * 8> counts_{};
    std::uint64_t count_ = 0;
};

}  // namespace weir::service::detail
