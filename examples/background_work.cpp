// SPDX-License-Identifier: MIT
// R3: main starts tasks, continues, and collects their results later; an unhandled failure is
// reported
#include <weir/weir.hpp>

#include <iostream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

weir::task<std::string> background_task(std::string name, std::chrono::seconds time) {
    std::cout << name << " starting\n";
    co_await weir::sleep(time);
    std::cout << name << " completed\n";
    co_return "result from " + name;
}

weir::task<> fails() {
    co_await weir::sleep(1s);
    throw std::runtime_error("disk full");
}

weir::task<> run() {
    weir::handle<std::string> first = weir::spawn(background_task("Task 1", 2s), {.name = "first"});
    weir::handle<std::string> second =
        weir::spawn(background_task("Task 2", 1s), {.name = "second"});
    std::cout << "main does other work\n";
    co_await weir::sleep(500ms);
    std::cout << first.name() << (first.done() ? " is done\n" : " is running\n");

    const std::string& one = co_await first;
    const std::string& two = co_await second;
    std::cout << one << ", " << two << "\n";

    weir::spawn(fails(), {.name = "saver"});  // without keeping the handle
    co_await weir::sleep(2s);
}

int main() {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.on_report = [](const weir::report& about) { std::cout << about.message << "\n"; };
    weir::run(run(), std::move(options));
}
