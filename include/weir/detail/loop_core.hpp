// SPDX-License-Identifier: MIT
// The part of a loop that operations touch: the ready queue and the facts checked on the way.
#pragma once

#include <cstdint>

#include <weir/detail/fiber.hpp>

namespace weir::detail {

class loop_core {
public:
    loop_core() = default;
    loop_core(const loop_core&) = delete;
    loop_core& operator=(const loop_core&) = delete;

    // Appends to the ready queue. On the loop's thread only.
    void push(ready_item& item) noexcept {
        item.flags = static_cast<std::uint16_t>(item.flags | is_queued);
        item.next = nullptr;
        *ready_tail_ = &item;
        ready_tail_ = &item.next;
    }
    void push_once(ready_item& item) noexcept {
        if ((item.flags & is_queued) == 0) {
            push(item);
        }
    }

    bool debug() const noexcept { return debug_; }
    bool shields_are_broken() const noexcept { return shields_broken_; }
    // Throws wrong_thread when debug mode is on and this is not the loop's thread.
    void check_thread(const char* what) const {
        if (debug_) [[unlikely]] {
            check_thread_slow(what);
        }
    }

    // Runs one fiber until it suspends or ends. Nested for eager starts.
    void step(fiber& ready) noexcept;

    group_state& root() noexcept { return *root_; }

protected:
    ~loop_core() = default;
    void check_thread_slow(const char* what) const;
    // A stop is due, or an operation has yet to start.
    static next_step unusual_entry(fiber& ready) noexcept;

    ready_item* ready_head_ = nullptr;
    ready_item** ready_tail_ = &ready_head_;
    group_state* root_ = nullptr;
    bool debug_ = false;
    bool shields_broken_ = false;  // the deadline of the shutdown has passed
};

constexpr unsigned operations_per_step = 256;

}  // namespace weir::detail
