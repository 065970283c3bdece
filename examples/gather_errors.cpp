// SPDX-License-Identifier: MIT
// R5: gather with errors: the first one thrown, or all outcomes returned and sorted
#include <weir/weir.hpp>

#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

weir::task<std::string> risky_operation(int item) {
    co_await weir::sleep(100ms);
    if (item % 3 == 0) {
        throw std::invalid_argument("Item " + std::to_string(item) + " failed");
    }
    co_return "Item " + std::to_string(item) + " processed";
}

std::vector<weir::task<std::string>> all_operations() {
    std::vector<weir::task<std::string>> work;
    for (int item = 1; item <= 6; ++item) {
        work.push_back(risky_operation(item));
    }
    return work;
}

weir::task<> run() {
    // gather_settled waits for all; partition separates successes, failures and cancellations.
    const auto sorted = weir::partition(co_await weir::gather_settled(all_operations()));
    std::cout << "Success: " << sorted.values.size() << ", Failed: " << sorted.errors.size()
              << '\n';
    for (const auto& [index, value] : sorted.values) {
        std::cout << "  [" << index << "] " << value << '\n';
    }
    for (const auto& [index, error] : sorted.errors) {
        std::cout << "  [" << index << "] " << weir::describe(error) << '\n';
    }

    // gather stops and awaits the others at the first error, and throws it: nothing is left
    // running.
    try {
        co_await weir::gather(risky_operation(3), weir::sleep(1h));
    } catch (const std::invalid_argument& error) {
        std::cout << "Error: " << error.what() << '\n';
    }
    std::cout << "Still running: " << weir::all_tasks().size() - 1 << '\n';
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
