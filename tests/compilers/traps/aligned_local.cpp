// SPDX-License-Identifier: MIT
// A local with alignas: is its place in the frame aligned?
#include "trap.hpp"

#include <cstddef>
#include <cstdint>

bool aligned = true;

void look(const void* object) {
    aligned = aligned && reinterpret_cast<std::uintptr_t>(object) % alignof(long) == 0;
}

coroutine trap() {
    char before = 'b';
    alignas(long) std::byte memory[sizeof(long)];
    co_await std::suspend_always{};
    look(&memory);
    (void)before;
}

coroutine shifted() {
    char before[3] = {};
    alignas(long) std::byte memory[sizeof(long)];
    co_await std::suspend_always{};
    look(&memory);
    (void)before;
}

int main() {
    const bool through = ends(trap()) && ends(shifted());
    return verdict(through && aligned);
}
