// SPDX-License-Identifier: MIT
// P5: a token bucket in front of an API: ten requests a second, twenty at once
#include <weir/flow/token_bucket.hpp>
#include <weir/weir.hpp>

#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

weir::task<std::string> call_api(weir::token_bucket& bucket, std::string url) {
    co_await bucket.acquire();  // in the order of asking
    co_await weir::sleep(100ms);
    co_return "answer of " + url;
}

weir::task<> run() {
    weir::token_bucket bucket({.rate = 10, .burst = 20, .name = "api"});

    std::vector<weir::task<std::string>> calls;
    for (int i = 0; i < 50; ++i) {
        calls.push_back(call_api(bucket, "https://api.example.com/" + std::to_string(i)));
    }
    const auto begin = weir::now();
    const std::vector<std::string> answers = co_await weir::gather(std::move(calls));
    std::cout << answers.size() << " requests in " << (weir::now() - begin) / 1ms << " ms\n";

    // Without waiting: a refusal names the time of the next chance.
    const auto now = bucket.try_acquire(5);
    std::cout << "five at once: " << (now ? "yes" : "no") << ", come again in "
              << now.refusal().retry_after / 1ms << " ms\n";

    // Large requests, and fractions of a token.
    const auto waited = co_await bucket.acquire(2.5);
    std::cout << "two and a half waited " << waited / 1ms << " ms\n";

    // A place in the line, to be used later or given back.
    {
        auto place = bucket.reserve(10).value();
        std::cout << "ten could go in " << (place.when() - weir::now()) / 1ms << " ms\n";
    }  // not used: as if it had never been

    // More than the bucket holds can never come.
    try {
        co_await bucket.acquire(21);
    } catch (const weir::invalid_argument& error) {
        std::cout << error.what() << '\n';
    }

    // A wait that cannot end in time ends at once, not at the deadline.
    const auto started = weir::now();
    try {
        co_await weir::timeout(1s, bucket.run([] { std::cout << "never called\n"; }, 20));
    } catch (const weir::timed_out& late) {
        std::cout << late.what() << ", after " << (weir::now() - started) / 1ms << " ms\n";
    }

    // Slower from now on; no burst comes from the change.
    bucket.set_rate({.rate = 1, .burst = 20});
    const auto slow = co_await bucket.acquire();
    std::cout << "at the new rate one waited " << slow / 1ms << " ms\n";
    std::cout << bucket.stats().granted << " let through, " << bucket.stats().refused
              << " refused\n";
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
