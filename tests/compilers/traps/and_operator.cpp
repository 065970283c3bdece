// SPDX-License-Identifier: MIT
// An await behind && with a temporary that has a destructor on the left.
#include "trap.hpp"

int reached = 0;

tracked make() {
    return tracked(1);
}

coroutine trap() {
    const bool both = make() && co_await pause{true};
    reached += both ? 1 : 0;
}

int main() {
    const bool through = ends(trap());
    return verdict(through && balanced() && reached == 1);
}
