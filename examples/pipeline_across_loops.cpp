// SPDX-License-Identifier: MIT
// A pipeline across two loops: one thread parses, another sums up, a bounded channel between them.

#include <weir/io/channel.hpp>
#include <weir/io/threads.hpp>
#include <weir/weir.hpp>

#include <cstdio>
#include <map>
#include <string>

struct order {
    std::string customer;
    int amount = 0;
};

weir::generator<std::string> read_lines() {
    for (int number = 1; number <= 1000; ++number) {
        const std::string customer = number % 3 == 0 ? "ada" : "grace";
        co_yield customer + " " + std::to_string(number);
    }
}

// The first stage. It gets ahead of the second by eight orders at most: then send waits.
weir::task<> parse(weir::channel<order>& orders) {
    auto lines = read_lines();
    while (auto line = co_await lines.next()) {
        const std::size_t space = line->find(' ');
        order parsed{line->substr(0, space), std::stoi(line->substr(space + 1))};
        co_await orders.send(std::move(parsed));
    }
    orders.close();  // the second stage gets the remaining items, and then the end
}

// The second stage, on another loop.
weir::task<> sum_up(weir::channel<order>& orders) {
    std::map<std::string, int> totals;
    while (auto next = co_await orders.receive()) {
        totals[next->customer] += next->amount;
    }
    for (const auto& [customer, total] : totals) {
        std::printf("%s: %d\n", customer.c_str(), total);
    }
}

int main() {
    weir::channel<order> orders(8);
    // A loop on each of two threads. If one stage fails, the other is cancelled.
    weir::run_on_threads(
        2, [&orders](std::size_t index) { return index == 0 ? parse(orders) : sum_up(orders); });
}
