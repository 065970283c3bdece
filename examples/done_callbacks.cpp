// SPDX-License-Identifier: MIT
// R12: callbacks when a task has ended, also cancelled; one that throws is reported, the rest still
// run
#include <weir/weir.hpp>

#include <iostream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

weir::task<int> some_work(bool works) {
    co_await weir::sleep(1s);
    if (!works) {
        throw std::runtime_error("no such file");
    }
    co_return 42;
}

// Checks first whether the task was cancelled: error() of a cancelled task would throw.
void on_complete(const weir::handle<int>& task) {
    if (task.cancelled()) {
        std::cout << task.name() << " was cancelled\n";
    } else if (task.failed()) {
        std::cout << task.name() << " failed: " << weir::describe(task.error()) << "\n";
    } else {
        std::cout << task.name() << " result: " << task.result() << "\n";
    }
}

weir::task<> run() {
    weir::handle<int> good = weir::spawn(some_work(true), {.name = "good"});
    weir::handle<int> bad = weir::spawn(some_work(false), {.name = "bad"});
    weir::handle<int> stopped = weir::spawn(some_work(true), {.name = "stopped"});
    good.add_done_callback(
        [](const weir::handle<int>&) { throw std::logic_error("broken callback"); });
    good.add_done_callback(on_complete);
    bad.add_done_callback(on_complete);
    stopped.add_done_callback(on_complete);
    const weir::callback_id removed = good.add_done_callback(on_complete);
    good.remove_done_callback(removed);

    co_await weir::sleep(500ms);
    stopped.cancel();
    co_await weir::sleep(1s);
    good.add_done_callback(on_complete);  // ended long ago: called at the next turn
    co_await weir::yield();
}

int main() {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.on_report = [](const weir::report& about) { std::cout << about.message << "\n"; };
    weir::run(run(), std::move(options));
}
