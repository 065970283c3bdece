// SPDX-License-Identifier: MIT
// The part of a loop that operations touch: the ready queue and the facts checked on the way.
#pragma once

#include <weir/detail/fiber.hpp>

#include <cstdint>

namespace weir::detail {

// How many operations of a step may complete without waiting; then the fiber yields.
constexpr unsigned operations_per_step = 256;

class loop_core {
public:
    loop_core() noexcept;
    loop_core(const loop_core&) = delete;
    loop_core& operator=(const loop_core&) = delete;

    // Appends to the ready queue. On the loop's thread only.
    void push(ready_item& item) noexcept {
        item.next = nullptr;
        *ready_tail_ = &item;
        ready_tail_ = &item.next;
    }
    // Queues a fiber that waits in a boundary, unless that has been done.
    void unpark(fiber& parked) noexcept {
        if (parked.has(is_parked)) {
            parked.clear(is_parked);
            push(parked);
        }
    }

    // Never 0, and never that of another loop, also of one that is gone.
    std::uint32_t id() const noexcept { return id_; }
    bool debug() const noexcept { return debug_; }
    bool eager() const noexcept { return eager_; }
    bool shields_are_broken() const noexcept { return shields_broken_; }
    // Throws wrong_thread when debug mode is on and this is not the loop's thread.
    void check_thread(const char* what) const {
        if (debug_) [[unlikely]] {
            check_thread_slow(what);
        }
    }

    void check_wake_slow() const;

    // Runs one fiber until it suspends or ends. Nested for eager starts.
    void step(fiber& ready, unsigned budget = operations_per_step) noexcept;
    // Runs fibers from the front of the queue, up to so many, until it is empty or a callback is
    // next. Returns how many of the number are left.
    int run_fibers(int count) noexcept;

    group_state& root() noexcept { return *root_; }

protected:
    ~loop_core() = default;
    ready_item& take(ready_item** place) noexcept {
        ready_item& item = **place;
        *place = item.next;
        if (item.next == nullptr) {
            ready_tail_ = place;
        }
        return item;
    }
    void check_thread_slow(const char* what) const;

    ready_item* ready_head_ = nullptr;
    ready_item** ready_tail_ = &ready_head_;
    group_state* root_ = nullptr;
    const std::uint32_t id_;
    bool debug_ = false;
    bool eager_ = false;           // spawn runs the first step at once, by default
    bool shields_broken_ = false;  // the deadline of the shutdown has passed
};

}  // namespace weir::detail
