// SPDX-License-Identifier: MIT
// P6: a sliding window: in any second, wherever it begins, at most five
#include <weir/flow/sliding_window.hpp>
#include <weir/weir.hpp>

#include <iostream>

using namespace std::chrono_literals;

weir::task<> run() {
    weir::sliding_window limit({.limit = 5, .window = 1s});
    for (int i = 0; i < 20; ++i) {
        const auto waited = co_await limit.acquire();
        if (waited > 0s) {
            std::cout << "request " << i << ": waited " << waited / 1ms << " ms\n";
        } else {
            std::cout << "request " << i << ": at once\n";
        }
        co_await weir::sleep(50ms);
    }

    const auto now = limit.try_acquire(3);
    std::cout << "three at once: " << (now ? "yes" : "no") << ", come again in "
              << now.refusal().retry_after / 1ms << " ms\n";
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
