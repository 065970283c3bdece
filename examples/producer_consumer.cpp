// SPDX-License-Identifier: MIT
// P1: several producers and consumers over a bounded queue; a bad item does not kill its consumer
#include <weir/flow/consume.hpp>
#include <weir/weir.hpp>

#include <iostream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

weir::task<> producer(weir::queue<std::string>& queue, std::string name) {
    for (int i = 0; i < 5; ++i) {
        co_await queue.put(name + "/item-" + std::to_string(i));  // waits while it is full
        co_await weir::sleep(100ms);
    }
    std::cout << name << " is done\n";
}

weir::task<std::size_t> process(const std::string& item) {
    co_await weir::sleep(200ms);
    if (item.ends_with("item-3")) {
        throw std::invalid_argument("cannot process it");
    }
    co_return item.size();
}

void note_failure(const std::string& item, const weir::outcome_view& ended) {
    std::cout << item << ": " << ended.error<std::exception>()->what() << '\n';
}

weir::task<> run() {
    weir::queue<std::string> queue(10);
    std::vector<weir::task<>> producers;
    producers.push_back(producer(queue, "Producer-0"));
    producers.push_back(producer(queue, "Producer-1"));

    // The queue is closed when the last producer has ended; the consumers finish the remaining
    // items.
    const auto report = co_await weir::produce_and_consume(queue, std::move(producers),
                                                           {.consumers = 3}, process, note_failure);

    std::cout << "Processed " << report.processed << ", failed " << report.failed << ", left "
              << queue.size() << '\n';
    for (const auto& consumer : report.consumers) {
        std::cout << "A consumer processed " << consumer.processed << " and survived "
                  << consumer.failed << '\n';
    }
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
