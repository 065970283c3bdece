// SPDX-License-Identifier: MIT
// The part of a queue that does not depend on its items: the operations that wait, how many items
// and places are free to take, how many items are unfinished.
#pragma once

#include <weir/base/wait_list.hpp>

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <utility>

namespace weir {

// put on a closed queue; get on one that is closed and empty.
class queue_closed : public std::runtime_error {
public:
    queue_closed() : std::runtime_error("the queue is closed") {}
};
class queue_full : public std::runtime_error {
public:
    queue_full() : std::runtime_error("the queue is full") {}
};
class queue_empty : public std::runtime_error {
public:
    queue_empty() : std::runtime_error("the queue is empty") {}
};

namespace detail {

class join_queue_operation;

// Each item in the queue, and each place that is not taken, is either free (counted by items_ and
// room_) or claimed by an operation that was granted it. No operation waits while something is
// free.
class queue_core {
public:
    queue_core(const queue_core&) = delete;
    queue_core& operator=(const queue_core&) = delete;

    void task_done();
    bool is_closed() const noexcept { return is_closed_; }

    // For destructors: the same as task_done, and too many are ignored.
    void finish_one() noexcept;

protected:
    // Throws invalid_argument unless it can be a capacity.
    static std::ptrdiff_t checked_capacity(std::size_t capacity);
    static constexpr std::ptrdiff_t no_bound = std::numeric_limits<std::ptrdiff_t>::max();

    explicit queue_core(std::ptrdiff_t capacity) noexcept : room_(capacity), capacity_(capacity) {}
    ~queue_core() {
        getters_.orphan();
        putters_.orphan();
        joiners_.orphan();
    }

    bool has_room() const noexcept { return room_ > 0; }
    bool has_item() const noexcept { return items_ > 0; }

    void item_added() noexcept {
        ++unfinished_;
        pass_item();
    }
    void place_freed(bool is_empty) noexcept {
        pass_place();
        if (is_closed_ && is_empty) [[unlikely]] {
            getters_.release_waiting(wait_state::refused);
        }
    }
    void pass_item() noexcept {
        if (getters_.has_waiting()) {
            getters_.grant_first();
        } else {
            ++items_;
        }
    }
    void pass_place() noexcept {
        if (putters_.has_waiting()) {
            putters_.grant_first();
        } else {
            ++room_;
        }
    }

    // An operation is destroyed without having resumed.
    void abandon_put(listed_operation& stopped) noexcept;
    void abandon_get(listed_operation& stopped) noexcept;

    void begin_close(bool is_empty);                // throws wrong_thread
    void drop_items(std::size_t dropped) noexcept;  // all there are

    [[noreturn]] void throw_no_room() const;
    [[noreturn]] void throw_no_item() const;
    [[noreturn]] static void throw_refused(wait_state state);

    friend class join_queue_operation;
    wait_list getters_;
    wait_list putters_;
    std::ptrdiff_t items_ = 0;
    std::ptrdiff_t room_;  // far below zero once closed
    std::size_t unfinished_ = 0;
    bool is_closed_ = false;
    std::ptrdiff_t capacity_;
    wait_list joiners_;
};

class WEIR_MUST_AWAIT join_queue_operation final : public listed_operation {
public:
    explicit join_queue_operation(queue_core& joined) noexcept : queue_(&joined) {}
    join_queue_operation(join_queue_operation&&) noexcept = default;
    ~join_queue_operation() {
        if (state_ == wait_state::waiting) [[unlikely]] {
            queue_->joiners_.remove(*this);
        }
    }

    bool ready() noexcept override { return queue_->unfinished_ == 0; }
    bool start() noexcept override { return queue_->joiners_.enter(*this); }
    bool cancel() noexcept override {
        queue_->joiners_.remove(*this);
        state_ = wait_state::idle;
        return true;
    }
    const char* name() const noexcept override { return "queue.join"; }
    void resume() {
        if (state_ > wait_state::granted) [[unlikely]] {
            throw_wait_error(std::exchange(state_, wait_state::idle), "queue");
        }
    }

private:
    queue_core* queue_;
};

}  // namespace detail

}  // namespace weir
