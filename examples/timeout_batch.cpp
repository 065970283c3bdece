// SPDX-License-Identifier: MIT
// R11: a timeout, a timeout with a fallback value, and a limit for each item of a batch
#include <weir/weir.hpp>

#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

weir::task<std::string> slow_operation(std::chrono::seconds delay) {
    co_await weir::sleep(delay);
    co_return "Completed after " + std::to_string(delay.count()) + "s";
}

weir::task<std::string> fetch(std::string url, std::chrono::seconds time) {
    co_await weir::sleep(time);
    co_return url + ": content";
}

weir::task<> run() {
    try {
        const std::string result = co_await weir::timeout(2s, slow_operation(5s));
        std::cout << result << '\n';
    } catch (const weir::timed_out&) {
        std::cout << "Operation timed out\n";
    }

    const std::string text = co_await weir::timeout_or(5s, slow_operation(60s), "timed out");
    std::cout << text << '\n';

    // Each item has five seconds of its own; one that is late does not hold up the others.
    std::vector<weir::task<std::string>> work;
    int number = 1;
    for (std::chrono::seconds time : {1s, 8s, 3s}) {
        auto url = "url" + std::to_string(number++);
        auto limited = [](std::string url, std::chrono::seconds time) -> weir::task<std::string> {
            std::string fallback = url + ": timeout";
            co_return co_await weir::timeout_or(5s, fetch(url, time), fallback);
        };
        work.push_back(limited(url, time));
    }
    const auto begin = weir::now();
    const std::vector<std::string> results = co_await weir::gather(std::move(work));
    for (const std::string& each : results) {
        std::cout << each << '\n';
    }
    std::cout << "took " << (weir::now() - begin) / 1s << " s\n";
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
