// SPDX-License-Identifier: MIT
// task_context, blocking_context: through these the body of a managed task reads its id and reports
// its progress.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

namespace weir {

class blocking_context;

namespace detail {

class live_task;
struct inbox;

// Tells a function on another thread to stop: a stop of the fiber cannot reach it.
struct stop_flag {
    std::atomic<bool> is_set{false};
};

}  // namespace detail

// For coroutines: taken as the first parameter, by reference. Lives as long as the body.
class task_context {
public:
    explicit task_context(std::shared_ptr<detail::live_task> task) noexcept;  // for the library
    task_context(const task_context&) = delete;
    task_context& operator=(const task_context&) = delete;

    const std::string& id() const noexcept;
    const std::string& name() const noexcept;
    // The fraction done, 0 to 1, and a message: shown in the record, and published as an event.
    // Throws invalid_argument for NaN; other values are clamped to 0 to 1.
    void progress(double fraction, std::string_view message = {});

    blocking_context for_thread() const;  // for the library

private:
    std::shared_ptr<detail::live_task> task_;
};

// The same for functions that run on an executor. May be used on any thread.
class blocking_context {
public:
    const std::string& id() const noexcept { return id_; }
    // Reaches the record in a later step of the loop.
    void progress(double fraction, std::string_view message = {}) const;
    // The task was cancelled: return soon. It counts as cancelled even if the function returns a
    // value.
    bool stop_requested() const noexcept { return stop_->is_set.load(std::memory_order_relaxed); }

private:
    friend class task_context;
    blocking_context() = default;

    std::string id_;
    std::weak_ptr<detail::live_task> task_;
    std::shared_ptr<detail::inbox> mail_;
    std::shared_ptr<const detail::stop_flag> stop_;
};

}  // namespace weir
