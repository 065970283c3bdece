// SPDX-License-Identifier: MIT
// Event, condition and barrier.
#pragma once

#include "testing/toys/waiters.hpp"

#include <weir/task.hpp>
#include <weir/time.hpp>

namespace toys {

enum class event_bug {
    none,
    clear_undoes_set,  // the woken look at the flag again, which clear() has taken down meanwhile
    looks_before_waiting,  // another task may run between the look at the flag and the wait
};

template <event_bug Bug = event_bug::none>
class event {
public:
    void set() noexcept {
        is_set_ = true;
        while (!waiters_.empty()) {
            waiters_.take_oldest().wake();
        }
    }
    void clear() noexcept { is_set_ = false; }

    weir::task<> wait() {
        if constexpr (Bug == event_bug::looks_before_waiting) {
            if (is_set_) {
                co_return;
            }
            co_await weir::yield();
        }
        do {
            co_await wait_operation(*this);
        } while (Bug == event_bug::clear_undoes_set && !is_set_);
    }

private:
    class wait_operation final : public weir::operation {
    public:
        explicit wait_operation(event& waited) noexcept : event_(waited) {}
        bool ready() noexcept override {
            return Bug != event_bug::looks_before_waiting && event_.is_set_;
        }
        bool start() noexcept override {
            event_.waiters_.add(*this);
            return true;
        }
        bool cancel() noexcept override {
            event_.waiters_.remove(*this);
            return true;
        }
        void resume() noexcept {}
        void wake() noexcept { complete(); }

    private:
        event& event_;
    };

    waiters<wait_operation> waiters_;
    bool is_set_ = false;
};

enum class condition_bug {
    none,
    swallowed_by_cancelled,  // notify_one wakes a waiter that is stopped before it runs, and no other
                             // else
};

template <condition_bug Bug = condition_bug::none>
class condition {
public:
    class wait_operation final : public weir::operation {
    public:
        explicit wait_operation(condition& waited) noexcept : condition_(waited) {}
        ~wait_operation() {
            if (is_notified_ && Bug != condition_bug::swallowed_by_cancelled) {
                condition_.notify_one();
            }
        }
        bool start() noexcept override {
            condition_.waiters_.add(*this);
            return true;
        }
        bool cancel() noexcept override {
            condition_.waiters_.remove(*this);
            return true;
        }
        void resume() noexcept { is_notified_ = false; }

    private:
        friend condition;
        condition& condition_;
        bool is_notified_ = false;
    };

    wait_operation wait() noexcept { return wait_operation(*this); }
    void notify_one() noexcept {
        if (!waiters_.empty()) {
            wait_operation& woken = waiters_.take_oldest();
            woken.is_notified_ = true;
            woken.complete();
        }
    }

private:
    waiters<wait_operation> waiters_;
};

enum class barrier_bug {
    none,
    no_generation,  // the released look at the count, which the fast ones have raised again
};

template <barrier_bug Bug = barrier_bug::none>
class barrier {
public:
    explicit barrier(int parties) noexcept : parties_(parties) {}

    weir::task<> arrive() {
        const int generation = generation_;
        if (++arrived_ == parties_) {
            arrived_ = 0;
            ++generation_;
            while (!sleepers_.empty()) {
                sleepers_.take_oldest().wake();
            }
            co_return;
        }
        while (Bug == barrier_bug::no_generation ? arrived_ != 0 : generation == generation_) {
            co_await sleep_operation(*this);
        }
    }

private:
    class sleep_operation final : public weir::operation {
    public:
        explicit sleep_operation(barrier& at) noexcept
            : barrier_(at), generation_(at.generation_) {}
        // It may have been made to yield before it could wait, and have missed its wake-up.
        bool ready() noexcept override { return generation_ != barrier_.generation_; }
        bool start() noexcept override {
            barrier_.sleepers_.add(*this);
            return true;
        }
        bool cancel() noexcept override {
            barrier_.sleepers_.remove(*this);
            return true;
        }
        void resume() noexcept {}
        void wake() noexcept { complete(); }

    private:
        barrier& barrier_;
        int generation_;
    };

    waiters<sleep_operation> sleepers_;
    int parties_;
    int arrived_ = 0;
    int generation_ = 0;
};

}  // namespace toys
