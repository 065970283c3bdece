// SPDX-License-Identifier: MIT
// P9: retry with exponential backoff and jitter: as a function, as a wrapper of a callable, and as
// a loop
#include <weir/flow/retry.hpp>
#include <weir/flow/retry_loop.hpp>
#include <weir/weir.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

struct connection_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Answers after some calls.
weir::task<std::string> flaky_api(std::string url, int& failures) {
    co_await weir::sleep(100ms);
    if (failures-- > 0) {
        throw connection_error("network error");
    }
    co_return url + ": success";
}

void show(const weir::retry_event& event) {
    std::printf("  attempt %d failed, the next one in %.2f s\n", event.attempt,
                std::chrono::duration<double>(event.delay).count());
}

weir::task<> as_a_function() {
    std::puts("a function:");
    int failures = 3;
    const std::string got = co_await weir::retry(
        {.max_attempts = 5,  // five calls at most, not six
         .backoff = {.initial = 1s, .factor = 2, .maximum = 60s, .jitter = weir::jitter::by(0.5)},
         .retry_if = weir::error_is<connection_error>,
         .on_retry = show,
         .seed = 1},
        [&] { return flaky_api("/users", failures); });
    std::printf("  %s\n", got.c_str());
}

weir::task<> as_a_wrapper() {
    std::puts("a wrapper:");
    int failures = 2;
    auto fetch = [&failures](std::string url) { return flaky_api(std::move(url), failures); };
    auto robust = weir::retrying({.max_attempts = 3, .backoff = weir::constant_backoff(1s)}, fetch);

    const std::string users = co_await robust("/users");
    const std::string orders = co_await robust("/orders");
    std::printf("  %s, %s, %d retries\n", users.c_str(), orders.c_str(),
                static_cast<int>(robust.policy().stats().retries));
}

weir::task<std::string> fetch_in_a_loop(int& failures) {
    weir::retry_loop tries({.max_attempts = 3, .backoff = weir::exponential_backoff(1s, 60s)});
    for (;;) {
        co_await tries.next();  // waits, except before the first attempt
        try {
            co_return co_await flaky_api("/loop", failures);
        } catch (const connection_error& error) {
            tries.failed();  // throws on if that was the last attempt
            std::printf("  attempt %d: %s\n", tries.attempt(), error.what());
        }
    }
}

weir::task<> as_a_loop() {
    std::puts("a loop:");
    int failures = 2;
    const std::string got = co_await fetch_in_a_loop(failures);
    std::printf("  %s\n", got.c_str());

    failures = 100;
    const auto begin = weir::now();
    try {
        const std::string never = co_await fetch_in_a_loop(failures);
        std::puts(never.c_str());
    } catch (const connection_error& error) {
        // 3 calls of 0.1 s, 1 s and 2 s between them, and no delay after the last.
        std::printf("  gave up after %.1f s: %s\n",
                    std::chrono::duration<double>(weir::now() - begin).count(), error.what());
    }
}

weir::task<> run() {
    co_await as_a_function();
    co_await as_a_wrapper();
    co_await as_a_loop();
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
