// SPDX-License-Identifier: MIT
// An array one of whose elements comes from an await.
#include "trap.hpp"

int sum = 0;

coroutine trap() {
    const tracked made[] = {tracked(1), co_await pause{tracked(2)}};
    sum = made[0].value + made[1].value;
}

int main() {
    const bool through = ends(trap());
    return verdict(through && balanced() && sum == 3);
}
