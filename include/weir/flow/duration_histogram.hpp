// SPDX-License-Identifier: MIT
// duration_histogram: counts durations in the buckets of a Prometheus histogram.
//
//     struct download_bounds {
//         static constexpr std::array<double, 3> seconds = {1, 10, 60};
//     };
//     weir::basic_duration_histogram<download_bounds> downloads;
#pragma once

#include <weir/flow/telemetry.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weir {

// `Bounds::seconds` is an array of the upper bounds of the buckets, in ascending order. Recording
// costs a short search and does not allocate. For percentiles, see decision/latency_histogram.hpp.
template <class Bounds>
class basic_duration_histogram {
public:
    static constexpr const auto& bounds = Bounds::seconds;

    void record(clock::duration took) noexcept {
        const double seconds = std::max(0.0, std::chrono::duration<double>(took).count());
        const auto bound = std::lower_bound(bounds.begin(), bounds.end(), seconds);
        ++counts_[static_cast<std::size_t>(bound - bounds.begin())];
        ++count_;
        sum_ += seconds;
    }
    std::uint64_t count() const noexcept { return count_; }
    double sum() const noexcept { return sum_; }  // seconds

    // The counts of the format are cumulative.
    void write(metric_writer& to, std::string_view name, std::string_view help,
               std::span<const metric_label> labels) const {
        std::array<std::uint64_t, bucket_count> up_to{};
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < bucket_count; ++i) {
            total += counts_[i];
            up_to[i] = total;
        }
        to.histogram(name, help, labels, bounds, up_to, count_, sum_);
    }

private:
    static constexpr std::size_t bucket_count = Bounds::seconds.size();

    std::array<std::uint64_t, bucket_count + 1> counts_{};  // the last: above all bounds
    std::uint64_t count_ = 0;
    double sum_ = 0;
};

// From half a millisecond to a minute, in steps of 1, 2.5 and 5: for calls.
struct call_duration_bounds {
    static constexpr std::array<double, 16> seconds = {
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
};
using duration_histogram = basic_duration_histogram<call_duration_bounds>;

}  // namespace weir
