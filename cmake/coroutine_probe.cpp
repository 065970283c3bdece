// SPDX-License-Identifier: MIT
//
// Exits with 0 where temporaries of a co_await expression are destroyed exactly once, with 1 where
// they are not. GCC 12 destroys a temporary closure or aggregate with a non-trivial member twice
// (PR99576, PR101367), which turns `co_await f([s] { ... })` into a double free. The probe counts
// constructions and destructions instead of freeing memory, so that it ends cleanly either way.

#include <coroutine>
#include <exception>

namespace {

int alive = 0;

struct counted {
    counted() { ++alive; }
    counted(const counted&) { ++alive; }
    counted(counted&&) noexcept { ++alive; }
    ~counted() { --alive; }
};

struct eager {
    struct promise_type {
        eager get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

// Suspends, so that the temporaries live in the frame while the coroutine is away.
struct parked {
    static inline std::coroutine_handle<> waiting;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) noexcept { waiting = handle; }
    void await_resume() const noexcept {}
};

struct options {
    counted name;
};

template <class Callable>
parked by_reference(Callable&&) {
    return {};
}

template <class Callable>
parked by_value(Callable) {
    return {};
}

parked with_options(options) {
    return {};
}

eager closure_by_reference() {
    counted captured;
    co_await by_reference([captured] { (void)captured; });
}

eager closure_by_value() {
    counted captured;
    co_await by_value([captured] { (void)captured; });
}

eager aggregate() {
    counted captured;
    co_await with_options({.name = captured});
}

bool balanced(eager (*coroutine)()) {
    alive = 0;
    coroutine();
    parked::waiting.resume();
    return alive == 0;
}

}  // namespace

int main() {
    const bool sound =
        balanced(closure_by_reference) && balanced(closure_by_value) && balanced(aggregate);
    return sound ? 0 : 1;
}
