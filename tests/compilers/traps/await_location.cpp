// SPDX-License-Identifier: MIT
// std::source_location as a default argument of await_transform names the line of the co_await.
#include "trap.hpp"

#include <source_location>

struct located {
    struct promise_type : coroutine::promise_type {
        static inline unsigned line = 0;
        located get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        template <class T>
        T await_transform(T given, std::source_location where = std::source_location::current()) {
            line = where.line();
            return given;
        }
    };
    std::coroutine_handle<promise_type> handle;
};

constexpr unsigned line_of_await = __LINE__ + 2;
located trap() {
    co_await std::suspend_always{};
}

int main() {
    const located started = trap();
    started.handle.resume();
    const bool right = located::promise_type::line == line_of_await;
    started.handle.destroy();
    return verdict(right);
}
