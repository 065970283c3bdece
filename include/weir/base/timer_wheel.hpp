// SPDX-License-Identifier: MIT
// Timers: exact to the nanosecond, armed and disarmed in constant time, without allocation.
#pragma once

#include <weir/base/intrusive_list.hpp>

#include <cstdint>

namespace weir::detail {

class random_source;
struct timer_tag;

// One timer, inside the operation or component that waits for it.
class timer : private list_link<timer_tag> {
public:
    timer() noexcept = default;
    timer(timer&& unarmed) noexcept : list_link(), deadline_(unarmed.deadline_) {}
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;
    bool is_armed() const noexcept { return is_linked(); }
    std::int64_t deadline() const noexcept { return deadline_; }

    virtual void fire() noexcept = 0;  // disarmed already; may arm anew
    // Does it keep its place among equal deadlines even when schedules are explored?
    virtual bool keeps_order() const noexcept { return false; }

protected:
    explicit timer(std::int64_t deadline) noexcept : deadline_(deadline) {}
    ~timer() = default;
    void set_deadline(std::int64_t deadline) noexcept {
        deadline_ = deadline;
    }  // while it is not armed

private:
    friend class timer_wheel;
    friend class intrusive_list<timer, timer_tag>;

    std::int64_t deadline_ = 0;
    // Where it is in the list of a slot: a timer some places later, which is fetched into the cache
    // while this one is moved. It may be gone by then. The timer itself: the list's mark.
    const timer* later_ = nullptr;
};

// A hierarchy of 11 wheels of 64 slots, one for each 6 bits of a deadline. A timer hangs in the
// wheel of the highest digit in which its deadline differs from the wheel's position, and moves to
// lower wheels as the position gets near: at most once per digit. Equal deadlines keep their order.
class timer_wheel {
public:
    static constexpr std::int64_t never = INT64_MAX;

    timer_wheel() noexcept = default;
    timer_wheel(const timer_wheel&) = delete;
    timer_wheel& operator=(const timer_wheel&) = delete;

    void arm(timer& armed, std::int64_t deadline) noexcept;
    void disarm(timer& disarmed) noexcept;
    bool empty() const noexcept { return count_ == 0; }
    std::uint64_t size() const noexcept { return count_; }

    // The earliest deadline; never if there is none.
    std::int64_t next_deadline() noexcept;
    // Takes the earliest timer that is due off the wheel; null if none is. Of several with the same
    // deadline the one armed first, or, given a random source to explore schedules with, any.
    timer* pop_due(std::int64_t now, random_source* shuffle = nullptr) noexcept;

private:
    static constexpr int levels = 11;
    static constexpr int slots = 64;
    using timer_list = intrusive_list<timer, timer_tag>;

    // The timers of a slot. To find out what to fetch ahead without touching timers that are far
    // away in memory, the list keeps a mark on one some places before its end.
    struct slot_list : timer_list {
        timer* mark = nullptr;
        int behind_mark = 0;

        void append(timer& last) noexcept;
        void drop_mark() noexcept { mark = nullptr; }
    };

    struct place {
        int level;
        unsigned slot;
    };

    static timer& pick(timer_list& list, random_source& shuffle) noexcept;
    timer* find_due(std::int64_t now, random_source* shuffle) noexcept;
    void insert(timer& armed) noexcept;
    void remove(timer& gone) noexcept;
    place place_of(std::uint64_t key) const noexcept;
    place first_occupied() const noexcept;
    slot_list& list_at(place in) noexcept {
        return lists_[in.level * slots + static_cast<int>(in.slot)];
    }

    std::uint64_t position_ = 0;  // deadlines below it are overdue
    std::uint64_t occupied_[levels] = {};
    std::uint64_t count_ = 0;
    std::int64_t earliest_ = never;  // cached; valid if earliest_known_
    bool earliest_known_ = true;
    timer_list overdue_;  // sorted
    slot_list lists_[levels * slots];
};

}  // namespace weir::detail
