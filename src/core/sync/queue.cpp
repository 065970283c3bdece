// SPDX-License-Identifier: MIT
// The rare paths of queues: returned claims, closing, and errors.
//
// After close() the count of free places is far below zero, so that the test whether a put may go
// ahead is one comparison. Getters may still wait after close(), while others have claims on all
// remaining items: if one of those is stopped, a waiting getter takes over its item; when the last
// item is taken, the waiting getters are woken with the end of the queue.

#include <weir/detail/queue_core.hpp>
#include <weir/error.hpp>

#include <string>

namespace weir::detail {

std::ptrdiff_t queue_core::checked_capacity(std::size_t capacity) {
    if (capacity == 0) {
        throw invalid_argument(
            "a queue cannot have a capacity of 0; for one without a bound: unbounded()");
    }
    if (capacity > static_cast<std::size_t>(no_bound)) {
        throw invalid_argument("a queue cannot have a capacity of " + std::to_string(capacity) +
                               " (is it a negative number?)");
    }
    return static_cast<std::ptrdiff_t>(capacity);
}

void queue_core::task_done() {
    if (unfinished_ == 0) {
        throw invalid_state("queue::task_done: called more often than items were put");
    }
    joiners_.check_thread("queue::task_done()");
    finish_one();
}

void queue_core::finish_one() noexcept {
    if (unfinished_ > 0 && --unfinished_ == 0) {
        joiners_.release_waiting(wait_state::granted);
    }
}

void queue_core::abandon_put(listed_operation& stopped) noexcept {
    if (stopped.state() == wait_state::waiting) {
        putters_.remove(stopped);
    } else if (stopped.state() == wait_state::granted) {
        putters_.remove_granted(stopped);
        pass_place();
    }
}

void queue_core::abandon_get(listed_operation& stopped) noexcept {
    if (stopped.state() == wait_state::waiting) {
        getters_.remove(stopped);
    } else if (stopped.state() == wait_state::granted) {
        getters_.remove_granted(stopped);
        pass_item();
    }
}

void queue_core::begin_close(bool is_empty) {
    putters_.check_thread("queue::close()");
    getters_.check_thread("queue::close()");
    is_closed_ = true;
    room_ = std::numeric_limits<std::ptrdiff_t>::min() / 2;
    putters_.revoke_granted(wait_state::refused);
    putters_.release_waiting(wait_state::refused);
    if (is_empty) {
        getters_.release_waiting(wait_state::refused);
    }
}

void queue_core::drop_items(std::size_t dropped) noexcept {
    items_ = 0;
    getters_.revoke_granted(wait_state::refused);
    unfinished_ -= dropped < unfinished_ ? dropped : unfinished_;
    if (unfinished_ == 0) {
        joiners_.release_waiting(wait_state::granted);
    }
}

void queue_core::throw_no_room() const {
    if (is_closed_) {
        throw queue_closed();
    }
    throw queue_full();
}

void queue_core::throw_no_item() const {
    if (is_closed_) {
        throw queue_closed();
    }
    throw queue_empty();
}

void queue_core::throw_refused(wait_state state) {
    if (state == wait_state::refused) {
        throw queue_closed();
    }
    throw_wait_error(state, "queue");
}

}  // namespace weir::detail
