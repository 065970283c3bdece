// SPDX-License-Identifier: MIT
// S5: a barrier: three workers continue when all have arrived, also when one of them is replaced
#include <weir/weir.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

weir::task<> worker(weir::barrier& barrier, std::string name, weir::clock::duration work) {
    std::cout << name << ": starting work\n";
    co_await weir::sleep(work);
    std::cout << name << ": waiting at the barrier\n";
    const std::size_t place = co_await barrier.wait();
    std::cout << name << ": continuing after the barrier, arrived as number " << place + 1 << '\n';
}

weir::task<> run() {
    weir::barrier barrier(3);
    co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
        group.spawn(worker(barrier, "A", 1s));
        group.spawn(worker(barrier, "B", 2s));
        group.spawn(worker(barrier, "C", 3s));
        co_return;
    });

    // A cancelled worker leaves; the barrier is not broken, and another comes in its place.
    co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
        auto leaves = group.spawn(worker(barrier, "D", 1s));
        group.spawn(worker(barrier, "E", 2s));
        group.spawn(worker(barrier, "F", 3s));
        co_await weir::sleep(2500ms);
        leaves.cancel();
        std::cout << "D was cancelled\n";
        group.spawn(worker(barrier, "G", 1s));
    });
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
