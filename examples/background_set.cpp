// SPDX-License-Identifier: MIT
// R13: tasks without a kept handle do not disappear: the loop owns them, lists them, and ends them
#include <weir/weir.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

weir::task<> heartbeat() {
    auto beat = []() -> weir::task<> {
        for (int count = 1;; ++count) {
            co_await weir::sleep(1s);
            std::cout << "beat " << count << "\n";
        }
    };
    auto clean_up = []() -> weir::task<> {
        co_await weir::sleep(100ms);
        std::cout << "heartbeat cleaned up\n";
    };
    co_await weir::finally(beat(), clean_up);
}

weir::task<> run() {
    weir::spawn(heartbeat(), {.name = "heartbeat"});  // fire and forget
    co_await weir::sleep(2500ms);
    for (const weir::any_handle& task : weir::all_tasks()) {
        if (task != weir::current_task()) {
            std::cout << "still running: " << task.name() << "\n";
        }
    }
    std::cout << "main ends\n";
}

int main() {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(run(), std::move(options));  // cancels the remaining tasks, awaits their clean-up
    std::cout << "all is closed\n";
}
