// SPDX-License-Identifier: MIT
// Destroyed while it is suspended in an arm of a conditional operator, with a temporary around.
#include "trap.hpp"

int take(const tracked&, int value) {
    return value;
}

coroutine trap(bool which) {
    const int chosen = which ? take(tracked(1), co_await pause{2}) : take(tracked(3), 4);
    (void)chosen;
}

int main() {
    const bool through = ends(trap(true), 0) && ends(trap(false), -1);
    return verdict(through && balanced());
}
