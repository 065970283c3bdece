// SPDX-License-Identifier: MIT
// One request for all who want the same thing at the same time, and what stops and errors do to it
#include <weir/flow/single_flight.hpp>
#include <weir/weir.hpp>

#include <iostream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

// Stands for an expensive request.
weir::task<int> price_of(std::string item) {
    std::cout << "looking up " << item << '\n';
    co_await weir::sleep(200ms);
    if (item == "unicorn") {
        throw std::runtime_error("there is no " + item);
    }
    co_return 3;
}

weir::task<> run() {
    weir::single_flight<std::string, int> prices(price_of);

    // Three callers, one request. The first gives up: the request goes on for the others.
    auto first = weir::spawn(prices.call("apple"));
    auto second = weir::spawn(prices.call("apple"));
    co_await weir::sleep(100ms);
    first.cancel();
    const int third = co_await prices.call("apple");
    std::cout << co_await second << " and " << third << '\n';

    // Nothing is kept: the next call asks again.
    const int again = co_await prices.call("apple");
    std::cout << again << '\n';

    // All callers get the error.
    auto fails = weir::spawn(prices.call("unicorn"));
    try {
        co_await prices.call("unicorn");
    } catch (const std::runtime_error& error) {
        std::cout << error.what() << '\n';
    }
    const auto same = co_await weir::settle(fails);
    std::cout << weir::describe(same.error()) << '\n';

    // When the last caller has gone, the request is stopped.
    auto only = weir::spawn(prices.call("pear"));
    co_await weir::sleep(100ms);
    only.cancel();
    co_await only.wait();
    co_await prices.close();
}

int main() {
    weir::run(run());
}
