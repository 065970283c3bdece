// SPDX-License-Identifier: MIT
// The rare paths of the mutex, and what all waiting operations throw.
//
// An operation that is destroyed in any state but idle did not get to resume: its fiber was
// stopped. If it was granted the lock, the lock goes to the next in line.

#include "base/source_place.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/sync/mutex.hpp>

#include <string>
#include <unordered_map>

namespace weir::detail {

void throw_wait_error(wait_state state, const char* primitive) {
    const std::string name(primitive);
    if (state == wait_state::wrong_loop) {
        throw invalid_state("this " + name +
                            " belongs to another loop: tasks of that loop have waited for it");
    }
    throw invalid_state("the " + name + " was destroyed while a task waited for it");
}

namespace {

// The fiber that took a lock, and the place. The name tells it from another one at its address.
struct lock_note {
    const fiber* holder = nullptr;
    std::string name;
    std::source_location place;
};

// By address. A mutex that is locked again overwrites its note, so one that is gone leaves nothing
// but memory.
std::unordered_map<const mutex*, lock_note>& lock_notes() {
    thread_local std::unordered_map<const mutex*, lock_note> notes;
    return notes;
}

// The innermost await of a fiber; for one that runs, the latest.
std::source_location place_of(const fiber& waiting) {
    const frame* at = waiting.top;
    while (at != nullptr && at->is_boundary() && at != &waiting) {
        at = at->parent;
    }
    return at == nullptr || at == &waiting ? std::source_location()
                                           : static_cast<const promise_base*>(at)->here;
}

void note(const mutex& locked, fiber* holder) noexcept {
    lock_notes()[&locked] =
        holder != nullptr ? lock_note{holder, fiber_name(*holder), place_of(*holder)} : lock_note{};
}

}  // namespace

void note_lock(const mutex& locked) noexcept {
    if (this_thread.loop != nullptr) {
        note(locked, this_thread.running);
    }
}

void report_relock(const mutex& awaited) noexcept {
    fiber& waiting = *this_thread.running;
    const auto known = lock_notes().find(&awaited);
    if (known == lock_notes().end() || known->second.holder != &waiting ||
        known->second.name != fiber_name(waiting)) {
        return;
    }
    static_cast<loop&>(waiting.home())
        .tell({report_kind::deadlock,
               "task " + known->second.name + " waits at " + describe_place(place_of(waiting)) +
                   " for a mutex that it has locked itself at " +
                   describe_place(known->second.place) +
                   ": a mutex is not recursive, so the task waits for ever, unless another one "
                   "unlocks it",
               nullptr,
               any_handle(waiting),
               {}});
}

void throw_not_locked(const char* what) {
    throw invalid_state(std::string(what) + ": it is not locked");
}

}  // namespace weir::detail

namespace weir {

// Debug mode, or a wrong thread.
void mutex::check_hand_on() const noexcept {
    waiters_.check_thread("mutex: unlock");
    if (detail::this_thread.loop != nullptr) {
        detail::note(*this, &detail::wait_list::at(waiters_.first_waiting()).waiting_fiber());
    }
}

}  // namespace weir

namespace weir::detail {

void mutex_operation::abandon() noexcept {
    if (state_ == wait_state::waiting) {
        mutex_->waiters_.remove(*this);
    } else if (state_ == wait_state::granted) {
        mutex_->waiters_.remove_granted(*this);
        mutex_->hand_on();
    }
}

}  // namespace weir::detail
