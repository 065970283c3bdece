// SPDX-License-Identifier: MIT
// R2: a coroutine that is called does nothing until it is awaited; a forgotten one is reported
#include <weir/weir.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

weir::task<int> fetch_data() {
    std::cout << "fetching\n";
    co_await weir::sleep(1s);
    co_return 42;
}

weir::task<> run() {
    weir::task<int> data = fetch_data();
    std::cout << "called, nothing has run\n";
    const int value = co_await std::move(data);
    std::cout << "awaited: " << value << "\n";

    // Without (void) the compiler warns here: a task is [[nodiscard]].
    (void)fetch_data();
    std::cout << "end\n";
}

int main() {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.debug = true;
    options.on_report = [](const weir::report& about) {
        std::cout << weir::to_string(about.kind) << ": "
                  << about.message.substr(0, about.message.find(' ')) << "\n";
    };
    weir::run(run(), std::move(options));
}
