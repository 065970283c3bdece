// SPDX-License-Identifier: MIT
// S6: a bounded queue with an end (close), unfinished items (join), and the other orders
#include <weir/weir.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

weir::task<> producer(weir::queue<std::string>& queue, int count) {
    for (int i = 0; i < count; ++i) {
        co_await weir::sleep(100ms);
        co_await queue.put("item-" + std::to_string(i));  // waits while the queue is full
    }
    queue.close();  // no sentinel: every consumer sees the end
    std::cout << "Produced " << count << " items\n";
}

weir::task<> consumer(weir::queue<std::string>& queue, int id, int& consumed) {
    // take() counts the item as finished when it goes out of scope, also after an error or a stop.
    while (auto item = co_await queue.take()) {
        co_await weir::sleep(200ms);
        ++consumed;
    }
    std::cout << "Consumer " << id << " has seen the end\n";
}

weir::task<> run() {
    weir::queue<std::string> queue(5);
    int consumed = 0;
    co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
        group.spawn(producer(queue, 20));
        for (int i = 0; i < 3; ++i) {
            group.spawn(consumer(queue, i, consumed));
        }
        co_return;
    });
    co_await queue.join();
    std::cout << "Consumed " << consumed << ", unfinished " << queue.unfinished() << '\n';

    // Without waiting.
    weir::queue<int> small(1);
    small.put_now(1);
    std::cout << "Room for another? " << (small.try_put(2) ? "yes" : "no") << '\n';
    try {
        small.put_now(2);
    } catch (const weir::queue_full& error) {
        std::cout << error.what() << '\n';
    }

    weir::lifo_queue<int> stack(10);
    weir::priority_queue<int> ordered(10);
    for (int item : {3, 1, 2}) {
        co_await stack.put(item);
        co_await ordered.put(item);
    }
    stack.close();
    ordered.close();
    std::cout << "Last in, first out:";
    while (auto item = co_await stack.next()) {
        std::cout << ' ' << *item;
    }
    std::cout << "\nLeast first:";
    while (auto item = co_await ordered.next()) {
        std::cout << ' ' << *item;
    }
    std::cout << '\n';
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
