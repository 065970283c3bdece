// SPDX-License-Identifier: MIT
// Task-local values: each request keeps its own id across awaits, and so do the tasks it starts
#include <weir/weir.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

weir::local<std::string> request_id{"none"};

void log(const std::string& text) {
    std::cout << "[" << request_id.get() << "] " << text << "\n";
}

weir::task<> audit() {
    co_await weir::sleep(10ms);
    log("audited");  // the value at its spawn
}

weir::task<> handle_request(std::string id, std::chrono::milliseconds time) {
    request_id.set(id);
    log("begins");
    weir::handle<> auditing = weir::spawn(audit());
    co_await weir::sleep(time);
    log("ends");
    co_await auditing;
}

weir::task<> run() {
    weir::handle<> first = weir::spawn(handle_request("r-1", 30ms));
    weir::handle<> second = weir::spawn(handle_request("r-2", 20ms));
    co_await first;
    co_await second;
    log("main has none");
}

int main() {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(run(), std::move(options));
}
