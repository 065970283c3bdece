// SPDX-License-Identifier: MIT
// Each bucket has its own count; write() computes the cumulative counts of the format.

#include <weir/flow/duration_histogram.hpp>

#include <algorithm>

namespace weir {

void duration_histogram::record(clock::duration took) noexcept {
    const double seconds = std::max(0.0, std::chrono::duration<double>(took).count());
    const auto bound = std::lower_bound(bounds.begin(), bounds.end(), seconds);
    ++counts_[static_cast<std::size_t>(bound - bounds.begin())];
    ++count_;
    sum_ += seconds;
}

void duration_histogram::write(metric_writer& to, std::string_view name, std::string_view help,
                               std::span<const metric_label> labels) const {
    std::array<std::uint64_t, bounds.size()> up_to{};
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        total += counts_[i];
        up_to[i] = total;
    }
    to.histogram(name, help, labels, bounds, up_to, count_, sum_);
}

}  // namespace weir
