// SPDX-License-Identifier: MIT
// A doubly linked list in a vector, oldest call first. An old call stays old until it is removed,
// so a marker that only moves forward suffices to count them.

#include <weir/flow/decision/in_flight.hpp>

#include <new>

namespace weir::decision {

in_flight::place in_flight::add(clock::time_point begun) noexcept {
    place made = free_;
    if (made != none) {
        free_ = entries_[made].next;
    } else {
        try {
            if (entries_.empty()) {
                entries_.emplace_back();
            }
            entries_.emplace_back();
        } catch (const std::bad_alloc&) {
            return none;
        }
        made = static_cast<place>(entries_.size() - 1);
    }
    const place last = entries_[none].previous;
    entries_[made] = {.begun = begun, .next = none, .previous = last};
    entries_[last].next = made;
    entries_[none].previous = made;
    if (first_young_ == none) {
        first_young_ = made;
    }
    return made;
}

void in_flight::remove(place gone) noexcept {
    entry& old = entries_[gone];
    if (old.is_old) {
        --old_;
    } else if (first_young_ == gone) {
        first_young_ = old.next;
    }
    entries_[old.previous].next = old.next;
    entries_[old.next].previous = old.previous;
    old.next = free_;
    free_ = gone;
}

void in_flight::clear() noexcept {
    entries_.clear();
    free_ = none;
    first_young_ = none;
    old_ = 0;
}

std::size_t in_flight::begun_until(clock::time_point then) noexcept {
    while (first_young_ != none && entries_[first_young_].begun <= then) {
        entry& aged = entries_[first_young_];
        aged.is_old = true;
        ++old_;
        first_young_ = aged.next;
    }
    return old_;
}

}  // namespace weir::decision
