// SPDX-License-Identifier: MIT
// Calls through a bulkhead or an adaptive limit, waiting ones included, allocate nothing after
// warm-up.

#include "allocations/counting.hpp"

#include <weir/flow/adaptive_limit.hpp>
#include <weir/flow/bulkhead.hpp>

namespace {

using namespace std::chrono_literals;
using counting::in_steady_state;
using weir::task;

// Two runs of the body side by side, so that one waits for the other.
template <class Body>
task<> twice(Body& body) {
    const auto other = weir::spawn(body());
    co_await body();
    co_await other;
}

TEST(Allocations, Bulkhead) {
    weir::bulkhead places({.max_concurrent = 2, .max_wait = 10s});
    auto body = [&places]() -> task<> {
        auto permit = co_await places.acquire(2);
        co_await weir::yield();
        permit.release();
        co_await places.run([] { return weir::yield(); }, 2);
    };
    auto once = [&body]() -> task<> { co_await twice(body); };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, AdaptiveLimit) {
    weir::adaptive_limit limit({.initial = 1, .max = 1, .max_waiting = 10});
    auto body = [&limit]() -> task<> { co_await limit.run([] { return weir::sleep(1ms); }); };
    auto once = [&body]() -> task<> { co_await twice(body); };
    EXPECT_EQ(in_steady_state(once), 0u);
}

}  // namespace
