// SPDX-License-Identifier: MIT
// condition: wait, under a mutex, until a notification says that something has changed.
//
//     auto lock = co_await state_changed.lock();
//     co_await state_changed.wait([&] { return ready; });   // the lock is held again
//
// wait() gives the lock back while it waits and holds it again when it ends, however it ends: a
// stop or a timeout takes effect only after the lock was regained, so the guard in the caller's
// frame stays true. A fiber that was notified and then stopped passes the notification on. Notified
// fibers compete for the lock behind those that wait for it already. wait() may, rarely, return
// unnotified (a stop that was taken back): check what you wait for, or give the predicate. If it is
// destroyed while fibers wait, they regain the lock and throw invalid_state.
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/sync/mutex.hpp>

#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace weir {

class condition;

namespace detail {

// Is in the condition's list from beginning to end, and in the mutex's once it competes for the
// lock.
class WEIR_MUST_AWAIT condition_operation final : public listed_operation {
public:
    explicit condition_operation(condition& awaited) noexcept;
    condition_operation(condition_operation&&) noexcept = default;
    ~condition_operation();

    bool ready() noexcept override;
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "condition.wait"; }
    void resume();

private:
    friend class weir::condition;

    enum class phase : unsigned char {
        before,        // and after
        waiting,       // for a notification
        notified,      // and obliged to pass it on if stopped
        notified_all,  // as were all others
        stopped,
        orphaned,  // the condition was destroyed
    };
    struct membership : wait_link {
        condition_operation* member = nullptr;
    };

    void compete() noexcept;  // for the lock
    void leave_condition() noexcept;
    void orphan() noexcept;

    condition* condition_;
    mutex* mutex_;
    membership membership_;  // in the condition's list
    phase phase_ = phase::before;
};

template <class Predicate>
using predicate_value =
    std::remove_cvref_t<std::invoke_result_t<std::remove_reference_t<Predicate>&>>;

template <class Predicate>
task<predicate_value<Predicate>> wait_for_predicate(condition& awaited, Predicate predicate);

}  // namespace detail

class condition {
public:
    // With a mutex of its own, or sharing one.
    condition() noexcept : mutex_(&own_) {}
    explicit condition(weir::mutex& shared) noexcept : mutex_(&shared) {}
    condition(const condition&) = delete;
    condition& operator=(const condition&) = delete;
    ~condition();

    weir::mutex& mutex() noexcept { return *mutex_; }
    detail::lock_request lock() noexcept { return mutex_->lock(); }
    bool locked() const noexcept { return mutex_->locked(); }

    // co_await wait(): until notified. Throws invalid_state if the mutex is not locked.
    detail::condition_operation wait() noexcept { return detail::condition_operation(*this); }
    // co_await wait(predicate): until the predicate holds; gives its value. It is called under the
    // lock.
    template <class Predicate>
        requires std::is_invocable_v<std::remove_reference_t<Predicate>&>
    auto wait(Predicate&& predicate) {
        WEIR_CHECK_CALLABLE(Predicate);
        return detail::wait_for_predicate<Predicate>(*this, std::forward<Predicate>(predicate));
    }

    // Wakes so many of the fibers that have waited longest; nothing is remembered if no fiber
    // waits. They resume when they get the lock. Throws invalid_state if the mutex is not locked.
    void notify(std::size_t count = 1);
    void notify_all();

private:
    friend class detail::condition_operation;
    using operation = detail::condition_operation;

    operation& first_waiting() const noexcept;
    void notify_first(operation::phase notified_as) noexcept;
    void check_locked(const char* what) const;
    void check_thread(const char* what) const;

    detail::split_list members_;  // in front those that were notified
    weir::mutex own_;
    weir::mutex* mutex_;
    std::uint32_t loop_ = 0;
};

namespace detail {

template <class Predicate>
task<predicate_value<Predicate>> wait_for_predicate(condition& awaited, Predicate predicate) {
    for (;;) {
        predicate_value<Predicate> value = predicate();
        if (value) {
            co_return value;
        }
        co_await awaited.wait();
    }
}

}  // namespace detail

}  // namespace weir
