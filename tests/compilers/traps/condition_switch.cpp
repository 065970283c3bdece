// SPDX-License-Identifier: MIT
// A coroutine without locals that awaits in the condition of a switch (GCC PR106188).
#include "trap.hpp"

int seen = 0;

coroutine trap() {
    switch (co_await pause{2}) {
        case 2:
            seen = 2;
            break;
        default:
            seen = 1;
    }
    seen += 100;
}

int main() {
    const bool through = ends(trap());
    return verdict(through && seen == 102);
}
