// SPDX-License-Identifier: MIT
// An initialiser list in the argument of an awaited call.
#include "trap.hpp"

#include <vector>

int sum = 0;

pause<int> count(const std::vector<int>& numbers) {
    return {static_cast<int>(numbers.size())};
}

coroutine trap() {
    sum += co_await count({1, 2, 3});
}

int main() {
    const bool sound = ends(trap());
    return verdict(sound && sum == 3);
}
