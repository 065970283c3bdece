// SPDX-License-Identifier: MIT
// A coroutine without locals that awaits in the condition of a while (GCC PR106188).
#include "trap.hpp"

int left = 3;

coroutine trap() {
    while (co_await pause{left-- > 0}) {
    }
    left = 100;
}

int main() {
    const bool through = ends(trap());
    return verdict(through && left == 100);
}
