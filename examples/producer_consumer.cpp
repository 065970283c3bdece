// SPDX-License-Identifier: MIT
// P1: several producers and consumers over a bounded queue; a bad item does not kill its consumer
#include <weir/weir.hpp>

#include <iostream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

weir::task<> producer(weir::queue<std::string>& queue, std::string name) {
    for (int i = 0; i < 5; ++i) {
        co_await queue.put(name + "/item-" + std::to_string(i));
        co_await weir::sleep(100ms);
    }
    std::cout << name << " is done\n";
}

weir::task<std::size_t> process(const std::string& item) {
    co_await weir::sleep(200ms);
    if (item.ends_with("item-3")) {
        throw std::invalid_argument("cannot process " + item);
    }
    co_return item.size();
}

struct totals {
    int processed = 0;
    int failed = 0;
};

weir::task<> consumer(weir::queue<std::string>& queue, std::string name, totals& all) {
    while (auto item = co_await queue.take()) {
        try {
            co_await process(*item);
            ++all.processed;
        } catch (const std::exception& error) {
            ++all.failed;
            std::cout << name << ": " << error.what() << '\n';
        }
    }
}

weir::task<> run() {
    weir::queue<std::string> queue(10);
    totals all;
    co_await weir::with_group([&](weir::task_group& consumers) -> weir::task<> {
        for (int i = 0; i < 3; ++i) {
            consumers.spawn(consumer(queue, "Consumer-" + std::to_string(i), all));
        }
        co_await weir::with_group([&](weir::task_group& producers) -> weir::task<> {
            producers.spawn(producer(queue, "Producer-0"));
            producers.spawn(producer(queue, "Producer-1"));
            co_return;
        });
        queue.close();  // all producers are done; the consumers finish what is left, and end
    });
    std::cout << "Processed " << all.processed << ", failed " << all.failed << ", left "
              << queue.size() << '\n';
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
