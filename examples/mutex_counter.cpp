// SPDX-License-Identifier: MIT
// S1: a shared counter under a mutex, and a lock with a time limit
#include <weir/weir.hpp>

#include <iostream>

using namespace std::chrono_literals;

// For tasks of one loop, which is one thread; tasks interleave at each co_await, and the lock keeps
// others out of the middle.
class counter {
public:
    weir::task<> increment() {
        auto lock = co_await mutex_.lock();
        const int current = value_;
        co_await weir::sleep(10ms);  // some work
        value_ = current + 1;
    }
    weir::task<int> value() {
        auto lock = co_await mutex_.lock();
        co_return value_;
    }

private:
    weir::mutex mutex_;
    int value_ = 0;
};

weir::task<> worker(counter& shared, int id) {
    for (int i = 0; i < 10; ++i) {
        co_await shared.increment();
    }
    std::cout << "Worker " << id << " has incremented 10 times\n";
}

// The limit applies to acquiring the lock only; the code under the lock is not limited, and its own
// timeouts are not mistaken for a failure to acquire the lock.
weir::task<> with_limit(weir::mutex& mutex, weir::clock::duration limit) {
    weir::mutex::guard lock;
    try {
        lock = co_await weir::timeout(limit, mutex.lock());
    } catch (const weir::timed_out&) {
        std::cout << "Could not acquire the lock in " << limit / 1ms << " ms\n";
        co_return;
    }
    std::cout << "Acquired the lock within " << limit / 1ms << " ms\n";
    co_await weir::sleep(10s);  // critical work, however long
}

weir::task<> run() {
    counter shared;
    co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
        for (int i = 0; i < 5; ++i) {
            group.spawn(worker(shared, i));
        }
        co_return;
    });
    const int value = co_await shared.value();
    std::cout << "Final value: " << value << '\n';

    weir::mutex mutex;
    co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
        auto lock = co_await mutex.lock();
        group.spawn(with_limit(mutex, 500ms));
        group.spawn(with_limit(mutex, 2000ms));
        co_await weir::sleep(1s);
    });
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
