// SPDX-License-Identifier: MIT
// A coroutine that is not ours awaits something that is.
#include <weir/weir.hpp>

struct elsewhere {
    struct promise_type {
        elsewhere get_return_object() { return {}; }
        std::suspend_never initial_suspend() { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
};

elsewhere awaits([[maybe_unused]] weir::handle<int> handle,
                 [[maybe_unused]] weir::future<int> future) {
#if defined(AWAIT_operation)
    co_await weir::yield();
#elif defined(AWAIT_task)
    co_await []() -> weir::task<> { co_return; }();
#elif defined(AWAIT_handle)
    co_await handle;
#elif defined(AWAIT_future)
    co_await future;
#elif defined(AWAIT_group)
    co_await weir::timeout(std::chrono::seconds(1), weir::yield());
#endif
    co_return;
}
