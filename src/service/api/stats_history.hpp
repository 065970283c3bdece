// SPDX-License-Identifier: MIT
// The numbers of the last minutes, second by second, for who comes later. Of a fixed size, made at
// once.
//
// Seconds in which nothing happens need not be there: where the numbers stop, and where they go on,
// there is a sample of nothing, so that a line through all of them is right.
#pragma once

#include "service/api/json_writer.hpp"

#include <weir/service/task.hpp>

#include <array>
#include <cstddef>
#include <optional>

namespace weir::service::detail {

struct stats_sample {
    timestamp at{};
    // Tasks a second.
    float submitted = 0;
    float started = 0;
    float completed = 0;
    float failed = 0;
    // Seconds; below 0: none were begun, or ended.
    float wait_p50 = -1;
    float wait_p99 = -1;
    float run_p50 = -1;
};

class stats_history {
public:
    static constexpr std::size_t capacity = 300;

    void add(const stats_sample& made) noexcept {
        samples_[next_] = made;
        next_ = (next_ + 1) % capacity;
        size_ += size_ < capacity ? 1 : 0;
    }
    std::size_t size() const noexcept { return size_; }

    // The members of an object that is open: one list for each number, oldest first.
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
