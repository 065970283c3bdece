// SPDX-License-Identifier: MIT
// All headers, and templates that have given users warnings: compiled with more warnings than ours,
// which are errors, under the address sanitizer with little optimisation, and without RTTI.
#include <weir/db/sqlite/database.hpp>
#include <weir/flow/flow.hpp>
#include <weir/http/http.hpp>
#include <weir/io/io.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>
#include <weir/ws/ws.hpp>

#include <stdexcept>

using namespace std::chrono_literals;

weir::task<int> work(int number) {
    co_await weir::sleep(1ms);
    co_return number;
}

weir::task<> scene() {
    weir::token_bucket limiter({.rate = 1, .burst = 1});
    co_await limiter.acquire();
    weir::cancel_scope scope(100ms);
    const auto got = co_await weir::settle(scope.run(limiter.acquire()));
    const auto none = co_await weir::settle(weir::sleep(1ms));
    weir::bulkhead bulkhead({.max_concurrent = 1, .max_waiting = 10});
    co_await weir::timeout(1s, bulkhead.run([] { return work(1); }));
    const auto retried =
        co_await weir::settle(weir::retry({.max_attempts = 2}, [] { return work(1); }));
    auto results = weir::map_concurrent(weir::range(3), 2, work);
    while (auto each = co_await results.next()) {
        if (!got || !none || !retried) {
            throw std::runtime_error("none");
        }
    }
}
