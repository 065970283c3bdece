// SPDX-License-Identifier: MIT
// S2: an event: one signal starts many workers, and a set-up that fails leaves no worker waiting
#include <weir/weir.hpp>

#include <iostream>

using namespace std::chrono_literals;

weir::task<> worker(weir::event& start, int id) {
    co_await start.wait();
    std::cout << "Worker " << id << " starting\n";
    co_await weir::sleep(100ms);
}

weir::task<> set_up(bool works) {
    std::cout << "Setting up...\n";
    co_await weir::sleep(2s);
    if (!works) {
        throw std::runtime_error("no connection");
    }
}

weir::task<> start_all(bool set_up_works) {
    weir::event start;
    co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
        for (int i = 0; i < 5; ++i) {
            group.spawn(worker(start, i));
        }
        co_await set_up(set_up_works);  // if this throws, the group stops the workers
        std::cout << "Setting the event\n";
        start.set();
    });
}

weir::task<> run() {
    co_await start_all(true);
    try {
        co_await start_all(false);
    } catch (const weir::error_group& failed) {
        std::cout << "Not started: " << weir::describe(failed.errors().front()) << '\n';
    }
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
