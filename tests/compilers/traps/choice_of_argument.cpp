// SPDX-License-Identifier: MIT
// A conditional operator between objects, in an argument of what is awaited: the arm that is not
// chosen must not be evaluated.
#include "trap.hpp"

struct amount {
    explicit amount(int of) noexcept : value(of) {}
    int value;
};

int drawn = 0;

int draw() {
    return ++drawn;
}

pause<int> wait_for(amount given) {
    return {given.value};
}

coroutine trap(bool which) {
    co_await wait_for(which ? amount(0) : amount(draw()));
}

int main() {
    const bool through = ends(trap(true)) && ends(trap(false));
    return verdict(through && drawn == 1);
}
