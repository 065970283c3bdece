// SPDX-License-Identifier: MIT
// A million awaits of coroutines that are through at once, by symmetric transfer, without
// optimisation: does the machine stack stay flat? Weir does not rely on it; see
// weir/detail/promise.hpp.
#include "trap.hpp"

struct call {
    struct promise_type {
        std::coroutine_handle<> caller;
        call get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        struct back {
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(
                std::coroutine_handle<promise_type> self) noexcept {
                return self.promise().caller;
            }
            void await_resume() noexcept {}
        };
        back final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
        handle.promise().caller = caller;
        return handle;
    }
    void await_resume() { handle.destroy(); }
};

call nothing() {
    co_return;
}

coroutine trap() {
    for (int left = 1'000'000; left > 0; --left) {
        co_await nothing();
    }
}

int main() {
    const bool through = ends(trap());
    return verdict(through);
}
