// SPDX-License-Identifier: MIT
// R1: run, the one entry point; and debug mode, which names a task that blocks the loop
#include <weir/weir.hpp>

#include <iostream>
#include <string>
#include <thread>

using namespace std::chrono_literals;

weir::task<> hello() {
    std::cout << "Hello\n";
    co_await weir::sleep(2ms);
    std::cout << "World\n";
}

// Looks harmless, but nothing else can run meanwhile: weir::sleep suspends, this blocks.
weir::task<> blocks_the_loop() {
    co_await weir::yield();
    std::this_thread::sleep_for(60ms);
    co_await weir::yield();
}

weir::task<> suspicious() {
    weir::handle<> culprit = weir::spawn(blocks_the_loop(), {.name = "culprit"});
    co_await culprit;
}

int main() {
    weir::run(hello());

    weir::loop_options options;
    options.debug = true;  // or WEIR_DEBUG=1 in the environment
    options.slow_step = 50ms;
    options.on_report = [](const weir::report& about) {
        const bool names_place = about.message.find("blocks_the_loop at ") != std::string::npos;
        std::cout << weir::to_string(about.kind) << ": task " << about.source.name()
                  << (names_place ? ", in blocks_the_loop\n" : "\n");
    };
    weir::run(suspicious(), std::move(options));
}
