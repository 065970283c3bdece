// SPDX-License-Identifier: MIT
//
// Semaphore (a mutex is one of a single permit) and bounded queue on the floor's runtime. First
// come, first served: a release hands the permit to the oldest waiter, a put hands the item to the
// oldest getter, as in the libraries they are compared with.
#pragma once

#include "floor_runtime.hpp"

#include <memory>

namespace floor_runtime {

class semaphore {
public:
    explicit semaphore(std::size_t permits) : free_(permits) {}

    auto acquire() {
        struct awaiter {
            semaphore& owner;
            bool await_ready() const {
                if (owner.free_ == 0) return false;
                --owner.free_;
                return true;
            }
            std::coroutine_handle<> await_suspend(fiber_handle self) {
                owner.waiting_.push(&self.promise());
                return next_ready();
            }
            void await_resume() {}
        };
        return awaiter{*this};
    }

    void release() {
        if (node* waiter = waiting_.pop()) {
            ready.push(waiter);
        } else {
            ++free_;
        }
    }

private:
    std::size_t free_;
    fifo<node> waiting_;
};

class queue {
public:
    explicit queue(std::size_t capacity)
        : items_(std::make_unique<std::uint64_t[]>(capacity)), capacity_(capacity) {}

    struct waiter {
        waiter* next = nullptr;
        node* fiber = nullptr;
        std::uint64_t value = 0;
    };

    struct putter : waiter {
        queue& owner;
        putter(queue& q, std::uint64_t item) : owner(q) { value = item; }

        bool await_ready() {
            if (waiter* getter = owner.getters_.pop()) {
                getter->value = value;
                ready.push(getter->fiber);
                return true;
            }
            if (owner.size_ == owner.capacity_) return false;
            owner.append(value);
            return true;
        }
        std::coroutine_handle<> await_suspend(fiber_handle self) {
            fiber = &self.promise();
            owner.putters_.push(this);
            return next_ready();
        }
        void await_resume() {}
    };

    struct getter : waiter {
        queue& owner;
        explicit getter(queue& q) : owner(q) {}

        bool await_ready() {
            if (owner.size_ == 0) return false;
            value = owner.take();
            if (waiter* putter = owner.putters_.pop()) {
                owner.append(putter->value);
                ready.push(putter->fiber);
            }
            return true;
        }
        std::coroutine_handle<> await_suspend(fiber_handle self) {
            fiber = &self.promise();
            owner.getters_.push(this);
            return next_ready();
        }
        std::uint64_t await_resume() { return value; }
    };

    putter put(std::uint64_t item) { return {*this, item}; }
    getter get() { return getter{*this}; }

private:
    void append(std::uint64_t item) {
        items_[back_] = item;
        if (++back_ == capacity_) back_ = 0;
        ++size_;
    }
    std::uint64_t take() {
        const std::uint64_t item = items_[front_];
        if (++front_ == capacity_) front_ = 0;
        --size_;
        return item;
    }

    std::unique_ptr<std::uint64_t[]> items_;
    std::size_t capacity_;
    std::size_t front_ = 0;
    std::size_t back_ = 0;
    std::size_t size_ = 0;
    fifo<waiter> putters_;
    fifo<waiter> getters_;
};

}  // namespace floor_runtime
