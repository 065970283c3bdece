// SPDX-License-Identifier: MIT
// What the body of a managed task can know and say about itself.
#pragma once

#include <weir/flow/managed_task.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

namespace weir {

class blocking_context;

namespace detail {

class task_manager_core;
struct live_task;
struct inbox;

// Set for functions that block, which a stop cannot reach.
struct stop_flag {
    std::atomic<bool> is_set{false};
};

}  // namespace detail

// For coroutines: take it as the first parameter, by reference. Lives as long as the body.
class task_context {
public:
    task_context(detail::task_manager_core& manager,
                 std::shared_ptr<detail::live_task> of) noexcept;
    task_context(const task_context&) = delete;
    task_context& operator=(const task_context&) = delete;

    const std::string& id() const noexcept;
    const std::string& name() const noexcept;
    // How much is done, 0 to 1, and what is being done: seen in the record and as an event. Throws
    // invalid_argument if it is not a number; what is beyond the ends is moved to them.
    void progress(double fraction, std::string_view message = {});

    blocking_context for_thread() const;  // for the library

private:
    detail::task_manager_core& manager_;
    std::shared_ptr<detail::live_task> of_;
};

// The same for functions that run on an executor. May be used on any thread.
class blocking_context {
public:
    const std::string& id() const noexcept { return id_; }
    // Reaches the record when the loop gets to it.
    void progress(double fraction, std::string_view message = {}) const;
    // Somebody cancelled the task: return soon. It counts as cancelled whatever is returned.
    bool stop_requested() const noexcept { return stop_->is_set.load(std::memory_order_relaxed); }

private:
    friend class task_context;
    blocking_context() = default;

    std::string id_;
    std::weak_ptr<detail::task_manager_core> manager_;
    std::weak_ptr<detail::live_task> of_;
    std::shared_ptr<detail::inbox> mail_;
    std::shared_ptr<const detail::stop_flag> stop_;
};

}  // namespace weir
