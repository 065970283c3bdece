// SPDX-License-Identifier: MIT
// R6: a task group: batches side by side, always joined
#include <weir/weir.hpp>

#include <iostream>
#include <stdexcept>
#include <vector>

using namespace std::chrono_literals;

weir::task<int> process(int item) {
    co_await weir::sleep(std::chrono::milliseconds(10 * item));
    if (item < 0) {
        throw std::invalid_argument("negative item " + std::to_string(item));
    }
    co_return item* item;
}

weir::task<std::vector<int>> process_batch(std::vector<int> batch) {
    std::vector<weir::task<int>> work;
    for (int item : batch) {
        work.push_back(process(item));
    }
    co_return co_await weir::gather(std::move(work));
}

weir::task<> run() {
    // Variables that children refer to are declared outside of the group, so they outlive the
    // children.
    std::vector<weir::handle<std::vector<int>>> batches;
    co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
        for (int first : {1, 4, 7}) {
            batches.push_back(
                group.spawn(process_batch, std::vector<int>{first, first + 1, first + 2}));
        }
        co_return;
    });
    for (const auto& batch : batches) {
        for (int result : batch.result()) {
            std::cout << result << ' ';
        }
    }
    std::cout << '\n';

    // One that fails stops its siblings; all errors come as one error_group.
    bool finished = false;
    auto slow = [&]() -> weir::task<> {
        co_await weir::sleep(1h);
        finished = true;
    };
    try {
        co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
            group.spawn(slow);
            group.spawn(process, -1);
            co_return;
        });
    } catch (const weir::error_group& all) {
        std::cout << "the group failed: " << weir::describe(all.errors().front()) << '\n';
    }
    std::cout << "slow one finished: " << std::boolalpha << finished << '\n';
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
