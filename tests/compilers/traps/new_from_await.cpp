// SPDX-License-Identifier: MIT
// Destroyed while the argument of a new expression is awaited: is the memory given back?
#include "trap.hpp"

#include <cstdlib>
#include <new>

int blocks = 0;

struct counted_block {
    int value;
    explicit counted_block(int given) : value(given) {}
    static void* operator new(std::size_t size) {
        ++blocks;
        return std::malloc(size);
    }
    static void operator delete(void* memory) {
        --blocks;
        std::free(memory);
    }
};

coroutine trap() {
    delete new counted_block(co_await pause{3});
}

int main() {
    const bool through = ends(trap(), 0) && ends(trap());
    return verdict(through && blocks == 0);
}
