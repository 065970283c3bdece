// SPDX-License-Identifier: MIT
// An await in one arm of a conditional operator.
#include "trap.hpp"

int sum = 0;

coroutine trap(bool which) {
    const tracked chosen = which ? co_await pause{tracked(2)} : tracked(1);
    sum += chosen.value;
}

int main() {
    const bool through = ends(trap(true)) && ends(trap(false));
    return verdict(through && balanced() && sum == 3);
}
