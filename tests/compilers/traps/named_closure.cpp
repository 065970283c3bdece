// SPDX-License-Identifier: MIT
// The way around: a named closure, one that captures by reference, a class with a constructor.
#include "trap.hpp"

struct options {
    tracked name;
    explicit options(const tracked& given) : name(given) {}
};

template <class Callable>
pause<int> call(Callable&& callable) {
    return callable();
}
pause<int> configure(options given) {
    return given.name.value;
}

coroutine trap() {
    tracked owned(3);
    auto named = [owned] { return owned.value; };
    (void)co_await call(named);
    (void)co_await call([&] { return owned.value; });
    (void)co_await configure(options(owned));
}

int main() {
    bool sound = ends(trap()) && balanced();
    for (int stop_at = 0; stop_at < 3; ++stop_at) {
        sound = ends(trap(), stop_at) && balanced() && sound;
    }
    return verdict(sound);
}
