// SPDX-License-Identifier: MIT
// Task-local values (context variables in asyncio).
#pragma once

#include <weir/detail/context.hpp>

#include <memory>
#include <utility>

namespace weir {

// A variable with a value of its own in each task. A spawned task begins with a snapshot of its
// spawner's values; a coroutine that is awaited directly shares its caller's. Callbacks run with
// the values at their registration. Typically a global:
//
//     weir::local<std::string> request_id{"none"};
//     request_id.set("r-17");  ...  request_id.get();
template <class T>
class local {
public:
    local() = default;
    explicit local(T fallback) : fallback_(std::move(fallback)) {}
    local(const local&) = delete;
    local& operator=(const local&) = delete;

    // The value of the running task, or the default. Valid until the task sets it anew.
    const T& get() const {
        const void* found = detail::find_value(this);
        return found != nullptr ? *static_cast<const T*>(found) : fallback_;
    }
    void set(T value) { detail::set_value(this, std::make_shared<T>(std::move(value))); }
    void reset() { detail::set_value(this, nullptr); }

    // Sets the value and restores the former one at the end of the scope, for the task that set it:
    // a generator's body may end on another one, or on none.
    class [[nodiscard]] scoped {
    public:
        scoped(local& variable, T value) : variable_(variable) {
            if (detail::find_value(&variable) != nullptr) {
                former_ = std::make_shared<T>(variable.get());
            }
            variable.set(std::move(value));
            cell_ = detail::share_context(detail::current_context());
        }
        scoped(const scoped&) = delete;
        scoped& operator=(const scoped&) = delete;
        ~scoped() {
            detail::set_value_in(*cell_, &variable_, std::move(former_));
            detail::release_context(cell_);
        }

    private:
        local& variable_;
        std::shared_ptr<T> former_;
        detail::context_values* cell_;
    };

private:
    T fallback_{};
};

// A set of task-local values that several tasks can be given, which then share and change it.
class context {
public:
    context() : cell_(new detail::context_values) {}
    // A copy of the running task's values.
    static context copy_of_current();
    context(const context& other) noexcept : cell_(detail::share_context(other.cell_)) {}
    context& operator=(context other) noexcept {
        std::swap(cell_, other.cell_);
        return *this;
    }
    ~context() { detail::release_context(cell_); }

    detail::context_values* cell() const noexcept { return cell_; }

private:
    explicit context(detail::context_values* cell) noexcept : cell_(cell) {}
    detail::context_values* cell_;
};

}  // namespace weir
