// SPDX-License-Identifier: MIT
//
// The least that can be called a runtime: frames from a free list, fibers in an intrusive FIFO,
// symmetric transfer from one to the next, waiters queued inside their own frames. No I/O, timers,
// cancellation or exceptions. What coroutines cost beyond this is what a library adds.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>

namespace floor_runtime {

// One free list per size class of 16 bytes, never returned to the system. A plain global: the
// program has one thread, and a thread-local would cost something in a shared library only.
struct frame_pool {
    static constexpr std::size_t classes = 64;
    struct free_frame {
        free_frame* next;
    };
    static inline constinit std::array<free_frame*, classes> lists{};

    static void* allocate(std::size_t size) {
        const std::size_t index = (size + 15) / 16;
        if (index >= classes) return ::operator new(size);
        free_frame* frame = lists[index];
        if (frame == nullptr) [[unlikely]]
            return ::operator new(index * 16);
        lists[index] = frame->next;
        return frame;
    }
    static void release(void* memory, std::size_t size) {
        const std::size_t index = (size + 15) / 16;
        if (index >= classes) return ::operator delete(memory);
        auto* frame = static_cast<free_frame*>(memory);
        frame->next = lists[index];
        lists[index] = frame;
    }
};

struct pooled {
    static void* operator new(std::size_t size) { return frame_pool::allocate(size); }
    static void operator delete(void* memory, std::size_t size) {
        frame_pool::release(memory, size);
    }
};

// An intrusive singly linked FIFO. `tail` is meaningless while the list is empty.
template <typename Node>
struct fifo {
    Node* head = nullptr;
    Node* tail = nullptr;

    void push(Node* node) {
        node->next = nullptr;
        if (head == nullptr) {
            head = node;
        } else {
            tail->next = node;
        }
        tail = node;
    }
    Node* pop() {
        Node* node = head;
        if (node != nullptr) head = node->next;
        return node;
    }
};

struct group;

// A fiber: scheduled when called, destroys itself when done.
struct fiber {
    struct promise_type : pooled {
        promise_type* next = nullptr;
        group* joined = nullptr;

        inline fiber get_return_object();
        std::suspend_always initial_suspend() { return {}; }
        inline std::suspend_never final_suspend() noexcept;
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    promise_type* promise;
};

using node = fiber::promise_type;
using fiber_handle = std::coroutine_handle<node>;

inline constinit fifo<node> ready{};

// Where a suspending fiber goes: to the next one that is ready, or back to run().
inline std::coroutine_handle<> next_ready() {
    node* next = ready.pop();
    if (next == nullptr) return std::noop_coroutine();
    return fiber_handle::from_promise(*next);
}

inline void run() {
    while (node* next = ready.pop())
        fiber_handle::from_promise(*next).resume();
}

// Counts its fibers, and resumes the one that joins when the last has ended.
struct group {
    std::size_t pending = 0;
    node* joiner = nullptr;

    void spawn(fiber child) {
        ++pending;
        child.promise->joined = this;
    }
    void ended() {
        if (--pending == 0 && joiner != nullptr) ready.push(std::exchange(joiner, nullptr));
    }
    auto join() {
        struct awaiter {
            group& waited;
            bool await_ready() const { return waited.pending == 0; }
            std::coroutine_handle<> await_suspend(fiber_handle self) {
                waited.joiner = &self.promise();
                return next_ready();
            }
            void await_resume() {}
        };
        return awaiter{*this};
    }
};

fiber node::get_return_object() {
    ready.push(this);
    return {this};
}

std::suspend_never node::final_suspend() noexcept {
    if (joined != nullptr) joined->ended();
    return {};
}

struct yield {
    bool await_ready() const { return false; }
    std::coroutine_handle<> await_suspend(fiber_handle self) {
        ready.push(&self.promise());
        return next_ready();
    }
    void await_resume() {}
};

// A coroutine called and awaited: lazy, its caller resumed by symmetric transfer at the end.
struct call {
    struct promise_type : pooled {
        std::coroutine_handle<> caller;
        std::uint64_t value = 0;

        struct back_to_caller {
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(
                std::coroutine_handle<promise_type> self) noexcept {
                return self.promise().caller;
            }
            void await_resume() noexcept {}
        };
        call get_return_object() {
            return call{std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() { return {}; }
        back_to_caller final_suspend() noexcept { return {}; }
        void return_value(std::uint64_t v) { value = v; }
        void unhandled_exception() { std::terminate(); }
    };

    explicit call(std::coroutine_handle<promise_type> h) : frame(h) {}
    call(const call&) = delete;
    ~call() { frame.destroy(); }

    bool await_ready() const { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
        frame.promise().caller = caller;
        return frame;
    }
    std::uint64_t await_resume() { return frame.promise().value; }

    std::coroutine_handle<promise_type> frame;
};

}  // namespace floor_runtime
