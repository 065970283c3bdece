// SPDX-License-Identifier: MIT
// The tasks with which a pool connects, checks, resets and closes its objects.
#pragma once

#include <weir/handle.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::detail {

enum class pool_job : unsigned char { connecting, checking, resetting, closing };

// How many tasks are busy with what, and their handles, to cancel them.
class pool_tasks {
public:
    std::size_t count(pool_job job) const noexcept { return busy_[index(job)]; }
    bool any() const noexcept;
    void begin(pool_job job) noexcept { ++busy_[index(job)]; }
    void end(pool_job job) noexcept { --busy_[index(job)]; }

    // Starts the task if the loop with this id runs here; else the task is destroyed.
    void launch(pool_job job, task<> work, std::uint32_t loop_id) noexcept;
    void cancel_connects() noexcept { cancel(true); }
    void cancel_all() noexcept { cancel(false); }

private:
    struct running_task {
        any_handle task;
        pool_job job;
    };
    static std::size_t index(pool_job job) noexcept { return static_cast<std::size_t>(job); }
    void cancel(bool connects_only) noexcept;

    std::size_t busy_[4] = {};
    std::vector<running_task> tasks_;
};

}  // namespace weir::detail
