// SPDX-License-Identifier: MIT
// Temporaries with constructors as arguments around an await: the common case, which must work.
#include "trap.hpp"

int sum = 0;

void add(const tracked& left, int middle, const tracked& right) {
    sum += left.value + middle + right.value;
}

coroutine trap() {
    add(tracked(1), co_await pause{2}, tracked(3));
}

int main() {
    const bool sound = ends(trap(), 0) && balanced() && ends(trap()) && balanced();
    return verdict(sound && sum == 6);
}
