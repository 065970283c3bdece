// SPDX-License-Identifier: MIT
// R10: shield: important work that a cancellation does not interrupt, and that runs once
#include <weir/weir.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

weir::task<std::string> important_work(std::string what) {
    std::cout << what << " begins\n";
    co_await weir::sleep(200ms);
    std::cout << what << " ends\n";
    co_return what;
}

// A task is run on the spot. The cancellation waits until it has ended, and then takes effect.
weir::task<> save_then_stop() {
    co_await weir::shield(important_work("saving"));
    std::cout << "not reached when cancelled\n";
}

// A started task is only waited for. The cancellation takes effect at once, and the task runs on.
weir::task<> watch(weir::handle<std::string> upload) {
    co_await weir::shield(upload);
    std::cout << "not reached when cancelled\n";
}

weir::task<> run() {
    weir::handle<> saver = weir::spawn(save_then_stop());
    co_await weir::sleep(100ms);
    saver.cancel();
    co_await saver.wait();
    std::cout << "saver cancelled: " << std::boolalpha << saver.cancelled() << '\n';

    weir::handle<std::string> upload = weir::spawn(important_work("upload"));
    weir::handle<> watcher = weir::spawn(watch(upload));
    co_await weir::sleep(100ms);
    watcher.cancel();
    co_await watcher.wait();
    std::cout << "watcher cancelled: " << watcher.cancelled() << ", upload done: " << upload.done()
              << '\n';
    const std::string result = co_await upload;
    std::cout << "result: " << result << '\n';
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
