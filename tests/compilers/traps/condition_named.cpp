// SPDX-License-Identifier: MIT
// The way around: the result has a name, or is declared in the condition.
#include "trap.hpp"

int reached = 0;

coroutine named() {
    const bool answer = co_await pause{true};
    if (answer) {
        ++reached;
    }
}

coroutine declared() {
    if (const bool answer = co_await pause{true}; answer) {
        ++reached;
    }
}

int main() {
    const bool through = ends(named()) && ends(declared());
    return verdict(through && reached == 2);
}
