// SPDX-License-Identifier: MIT
// A coroutine without locals that awaits in the condition of an if (GCC PR106188).
#include "trap.hpp"

int reached = 0;

coroutine trap() {
    if (co_await pause{true}) {
        ++reached;
    }
    ++reached;
}

int main() {
    const bool through = ends(trap());
    return verdict(through && reached == 2);
}
