// SPDX-License-Identifier: MIT
// A temporary closure that owns something, inside a co_await expression (GCC PR99576).
#include "trap.hpp"

template <class Callable>
pause<int> call(Callable&& callable) {
    return callable();
}

coroutine trap() {
    tracked owned(3);
    (void)co_await call([owned] { return owned.value; });
}

int main() {
    const bool through = ends(trap());
    return verdict(through && balanced());
}
