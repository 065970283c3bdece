// SPDX-License-Identifier: MIT
// A temporary aggregate with a member that owns something (GCC PR101367).
#include "trap.hpp"

struct options {
    tracked name;
};

pause<int> call(options given) {
    return given.name.value;
}

coroutine trap() {
    tracked owned(3);
    (void)co_await call({.name = owned});
}

int main() {
    const bool through = ends(trap());
    return verdict(through && balanced());
}
