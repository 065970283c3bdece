// SPDX-License-Identifier: MIT
// The same, destroyed while it is suspended there.
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
    const bool through = ends(trap(), 0);
    return verdict(through && balanced());
}
