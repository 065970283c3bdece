// SPDX-License-Identifier: MIT
// S3: a condition: wait, under a lock, for what another task changes
#include <weir/weir.hpp>

#include <deque>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

weir::task<> consumer(weir::condition& changed, std::deque<std::string>& items, int id) {
    auto lock = co_await changed.lock();
    while (items.empty()) {
        std::cout << "Consumer " << id << " waits for items...\n";
        co_await changed.wait();  // gives the lock back meanwhile
    }
    std::cout << "Consumer " << id << " consumed " << items.front() << '\n';
    items.pop_front();
}

// The same in one call. A time limit leaves with the lock held, so the guard stays true.
weir::task<> patient_consumer(weir::condition& changed, std::deque<std::string>& items) {
    auto lock = co_await changed.lock();
    auto has_items = [&] { return !items.empty(); };
    try {
        co_await weir::timeout(1s, changed.wait(has_items));
        std::cout << "Patient consumer consumed " << items.front() << '\n';
        items.pop_front();
    } catch (const weir::timed_out&) {
        std::cout << "Nothing came within a second\n";
    }
}

weir::task<> producer(weir::condition& changed, std::deque<std::string>& items, std::string item) {
    auto lock = co_await changed.lock();
    items.push_back(item);
    std::cout << "Produced " << item << ", notifying\n";
    changed.notify();
}

weir::task<> run() {
    weir::condition changed;
    std::deque<std::string> items;
    co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
        auto first = group.spawn(consumer(changed, items, 1));
        group.spawn(consumer(changed, items, 2));
        co_await weir::sleep(1s);
        co_await producer(changed, items, "item A");
        first.cancel();  // notified and cancelled: the notification goes to the second
        co_await weir::sleep(1s);
    });
    co_await patient_consumer(changed, items);
    co_await producer(changed, items, "item B");
    co_await patient_consumer(changed, items);
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
