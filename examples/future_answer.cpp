// SPDX-License-Identifier: MIT
// R4: a promise connects code that calls back with tasks that await.

#include <weir/weir.hpp>

#include <cstdio>
#include <string>

using namespace std::chrono_literals;

// An old interface, with a callback.
void look_up(std::string name, weir::detail::unique_function<void(int)> answer) {
    weir::loop::current().call_later(100ms, [name, answer = std::move(answer)]() mutable {
        answer(static_cast<int>(name.size()));
    });
}

weir::future<int> look_up(std::string name) {
    auto promise = std::make_shared<weir::promise<int>>();
    look_up(std::move(name), [promise](int answer) { promise->set_value(answer); });
    return promise->get_future();
}

weir::task<> wait_for(std::string waiter, weir::future<int> answer) {
    const int value = co_await answer;
    std::printf("%s got %d\n", waiter.c_str(), value);
}

weir::task<> main_task() {
    auto answer = look_up("structured");
    std::printf("done: %s\n", answer.done() ? "yes" : "no");
    answer.add_done_callback(
        [](const weir::future<int>& ended) { std::printf("callback: %d\n", ended.result()); });
    auto first = weir::spawn(wait_for, "first", answer);
    auto second = weir::spawn(wait_for, "second", answer);
    co_await first;
    co_await second;
    const int again = co_await answer;  // as often as one likes
    std::printf("again: %d\n", again);

    weir::promise<int> once;
    once.set_value(1);
    try {
        once.set_value(2);
    } catch (const weir::invalid_state& error) {
        std::printf("set twice: %s\n", error.what());
    }

    weir::future<int> abandoned = weir::promise<int>().get_future();
    try {
        co_await abandoned;
    } catch (const weir::broken_promise& error) {
        std::printf("abandoned: %s\n", error.what());
    }
}

int main() {
    weir::run(main_task(), {.driver = weir::driver_kind::simulated});
}
