// SPDX-License-Identifier: MIT
// Deadlines are biased to unsigned, so that their order is the order of their digits. The position
// moves only to times that have come, so a timer armed for the past of the position is overdue:
// those are few and kept in a sorted list of their own.

#include "core/debug/explorer.hpp"

#include <weir/base/timer_wheel.hpp>

#include <bit>

namespace weir::detail {

namespace {

constexpr std::uint64_t key_of(std::int64_t deadline) noexcept {
    return static_cast<std::uint64_t>(deadline) ^ (std::uint64_t{1} << 63);
}
constexpr std::int64_t deadline_of(std::uint64_t key) noexcept {
    return static_cast<std::int64_t>(key ^ (std::uint64_t{1} << 63));
}
constexpr int bits_per_level = 6;
constexpr unsigned digit(std::uint64_t key, int level) noexcept {
    return static_cast<unsigned>(key >> (level * bits_per_level)) & 63;
}
// The key with all digits up to and including the level's cleared.
constexpr std::uint64_t above(std::uint64_t key, int level) noexcept {
    const int shift = (level + 1) * bits_per_level;
    return shift >= 64 ? 0 : key >> shift << shift;
}

}  // namespace

timer_wheel::timer_wheel() noexcept {
    overdue_.next_ = overdue_.previous_ = &overdue_;
    for (list_head& each : lists_) {
        each.next_ = each.previous_ = &each;
    }
}

void timer_wheel::append(timer& list, timer& added) noexcept {
    added.next_ = &list;
    added.previous_ = list.previous_;
    added.previous_->next_ = &added;
    list.previous_ = &added;
}

void timer_wheel::insert(timer& armed) noexcept {
    const std::uint64_t key = key_of(armed.deadline_);
    const std::uint64_t difference = key ^ position_;
    const int level = difference == 0 ? 0 : (63 - std::countl_zero(difference)) / bits_per_level;
    const unsigned slot = digit(key, level);
    append(list_of(level, slot), armed);
    occupied_[level] |= std::uint64_t{1} << slot;
}

void timer_wheel::arm(timer& armed, std::int64_t deadline) noexcept {
    if (armed.is_armed()) {
        disarm(armed);
    }
    armed.deadline_ = deadline;
    ++count_;
    if (deadline < earliest_) {
        earliest_ =
            deadline;  // valid even if the former earliest was unknown: this one is below it
    }
    if (key_of(deadline) >= position_) {
        insert(armed);
        return;
    }
    timer* after = overdue_.previous_;
    while (after != &overdue_ && after->deadline_ > deadline) {
        after = after->previous_;
    }
    append(*after->next_, armed);
}

void timer_wheel::unlink(timer& gone) noexcept {
    timer* const before = gone.previous_;
    timer* const behind = gone.next_;
    before->next_ = behind;
    behind->previous_ = before;
    gone.next_ = gone.previous_ = nullptr;
    if (before == behind && before != &overdue_ && before >= &lists_[0] &&
        before < &lists_[levels * slots]) {
        const auto index = static_cast<list_head*>(before) - lists_;
        occupied_[index / slots] &= ~(std::uint64_t{1} << (index % slots));
    }
}

void timer_wheel::disarm(timer& disarmed) noexcept {
    if (!disarmed.is_armed()) {
        return;
    }
    unlink(disarmed);
    --count_;
    if (disarmed.deadline_ == earliest_) {
        earliest_known_ = false;
    }
}

std::int64_t timer_wheel::next_deadline() noexcept {
    if (count_ == 0) {
        earliest_known_ = true;
        return earliest_ = never;
    }
    if (earliest_known_) {
        return earliest_;
    }
    earliest_known_ = true;
    if (overdue_.next_ != &overdue_) {
        return earliest_ = overdue_.next_->deadline_;
    }
    int level = 0;
    while (occupied_[level] == 0) {
        ++level;
    }
    timer& list = list_of(level, static_cast<unsigned>(std::countr_zero(occupied_[level])));
    earliest_ = never;
    for (timer* each = list.next_; each != &list; each = each->next_) {
        earliest_ = each->deadline_ < earliest_ ? each->deadline_ : earliest_;
    }
    return earliest_;
}

// Any of those that share the first one's deadline, but timers that keep their order keep it.
timer* timer_wheel::pick(timer& list, explorer& shuffle) noexcept {
    std::uint64_t equal = 0;
    for (timer* each = list.next_; each != &list && each->deadline_ == list.next_->deadline_;
         each = each->next_) {
        ++equal;
    }
    timer* picked = list.next_;
    for (std::uint64_t skip = equal > 1 ? shuffle.draw(equal) : 0; skip > 0; --skip) {
        picked = picked->next_;
    }
    if (picked->keeps_order()) {
        for (picked = list.next_; !picked->keeps_order(); picked = picked->next_) {
        }
    }
    return picked;
}

timer* timer_wheel::pop_due(std::int64_t now, explorer* shuffle) noexcept {
    if (count_ == 0 || (earliest_known_ && earliest_ > now)) {
        return nullptr;
    }
    timer* due = overdue_.next_;
    if (due == &overdue_) {
        due = nullptr;
        while (due == nullptr) {
            int level = 0;
            while (occupied_[level] == 0) {
                ++level;
            }
            const auto slot = static_cast<unsigned>(std::countr_zero(occupied_[level]));
            const std::uint64_t start = above(position_, level) | std::uint64_t{slot}
                                                                      << (level * bits_per_level);
            if (deadline_of(start) > now) {
                return nullptr;
            }
            position_ = start;
            timer& list = list_of(level, slot);
            if (level == 0) {
                due = shuffle != nullptr ? pick(list, *shuffle) : list.next_;
                break;
            }
            timer* moved = list.next_;  // the whole list goes to lower levels
            list.next_ = list.previous_ = &list;
            occupied_[level] &= ~(std::uint64_t{1} << slot);
            while (moved != &list) {
                timer* const next = moved->next_;
                insert(*moved);
                moved = next;
            }
        }
    }
    unlink(*due);
    --count_;
    earliest_known_ = false;
    return due;
}

}  // namespace weir::detail
