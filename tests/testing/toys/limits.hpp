// SPDX-License-Identifier: MIT
// Limiter and pool.
#pragma once

#include "testing/toys/waiters.hpp"

#include <weir/task.hpp>
#include <weir/time.hpp>

#include <chrono>

namespace toys {

enum class limiter_bug {
    none,
    acts_after_an_await,  // the count is looked at before an await and raised after it
};

// Refuses excess calls; makes an asynchronous check before it admits a call.
template <limiter_bug Bug = limiter_bug::none>
class limiter {
public:
    explicit limiter(int limit) noexcept : limit_(limit) {}

    weir::task<bool> enter() {
        if (inside_ >= limit_) {
            co_return false;
        }
        if constexpr (Bug == limiter_bug::none) {
            ++inside_;
            co_await weir::yield();
        } else {
            co_await weir::yield();
            ++inside_;
        }
        co_return true;
    }
    void leave() noexcept { --inside_; }

private:
    int limit_;
    int inside_ = 0;
};

enum class pool_bug {
    none,
    capacity_lost,  // a connection counts before it is made, and still counts when making it was
                    // stopped
};

// Makes connections (numbers) as they are needed, up to a limit.
template <pool_bug Bug = pool_bug::none>
class pool {
public:
    explicit pool(int limit) noexcept : limit_(limit) {}

    weir::task<int> acquire() {
        co_await slot_operation(*this);
        if (!idle_.empty()) {
            const int connection = idle_.front();
            idle_.pop_front();
            co_return connection;
        }
        making one(*this);
        co_await weir::sleep(std::chrono::milliseconds(10));
        one.is_made = true;
        co_return ++last_;
    }
    void release(int connection) {
        idle_.push_back(connection);
        free_slot();
    }

private:
    struct making {
        explicit making(pool& by) noexcept : owner(by) {}
        making(const making&) = delete;
        making& operator=(const making&) = delete;
        ~making() {
            if (!is_made && Bug != pool_bug::capacity_lost) {
                owner.free_slot();
            }
        }
        pool& owner;
        bool is_made = false;
    };

    class slot_operation final : public weir::operation {
    public:
        explicit slot_operation(pool& of) noexcept : pool_(of) {}
        ~slot_operation() {
            if (has_slot_) {
                pool_.free_slot();
            }
        }
        bool ready() noexcept override {
            if (pool_.used_ < pool_.limit_) {
                ++pool_.used_;
                has_slot_ = true;
            }
            return has_slot_;
        }
        bool start() noexcept override {
            pool_.waiters_.add(*this);
            return true;
        }
        bool cancel() noexcept override {
            pool_.waiters_.remove(*this);
            return true;
        }
        void resume() noexcept { has_slot_ = false; }

    private:
        friend pool;
        pool& pool_;
        bool has_slot_ = false;
    };

    void free_slot() noexcept {
        if (waiters_.empty()) {
            --used_;
            return;
        }
        slot_operation& next = waiters_.take_oldest();
        next.has_slot_ = true;
        next.complete();
    }

    waiters<slot_operation> waiters_;
    std::deque<int> idle_;
    int limit_;
    int used_ = 0;
    int last_ = 0;
};

}  // namespace toys
