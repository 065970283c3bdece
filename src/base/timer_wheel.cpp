// SPDX-License-Identifier: MIT
// Deadlines are biased to unsigned, so that their order is the order of their digits. The position
// moves only to times that have come, so a timer armed for a time before the position is overdue:
// overdue timers are few and kept in a sorted list of their own.

#include <weir/base/random.hpp>
#include <weir/base/timer_wheel.hpp>

#include <algorithm>
#include <bit>
#include <iterator>

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

timer_wheel::place timer_wheel::place_of(std::uint64_t key) const noexcept {
    const std::uint64_t difference = key ^ position_;
    const int level = difference == 0 ? 0 : (63 - std::countl_zero(difference)) / bits_per_level;
    return {level, digit(key, level)};
}

void timer_wheel::slot_list::append(timer& last) noexcept {
    constexpr int distance = 8;
    push_back(last);
    if (mark == nullptr) {
        mark = &last;
        behind_mark = 0;
        last.later_ = &last;
        return;
    }
    last.later_ = nullptr;
    if (++behind_mark == distance) {
        --behind_mark;
        mark->later_ = &last;
        mark = static_cast<timer*>(mark->next());
        mark->later_ = mark;
    }
}

void timer_wheel::insert(timer& armed) noexcept {
    const place in = place_of(key_of(armed.deadline_));
    list_at(in).append(armed);
    occupied_[in.level] |= std::uint64_t{1} << in.slot;
}

void timer_wheel::arm(timer& armed, std::int64_t deadline) noexcept {
    if (armed.is_armed()) {
        disarm(armed);
    }
    armed.deadline_ = deadline;
    ++count_;
    if (deadline < earliest_) {
        // Valid even if the former earliest was unknown: this one is below it.
        earliest_ = deadline;
    }
    if (key_of(deadline) >= position_) {
        insert(armed);
        return;
    }
    armed.later_ = nullptr;
    auto later = overdue_.end();
    while (later != overdue_.begin() && std::prev(later)->deadline_ > deadline) {
        --later;
    }
    overdue_.insert_before(later, armed);
}

void timer_wheel::remove(timer& gone) noexcept {
    const bool was_alone = gone.next() == gone.previous();
    const bool was_marked = gone.later_ == &gone;
    gone.unlink();
    const std::uint64_t key = key_of(gone.deadline_);
    if ((was_alone || was_marked) && key >= position_) {
        const place was = place_of(key);
        list_at(was).drop_mark();
        if (was_alone) {
            occupied_[was.level] &= ~(std::uint64_t{1} << was.slot);
        }
    }
}

void timer_wheel::disarm(timer& disarmed) noexcept {
    if (!disarmed.is_armed()) {
        return;
    }
    remove(disarmed);
    --count_;
    if (disarmed.deadline_ == earliest_) {
        earliest_known_ = false;
    }
}

timer_wheel::place timer_wheel::first_occupied() const noexcept {
    int level = 0;
    while (occupied_[level] == 0) {
        ++level;
    }
    return {level, static_cast<unsigned>(std::countr_zero(occupied_[level]))};
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
    if (!overdue_.empty()) {
        return earliest_ = overdue_.front().deadline_;
    }
    earliest_ = never;
    for (const timer& each : list_at(first_occupied())) {
        earliest_ = std::min(earliest_, each.deadline_);
    }
    return earliest_;
}

// Any of those that share the first one's deadline, but timers that keep their order keep it.
timer& timer_wheel::pick(timer_list& list, random_source& shuffle) noexcept {
    std::uint64_t equal = 0;
    for (auto each = list.begin(); each != list.end() && each->deadline_ == list.front().deadline_;
         ++each) {
        ++equal;
    }
    auto picked = list.begin();
    for (std::uint64_t skip = equal > 1 ? shuffle.next_below(equal) : 0; skip > 0; --skip) {
        ++picked;
    }
    if (picked->keeps_order()) {
        for (picked = list.begin(); !picked->keeps_order(); ++picked) {
        }
    }
    return *picked;
}

timer* timer_wheel::find_due(std::int64_t now, random_source* shuffle) noexcept {
    // The first of the earliest timers of a list, if the list is short: to move these level by
    // level would touch each of them several times.
    auto earliest_of_few = [](timer_list& list) noexcept -> timer* {
        constexpr int few = 4;
        timer* earliest = nullptr;
        int count = 0;
        for (timer& each : list) {
            if (++count > few) {
                return nullptr;
            }
            if (earliest == nullptr || each.deadline_ < earliest->deadline_) {
                earliest = &each;
            }
        }
        return earliest;
    };
    if (!overdue_.empty()) {
        return &overdue_.front();
    }
    for (;;) {
        const place first = first_occupied();
        const std::uint64_t start = above(position_, first.level) |
                                    std::uint64_t{first.slot} << (first.level * bits_per_level);
        if (deadline_of(start) > now) {
            return nullptr;
        }
        slot_list& list = list_at(first);
        if (first.level > 0 && shuffle == nullptr) {
            if (timer* const earliest = earliest_of_few(list)) {
                return earliest->deadline_ <= now ? earliest : nullptr;
            }
        }
        position_ = start;
        if (first.level == 0) {
            return shuffle != nullptr ? &pick(list, *shuffle) : &list.front();
        }
        occupied_[first.level] &= ~(std::uint64_t{1} << first.slot);
        list.drop_mark();
        while (!list.empty()) {  // the whole list goes to lower levels
            timer& moved = list.pop_front();
            __builtin_prefetch(moved.later_);
            insert(moved);
        }
    }
}

timer* timer_wheel::pop_due(std::int64_t now, random_source* shuffle) noexcept {
    if (count_ == 0 || (earliest_known_ && earliest_ > now)) {
        return nullptr;
    }
    timer* const due = find_due(now, shuffle);
    if (due == nullptr) {
        return nullptr;
    }
    remove(*due);
    --count_;
    earliest_known_ = false;
    return due;
}

}  // namespace weir::detail
