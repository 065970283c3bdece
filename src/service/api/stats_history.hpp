// SPDX-License-Identifier: MIT
// Samples of the last minutes, one per second, for charts that are opened later. Fixed size.
//
// Idle seconds have no sample; the sampler adds one of zeros where activity stops and where it
// resumes, so that a line through all samples is right.
#pragma once

#include "service/api/json/json_writer.hpp"

#include <weir/service/task.hpp>

#include <array>
#include <cstddef>
#include <optional>

namespace weir::service::detail {

struct stats_sample {
    timestamp at{};
    // Tasks per second, over the last seconds.
    float submitted = 0;
    float started = 0;
    float completed = 0;
    float failed = 0;
    // Seconds; negative: no task was started, or ended.
    float wait_p50 = -1;
    float wait_p99 = -1;
    float run_p50 = -1;

    bool is_idle() const noexcept {
        return submitted == 0 && started == 0 && completed == 0 && failed == 0;
    }
};

class stats_history {
public:
    static constexpr std::size_t capacity = 300;

    void add(const stats_sample& sample) noexcept {
        samples_[next_] = sample;
        next_ = (next_ + 1) % capacity;
        size_ += size_ < capacity ? 1 : 0;
    }
    std::size_t size() const noexcept { return size_; }

    // Members of an open object: one list per number, oldest first.
    void write(json_writer& to) const;

private:
    const stats_sample& operator[](std::size_t index) const noexcept {
        return samples_[(next_ + capacity - size_ + index) % capacity];
    }

    std::array<stats_sample, capacity> samples_{};
    std::size_t next_ = 0;
    std::size_t size_ = 0;
};

}  // namespace weir::service::detail
