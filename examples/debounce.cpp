// SPDX-License-Identifier: MIT
// P12: a search box: many keystrokes, few queries, and every caller gets an answer
#include <weir/flow/debouncer.hpp>
#include <weir/weir.hpp>

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

long long elapsed() {  // simulated time begins at 0
    return std::chrono::duration_cast<std::chrono::milliseconds>(weir::now().time_since_epoch())
        .count();
}

weir::task<std::string> search(std::string text) {
    std::cout << elapsed() << " ms: searching for '" << text << "'\n";
    co_await weir::sleep(400ms);
    if (text.empty()) {
        throw std::runtime_error("nothing to search for");
    }
    co_return "results for " + text;
}

weir::task<> run() {
    weir::debouncer searches({.delay = 300ms}, search);

    // Keystrokes 100 ms apart: one query, 300 ms after the last.
    for (const char* typed : {"w", "we", "wei"}) {
        searches.call(typed);
        co_await weir::sleep(100ms);
    }
    const std::string found = co_await searches.call("weir");
    std::cout << elapsed() << " ms: " << found << "\n";

    // A call while a query runs does not cancel it: both get an answer, one after the other.
    auto first = searches.call("river");
    co_await weir::sleep(350ms);
    auto second = searches.call("rivers");
    const std::string one = co_await first;
    const std::string two = co_await second;
    std::cout << one << "; " << two << "\n";

    // The error reaches every caller.
    auto also = searches.call("x");
    auto last = searches.call("");
    for (const auto& each : {also, last}) {
        try {
            co_await each;
        } catch (const std::runtime_error& error) {
            std::cout << "error: " << error.what() << "\n";
        }
    }

    // A throttler runs at once, and then at most once in its interval.
    weir::throttler progress({.interval = 1s}, [](int percent) { std::cout << percent << " %\n"; });
    for (int percent = 0; percent <= 100; percent += 10) {
        progress.call(percent);
        co_await weir::sleep(300ms);
    }
    co_await progress.flush();
}

int main() {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(run(), std::move(options));
}
