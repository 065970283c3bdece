// SPDX-License-Identifier: MIT
// A coroutine without locals that awaits in the condition of a do (GCC PR106188).
#include "trap.hpp"

int rounds = 0;

coroutine trap() {
    do {
        ++rounds;
    } while (co_await pause{rounds < 3});
    rounds += 100;
}

int main() {
    const bool through = ends(trap());
    return verdict(through && rounds == 103);
}
