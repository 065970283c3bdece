// SPDX-License-Identifier: MIT
// R9: a task is cancelled, cleans up asynchronously, and the cancellation reaches the task that
// awaits it

#include <weir/weir.hpp>

#include <cstdio>

using namespace std::chrono_literals;

weir::task<> work() {
    for (;;) {
        co_await weir::sleep(1s);
        std::puts("Working...");
    }
}

// Runs however the work ends; it may await, and a second cancel waits until it is through.
weir::task<> clean_up(weir::ending end) {
    if (end == weir::ending::stopped) {
        std::puts("Task cancelled, cleaning up...");
    }
    co_await weir::sleep(500ms);
    std::puts("Cleaned up.");
}

weir::task<> cancellable_task() {
    co_await weir::finally(work(), clean_up);
    std::puts("never printed: the stop goes on after the clean-up");
}

// Code that must see an exception requests one. A handler for std::exception does not catch it.
weir::task<> sees_an_exception() {
    try {
        co_await weir::catchable(weir::sleep(1h));
    } catch (const std::exception&) {
        std::puts("never printed: cancellation is not an error");
    } catch (const weir::cancelled& stop) {
        std::printf("Caught, because %s.\n", stop.reason().c_str());
        throw;  // still ends as cancelled
    }
}

weir::task<> swallows_it() {
    weir::outcome<> ended = co_await weir::intercept(weir::sleep(1h));
    std::printf("Stopped: %s. Going on all the same.\n", ended.is_stop() ? "yes" : "no");
    co_await weir::sleep(1s);  // undisturbed: a cancel counts once
}

weir::task<> show() {
    auto task = weir::spawn(cancellable_task());
    co_await weir::sleep(2500ms);
    task.cancel();
    try {
        co_await task;
    } catch (const weir::cancelled&) {
        std::puts("Task was cancelled.");
    }

    auto second = weir::spawn(sees_an_exception());
    co_await weir::sleep(1s);
    second.cancel("we are closing");
    co_await second.wait();
    std::printf("Second task cancelled: %s\n", second.cancelled() ? "yes" : "no");

    auto third = weir::spawn(swallows_it());
    co_await weir::sleep(1s);
    third.cancel();
    co_await third;
    std::printf("Third task cancelled: %s\n", third.cancelled() ? "yes" : "no");
}

int main() {
    weir::run(show(), weir::loop_options{.driver = weir::driver_kind::simulated});
}
