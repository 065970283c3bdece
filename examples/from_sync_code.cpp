// SPDX-License-Identifier: MIT
// R18: ordinary code calls asynchronous code: with run, and from another thread with submit and
// post.

#include <weir/weir.hpp>

#include <cstdio>
#include <thread>

using namespace std::chrono_literals;

weir::task<int> fetch(int number) {
    co_await weir::sleep(2ms);
    co_return number * 10;
}

weir::task<> nested() {
    co_await weir::yield();
    try {
        (void)weir::run(fetch(1));
    } catch (const weir::loop_error& error) {
        std::printf("run inside run: %s\n", error.what());
    }
}

int main() {
    // 1. The simplest: run makes a loop, and returns the value.
    std::printf("run gave %d\n", weir::run(fetch(1)));

    // 2. Not inside a running loop: there one awaits.
    weir::run(nested());

    // 3. A loop on a thread of its own serves the others.
    weir::loop loop;
    std::thread runner([&] { loop.run_forever(); });
    auto answer = loop.submit(fetch, 2);
    std::printf("submit gave %d\n", answer.get());

    auto slow = loop.submit([]() -> weir::task<> { co_await weir::sleep(1h); });
    if (!slow.wait_for(5ms)) {
        slow.cancel("too slow");
    }
    try {
        slow.get();
    } catch (const weir::cancelled& stop) {
        std::printf("cancelled: %s\n", stop.reason().c_str());
    }

    loop.post([&] {
        std::puts("a callback on the loop's thread");
        loop.stop();
    });
    runner.join();
}
