// SPDX-License-Identifier: MIT
// What the traps share: the smallest coroutine there is, an await that suspends, and objects that
// know whether they were destroyed as often as they were made. A trap's main returns 0 where the
// compiler does it right.
#pragma once

#include <coroutine>
#include <cstdio>
#include <exception>
#include <set>
#include <utility>

// Its own identity is the address: a second destruction, or one without a construction, is seen.
struct tracked {
    static inline std::set<const void*> alive;
    static inline int mistakes = 0;
    int value = 0;

    explicit tracked(int given = 0) : value(given) { born(); }
    tracked(const tracked& other) : value(other.value) { born(); }
    tracked(tracked&& other) noexcept : value(other.value) { born(); }
    tracked& operator=(const tracked&) = default;
    ~tracked() {
        if (alive.erase(this) == 0) {
            ++mistakes;
        }
    }
    explicit operator bool() const { return value != 0; }

private:
    void born() {
        if (!alive.insert(this).second) {
            ++mistakes;
        }
    }
};

struct coroutine {
    struct promise_type {
        coroutine get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

// Suspends once, then gives the value. It has a constructor: as an aggregate it would be a trap
// itself.
template <class T>
struct pause {
    T value;
    pause(T given) : value(std::move(given)) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    T await_resume() { return std::move(value); }
};
template <class T>
pause(T) -> pause<T>;

// Resumes the coroutine until it is through, or stops it at the given suspension.
inline bool ends(coroutine started, int stop_at = -1) {
    bool through = false;
    for (int suspensions = -1; suspensions < 100 && !through; ++suspensions) {
        if (suspensions == stop_at && stop_at >= 0) {
            through = true;
            break;
        }
        started.handle.resume();
        through = started.handle.done();
    }
    started.handle.destroy();
    return through;
}

inline bool balanced() {
    return tracked::alive.empty() && tracked::mistakes == 0;
}

inline int verdict(bool works) {
    std::puts(works ? "works" : "broken");
    return works ? 0 : 1;
}
