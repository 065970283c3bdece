// SPDX-License-Identifier: MIT
// The part of a channel that does not depend on its items: waiters and their claims.
//
// Waiters are served in the order in which they came. A receiver that is woken has a claim on one
// item, which stays in the channel until the receiver takes it; a sender that is woken has a claim
// on one place. Newcomers cannot take claimed items or places, and a waiter that is stopped before
// it uses its claim passes it to the next: no item and no wake-up is lost.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/base/mail.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace weir::detail {

class channel_core;

// A fiber or a thread that waits to send or to receive. Guarded by the channel's mutex.
class channel_waiter {
public:
    enum class answer : unsigned char { none, granted, refused };

protected:
    ~channel_waiter() = default;
    answer answer_ = answer::none;

private:
    friend class channel_core;
    friend struct waiter_line;
    virtual bool is_thread() const noexcept = 0;

    channel_waiter* next_ = nullptr;
    channel_waiter* previous_ = nullptr;
};

struct waiter_line {
    channel_waiter* first = nullptr;
    channel_waiter* last = nullptr;
    std::size_t count = 0;

    void append(channel_waiter& waiter) noexcept;
    void remove(channel_waiter& waiter) noexcept;
};

enum class channel_side : unsigned char { sends, receives };

// A fiber that waits. Derived classes move the item.
class channel_operation : public operation, public channel_waiter, private mail_item {
public:
    bool cancel() noexcept override;
    const char* name() const noexcept override {
        return side_ == channel_side::sends ? "channel.send" : "channel.receive";
    }

protected:
    channel_operation(channel_core& core, channel_side side) noexcept : core_(&core), side_(side) {}
    channel_operation(channel_operation&& unawaited) noexcept
        : operation(),
          channel_waiter(),
          mail_item(),
          core_(unawaited.core_),
          side_(unawaited.side_) {}
    ~channel_operation() {
        if (answer_ == answer::granted) [[unlikely]] {
            give_back();
        }
    }
    void enter_line() noexcept;  // with the lock

    channel_core* core_;

private:
    friend class channel_core;
    bool is_thread() const noexcept override { return false; }
    void wake() noexcept;  // without the lock
    void give_back() noexcept;
    void arrive(loop& at) noexcept override;
    void get_lost() noexcept override;

    std::uint32_t home_ = 0;  // the id of its loop, which may have ended: see get_lost()
    std::shared_ptr<inbox> mail_;
    channel_side side_;
};

class channel_core {
public:
    // What an operation costs of a step's budget: other threads may hold the lock, or be woken.
    static constexpr int cost = 3;

    explicit channel_core(std::size_t capacity);
    channel_core(const channel_core&) = delete;
    channel_core& operator=(const channel_core&) = delete;

    // The lock is held for a few dozen instructions at a time: spinning pays before sleeping.
    class lock {
    public:
        explicit lock(const channel_core& locked) noexcept : core_(locked) {
            if (!core_.mutex_.try_lock()) [[unlikely]] {
                core_.lock_slowly();
            }
        }
        lock(const lock&) = delete;
        lock& operator=(const lock&) = delete;
        ~lock() { core_.mutex_.unlock(); }

    private:
        const channel_core& core_;
    };

    // Fibers that have an answer, and are woken after the unlock.
    class wake_list {
    public:
        wake_list() noexcept = default;
        wake_list(const wake_list&) = delete;
        wake_list& operator=(const wake_list&) = delete;
        ~wake_list() {
            if (first_ != nullptr) [[unlikely]] {
                wake_all();
            }
        }

    private:
        friend class channel_core;
        void wake_all() noexcept;
        channel_waiter* first_ = nullptr;
        channel_waiter** end_ = &first_;
    };

    // All with the lock held.
    bool has_item() const noexcept { return items_ > item_claims_; }
    bool has_room() const noexcept { return !is_closed_ && items_ + place_claims_ < capacity_; }
    bool is_at_end() const noexcept { return is_closed_ && items_ == 0; }
    void item_added(wake_list& woken) noexcept {
        ++items_;
        if (receivers_.first != nullptr) {
            ++item_claims_;
            grant(receivers_, woken);
        }
    }
    void item_removed(wake_list& woken) noexcept {
        --items_;
        if (senders_.first != nullptr) {
            ++place_claims_;
            grant(senders_, woken);
        } else if (items_ == 0 && is_closed_) [[unlikely]] {
            refuse_all(receivers_, woken);
        }
    }
    // A waiter uses its claim.
    void end_claim(channel_side side) noexcept {
        --(side == channel_side::receives ? item_claims_ : place_claims_);
    }
    // A waiter that will not use its claim passes it to the next.
    void pass_claim_on(channel_side side, wake_list& woken) noexcept;

    void enter_line(channel_waiter& waiter, channel_side side) noexcept {
        (side == channel_side::receives ? receivers_ : senders_).append(waiter);
    }
    void close(wake_list& woken) noexcept;

    std::size_t capacity() const noexcept { return capacity_; }
    std::size_t items() const noexcept { return items_; }
    bool is_closed() const noexcept { return is_closed_; }
    std::size_t waiting(channel_side side) const noexcept {
        return (side == channel_side::receives ? receivers_ : senders_).count;
    }

    // For plain threads: waits for an answer. Throws loop_error where a loop runs.
    static void check_may_block(const char* what);
    channel_waiter::answer block(channel_side side) noexcept;

private:
    friend class channel_operation;
    void lock_slowly() const noexcept;
    void grant(waiter_line& line, wake_list& woken) noexcept;
    void answer_first(waiter_line& line, channel_waiter::answer how, wake_list& woken) noexcept;
    void refuse_all(waiter_line& line, wake_list& woken) noexcept;

    mutable std::mutex mutex_;
    const std::size_t capacity_;
    std::size_t items_ = 0;
    std::size_t item_claims_ = 0;
    std::size_t place_claims_ = 0;
    waiter_line senders_;    // only while there is no room
    waiter_line receivers_;  // only while there is no item
    bool is_closed_ = false;
};

}  // namespace weir::detail
