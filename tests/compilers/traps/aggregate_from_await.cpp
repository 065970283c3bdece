// SPDX-License-Identifier: MIT
// An aggregate, with a name even, one of whose members comes from an await.
#include "trap.hpp"

struct pair {
    tracked first;
    tracked second;
};

coroutine trap() {
    tracked owned(1);
    pair made{owned, co_await pause{tracked(2)}};
    (void)made;
}

int main() {
    const bool through = ends(trap());
    return verdict(through && balanced());
}
