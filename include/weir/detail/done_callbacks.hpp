// SPDX-License-Identifier: MIT
// The callbacks that run when a task or a future is done. They go through the ready queue, never
// inline, each with the task-local values of its registration.
#pragma once

#include <weir/base/unique_function.hpp>
#include <weir/detail/context.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <utility>
#include <vector>

namespace weir {

class loop;
enum class callback_id : std::uint64_t {};

namespace detail {

callback_id next_callback_id() noexcept;
// Queues a callback of the library itself. Takes ownership of the context, which may be null.
void queue_callback(loop& home, unique_function<void()> callback, context_values* context,
                    const std::source_location& registered);

template <class Subject>
class done_callbacks {
public:
    done_callbacks() noexcept = default;
    done_callbacks(const done_callbacks&) = delete;
    done_callbacks& operator=(const done_callbacks&) = delete;
    ~done_callbacks() { release_contexts(entries_); }

    bool empty() const noexcept { return entries_.empty(); }
    callback_id add(unique_function<void(Subject&)> callback, const std::source_location& where) {
        const callback_id id = next_callback_id();
        entries_.push_back({id, std::move(callback), snapshot_context(current_context()), where});
        return id;
    }
    // Returns how many were removed.
    std::size_t remove(callback_id id) noexcept {
        // Taken out before anything is destroyed: a callback's destructor may come back here.
        std::vector<entry> removed;
        for (std::size_t index = 0; index < entries_.size();) {
            if (entries_[index].id == id) {
                removed.push_back(std::move(entries_[index]));
                entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(index));
            } else {
                ++index;
            }
        }
        release_contexts(removed);
        return removed.size();
    }
    // Queues all of them, each with an owner that keeps the subject alive: owner() gives one, which
    // refers to the subject by operator*.
    template <class MakeOwner>
    void schedule(loop& home, MakeOwner owner) {
        std::vector<entry> due = std::move(entries_);
        entries_.clear();
        for (entry& each : due) {
            auto run = [keep = owner(), callback = std::move(each.run)]() mutable {
                callback(*keep);
            };
            queue_callback(home, std::move(run), each.context, each.registered);
        }
    }

private:
    struct entry {
        callback_id id;
        unique_function<void(Subject&)> run;
        context_values* context;  // task-local values at registration; owned
        std::source_location registered;
    };
    static void release_contexts(const std::vector<entry>& entries) noexcept {
        for (const entry& each : entries) {
            release_context(each.context);
        }
    }

    std::vector<entry> entries_;
};

}  // namespace detail
}  // namespace weir
