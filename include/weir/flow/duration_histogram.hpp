// SPDX-License-Identifier: MIT
// duration_histogram: counts durations in the buckets of a Prometheus histogram.
#pragma once

#include <weir/flow/telemetry.hpp>

#include <array>
#include <cstdint>

namespace weir {

// From half a millisecond to a minute, in steps of 1, 2.5 and 5. Recording costs a short search and
// does not allocate. For percentiles, see decision/latency_histogram.hpp.
class duration_histogram {
public:
    static constexpr std::array<double, 16> bounds = {
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};

    void record(clock::duration took) noexcept;
    std::uint64_t count() const noexcept { return count_; }
    double sum() const noexcept { return sum_; }  // seconds

    void write(metric_writer& to, std::string_view name, std::string_view help,
               std::span<const metric_label> labels) const;

private:
    std::array<std::uint64_t, bounds.size() + 1> counts_{};  // the last: above all bounds
    std::uint64_t count_ = 0;
    double sum_ = 0;
};

}  // namespace weir
