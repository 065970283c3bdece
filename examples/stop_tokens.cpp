// SPDX-License-Identifier: MIT
// std::stop_token in both directions: a std::jthread stops a task, and a cancelled task stops a
// library.

#include <weir/weir.hpp>

#include <cstdio>
#include <thread>

using namespace std::chrono_literals;

weir::task<int> work() {
    co_await weir::sleep(1h);
    co_return 42;
}

weir::task<> call_a_library() {
    const std::stop_token token = weir::stop_token_of_current();
    const std::stop_callback told(token, [] { std::puts("library: told to stop"); });
    co_await weir::sleep(1h);
}

weir::task<> main_task() {
    std::stop_source source;
    std::thread other([&] {
        std::this_thread::sleep_for(2ms);
        source.request_stop();
    });
    const auto result = co_await weir::with_stop_token(source.get_token(), work());
    std::puts(result ? "ended by itself" : "stopped by the token");
    other.join();

    auto caller = weir::spawn(call_a_library);
    co_await weir::sleep(1ms);
    caller.cancel();
    co_await caller.wait();
}

int main() {
    weir::run(main_task());
}
