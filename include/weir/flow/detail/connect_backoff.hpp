// SPDX-License-Identifier: MIT
// When a pool may connect again after a failure. Without a clock: the caller passes the time.
#pragma once

#include <weir/flow/pool_options.hpp>

#include <cstddef>

namespace weir::detail {

class connect_backoff {
public:
    explicit connect_backoff(const pool_options& options) noexcept
        : first_(options.connect_backoff), longest_(options.max_connect_backoff) {}

    void succeeded() noexcept { failures_ = 0; }
    void failed(clock::time_point now) noexcept;

    bool is_failing() const noexcept { return failures_ > 0; }
    std::size_t failures() const noexcept { return failures_; }  // since the last success
    // For a task that waits, and for an object made ahead (min_idle).
    clock::time_point next_connect() const noexcept { return next_connect_; }
    clock::time_point next_refill() const noexcept { return next_refill_; }

private:
    clock::duration grown(clock::duration first, clock::duration longest) const noexcept;

    clock::duration first_;
    clock::duration longest_;
    std::size_t failures_ = 0;
    clock::time_point next_connect_;
    clock::time_point next_refill_;
};

}  // namespace weir::detail
