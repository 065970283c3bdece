// SPDX-License-Identifier: MIT
// Timers: exact to the nanosecond, armed and disarmed in constant time, without allocation.
#pragma once

#include <cstdint>

namespace weir::detail {

class explorer;

// One timer, inside whatever waits for it.
class timer {
public:
    timer() noexcept = default;
    timer(timer&& unarmed) noexcept : deadline_(unarmed.deadline_) {}
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;
    bool is_armed() const noexcept { return next_ != nullptr; }
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
    timer* previous_ = nullptr;
    timer* next_ = nullptr;
    std::int64_t deadline_ = 0;
};

// A hierarchy of 11 wheels of 64 slots, one for each 6 bits of a deadline. A timer hangs in the
// wheel of the highest digit in which its deadline differs from the wheel's position, and moves to
// lower wheels as the position gets near: at most once per digit. Equal deadlines keep their order.
class timer_wheel {
public:
    static constexpr std::int64_t never = INT64_MAX;

    timer_wheel() noexcept;
    timer_wheel(const timer_wheel&) = delete;
    timer_wheel& operator=(const timer_wheel&) = delete;

    void arm(timer& armed, std::int64_t deadline) noexcept;
    void disarm(timer& disarmed) noexcept;
    bool empty() const noexcept { return count_ == 0; }
    std::uint64_t size() const noexcept { return count_; }

    // The earliest deadline; never if there is none.
    std::int64_t next_deadline() noexcept;
    // Takes the earliest timer that is due off the wheel; null if none is. Of several with the same
    // deadline the one armed first, or, when schedules are explored, any.
    timer* pop_due(std::int64_t now, explorer* shuffle = nullptr) noexcept;

private:
    static constexpr int levels = 11;
    static constexpr int slots = 64;
    struct list_head final : timer {
        void fire() noexcept override {}
    };

    timer* pick(timer& list, explorer& shuffle) noexcept;
    static void append(timer& list, timer& added) noexcept;
    void insert(timer& armed) noexcept;
    void unlink(timer& gone) noexcept;
    timer& list_of(int level, unsigned slot) noexcept {
        return lists_[level * slots + static_cast<int>(slot)];
    }

    std::uint64_t position_ = 0;  // deadlines below it are overdue
    std::uint64_t occupied_[levels] = {};
    std::uint64_t count_ = 0;
    std::int64_t earliest_ = never;  // cached; valid if earliest_known_
    bool earliest_known_ = true;
    list_head overdue_;  // sorted
    list_head lists_[levels * slots];
};

}  // namespace weir::detail
