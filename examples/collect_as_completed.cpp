// SPDX-License-Identifier: MIT
// R7: as_completed: results and errors collected in the order in which they come
#include <weir/weir.hpp>

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

weir::task<std::string> process(std::string item, std::chrono::milliseconds time) {
    co_await weir::sleep(time);
    if (item == "bad") {
        throw std::runtime_error("could not process " + item);
    }
    co_return item + " done";
}

weir::task<> run() {
    std::vector<weir::handle<std::string>> started;
    started.push_back(weir::spawn(process("slow", 300ms)));
    started.push_back(weir::spawn(process("bad", 200ms)));
    started.push_back(weir::spawn(process("quick", 100ms)));

    std::vector<std::string> results;
    std::vector<std::exception_ptr> errors;
    auto finished = weir::as_completed(started);
    while (auto next = co_await finished.next()) {
        std::cout << "number " << next->index << " has ended\n";
        try {
            results.push_back(next->result());
        } catch (...) {
            errors.push_back(std::current_exception());
        }
    }
    for (const std::string& each : results) {
        std::cout << each << '\n';
    }
    for (const std::exception_ptr& each : errors) {
        std::cout << "error: " << weir::describe(each) << '\n';
    }
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
