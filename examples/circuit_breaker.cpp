// SPDX-License-Identifier: MIT
// P8: a circuit breaker in front of an API that is down for a minute
#include <weir/flow/circuit_breaker.hpp>
#include <weir/weir.hpp>

#include <iostream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

struct external_api {
    weir::clock::time_point works_from;
    int calls = 0;

    weir::task<std::string> fetch() {
        ++calls;
        co_await weir::sleep(100ms);
        if (weir::now() < works_from) {
            throw std::runtime_error("503 Service Unavailable");
        }
        co_return "fresh data";
    }
};

// A call, or something to fall back on while the circuit is open.
weir::task<std::string> get(weir::circuit_breaker& breaker, external_api& api) {
    weir::outcome<std::string> got = co_await breaker.settle([&] { return api.fetch(); });
    if (got.is_refused()) {
        const auto wait = std::chrono::ceil<std::chrono::seconds>(got.refusal().retry_after);
        co_return "cached data (" + std::to_string(wait.count()) + " s until the next trial)";
    }
    if (got.has_error()) {
        co_return "error: " + weir::describe(got.error());
    }
    co_return std::move(got).value();
}

weir::task<> run() {
    const auto begin = weir::now();
    auto seconds = [&] { return (weir::now() - begin) / 1s; };
    auto report = [&](const weir::circuit_change& change) {
        std::cout << "  [" << seconds() << " s: " << to_string(change.from) << " -> "
                  << to_string(change.to) << ", " << to_string(change.cause) << "]\n";
    };
    weir::circuit_breaker breaker({
        .name = "external api",
        .consecutive_failures = 5,
        .open_for = 30s,
        .trial_calls = 1,
        .on_change = report,
    });
    external_api api{.works_from = begin + 60s};

    std::string last;
    while (seconds() < 100) {
        const std::string answer = co_await get(breaker, api);
        if (answer.substr(0, 6) != last) {  // the first of each kind
            std::cout << seconds() << " s: " << answer << '\n';
            last = answer.substr(0, 6);
        }
        co_await weir::sleep(2s);
    }
    const weir::circuit_breaker_stats stats = breaker.stats();
    std::cout << api.calls << " calls reached the API, " << stats.failed << " failed; "
              << stats.refused << " were refused at once\n";
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
