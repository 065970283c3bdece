// SPDX-License-Identifier: MIT
// P3: many items in batches, and single calls collected into batches
#include <weir/flow/batch.hpp>
#include <weir/flow/batcher.hpp>
#include <weir/weir.hpp>

#include <iostream>
#include <stdexcept>
#include <vector>

using namespace std::chrono_literals;

weir::task<int> process(int item) {
    co_await weir::sleep(item == 7 ? 10s : 100ms);
    if (item % 10 == 3) {
        throw std::runtime_error("item " + std::to_string(item) + " is broken");
    }
    co_return item * 2;
}

// So many items at a time, a pause between batches, every error collected.
weir::task<> in_batches() {
    std::vector<int> items;
    for (int i = 0; i < 25; ++i) {
        items.push_back(i);
    }
    auto note = [](const weir::batch_progress& now) {
        std::cout << "batch " << now.batch << ": " << now.done << " done, " << now.failed
                  << " of them failed\n";
    };
    const auto begin = weir::now();
    const auto results = co_await weir::batch_settled(
        items, {.size = 10, .concurrency = 5, .delay = 1s, .item_timeout = 500ms, .on_batch = note},
        process);
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!results[i]) {
            try {
                results[i].value();
            } catch (const std::exception& error) {
                std::cout << "item " << i << ": " << error.what() << '\n';
            }
        }
    }
    std::cout << "took " << (weir::now() - begin) / 1ms << " ms\n";
}

// The other way round: one query for many users, instead of a query for each.
weir::task<std::vector<std::string>> load_users(std::vector<int> ids) {
    std::cout << "SELECT name FROM users WHERE id IN (" << ids.size() << " ids)\n";
    co_await weir::sleep(20ms);
    std::vector<std::string> names;
    for (const int id : ids) {
        names.push_back("user-" + std::to_string(id));
    }
    co_return names;
}

weir::task<> one_by_one() {
    weir::batcher<int, std::string> users({.size = 4, .linger = 5ms}, load_users);
    std::vector<weir::task<std::string>> requests;
    auto request = [&users](int id) -> weir::task<std::string> {
        co_return "hello " + co_await users.call(id);
    };
    for (int id = 1; id <= 6; ++id) {
        requests.push_back(request(id));
    }
    const auto greetings = co_await weir::gather(std::move(requests));
    std::cout << greetings.front() << ", ..., " << greetings.back() << '\n';
    co_await users.close();
}

weir::task<> run() {
    co_await in_batches();
    co_await one_by_one();
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
