// SPDX-License-Identifier: MIT
// An exchange with a real Redis in which each connect, read, write, query and timer fails once.

#include <support/peers/redis.hpp>

#include <weir/base/fault_point.hpp>
#include <weir/db/redis/client.hpp>
#include <weir/outcome.hpp>
#include <weir/testing/faults.hpp>

#include <set>

namespace {

using weir::io_point;
using weir::task;
namespace redis = weir::redis;

// A command that fails is not sent again unless the error says that this is harmless.
task<std::int64_t> count_one(redis::client& store) {
    const redis::value now = co_await store.command("INCR", "counted");
    co_return now.number();
}

TEST(FaultPoints, AreSeenAndTheClientGoesOn) {
    std::set<io_point> failed;
    weir::testing::fault_options options;
    options.driver = weir::driver_kind::epoll;
    options.most_time = std::chrono::seconds(60);
    const std::uint16_t port = redis_test::shared_server().port();
    const auto found = weir::testing::explore_faults(
        [&]() -> task<> {
            redis::client store({.port = port});
            std::int64_t before = 0;
            bool knows = false;
            while (!knows) {
                try {
                    const redis::value now = co_await store.command("INCRBY", "counted", 0);
                    before = now.number();
                    knows = true;
                } catch (const redis::connection_error&) {
                    // a run has one fault: the next attempt works
                }
            }
            const bool early = weir::testing::injected_fault().has_value();
            const auto how = co_await weir::settle(count_one(store));
            const auto fault = weir::testing::injected_fault();
            EXPECT_TRUE(how.has_value() || (fault.has_value() && !early));
            if (how.has_value()) {
                EXPECT_EQ(how.value(), before + 1);
            }
            if (fault.has_value() && !how.has_value()) {
                failed.insert(fault->at);
                const std::int64_t now = co_await count_one(store);
                // The command may have been carried out with its answer lost, but never twice.
                EXPECT_TRUE(now == before + 1 || now == before + 2) << fault->text();
                EXPECT_TRUE(fault->at != io_point::query || now == before + 1);
            }
        },
        options);
    EXPECT_FALSE(found.failed) << found.text();
    EXPECT_GE(found.points, 4u);
    EXPECT_TRUE(failed.contains(io_point::query));
    EXPECT_TRUE(failed.contains(io_point::write));
}

}  // namespace
