// SPDX-License-Identifier: MIT
// After warm-up, lending objects, waiting for them, checking and resetting them allocates nothing.

#include "allocations/counting.hpp"

#include <weir/flow/pool.hpp>
#include <weir/time.hpp>

namespace {

using namespace std::chrono_literals;
using counting::in_steady_state;
using weir::task;

struct connection {
    int id = 0;
};

TEST(Allocations, PoolLendsWhatIsIdle) {
    weir::pool<connection> pool({.max = 2}, [] { return connection(); });
    auto once = [&pool]() -> task<> { (co_await pool.acquire()).release(); };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, PoolLendsWithTheTimeInView) {
    weir::pool<connection> pool(
        {.max = 2, .max_lifetime = 1h, .idle_timeout = 1h, .leak_after = 1h},
        [] { return connection(); });
    auto once = [&pool]() -> task<> {
        (co_await pool.acquire()).release();
        auto taken = pool.try_acquire();
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, PoolHandsOver) {
    weir::pool<connection> pool({.max = 1}, [] { return connection(); });
    auto body = [&pool]() -> task<> {
        auto lent = co_await pool.acquire();
        co_await weir::yield();
    };
    auto once = [&body]() -> task<> {
        const auto other = weir::spawn(body());
        co_await body();
        co_await other;
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, PoolChecksAndResets) {
    weir::pool<connection> pool({.max = 1},
                                {.connect = [] { return connection(); },
                                 .check = [](connection&) -> task<bool> {
                                     co_await weir::yield();
                                     co_return true;
                                 },
                                 .reset = [](connection&) -> task<> { co_await weir::yield(); }});
    auto once = [&pool]() -> task<> { (co_await pool.acquire()).release(); };
    EXPECT_EQ(in_steady_state(once), 0u);
}

}  // namespace
