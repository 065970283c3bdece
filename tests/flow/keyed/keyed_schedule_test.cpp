// SPDX-License-Identifier: MIT
// Lines of waiters under random use, cancellation and timeouts, in hundreds of schedules: no task
// passes without tokens, no token is lost, and no task waits for ever (which simulated time
// detects).

#include "sync/support.hpp"

#include <weir/flow/keyed_limiter.hpp>

#include <map>

namespace {

using namespace sync_tests;

struct passage {
    weir::clock::time_point at;
    int tokens;
};

TEST(KeyedSchedules, NoTokenIsLostAndNoneIsMinted) {
    expect_always(
        []() -> task<> {
            constexpr int keys = 3;
            dice random;
            weir::keyed_limiter<int> limiter({.rate = 1000, .burst = 3, .max_keys = keys});
            std::map<int, std::vector<passage>> seen;
            const auto pass = [&](int key, int tokens) {
                seen[key].push_back({weir::now(), tokens});
            };
            auto use = [&]() -> task<> {
                const int key = random.below(keys);
                const int tokens = 1 + random.below(3);
                switch (random.below(4)) {
                    case 0:
                        if (limiter.try_acquire(key, tokens)) {
                            pass(key, tokens);
                        }
                        break;
                    case 1:
                        try {
                            co_await weir::timeout(random.milliseconds_below(6),
                                                   limiter.acquire(key, tokens));
                            pass(key, tokens);
                        } catch (const weir::timed_out&) {
                        }
                        break;
                    case 2: {
                        const auto let_in = co_await limiter.admit(key, tokens);
                        EXPECT_TRUE(let_in);
                        pass(key, tokens);
                        break;
                    }
                    default:
                        co_await limiter.acquire(key, tokens);
                        pass(key, tokens);
                }
                co_await pause(random);
            };
            std::vector<handle<void>> attempts(6);
            auto user = [&](handle<void>& attempt) -> task<> {
                for (int i = 0; i < 6; ++i) {
                    co_await until_done(attempt, use);
                }
            };
            co_await weir::with_group([&](weir::task_group& group) -> task<> {
                for (auto& each : attempts) {
                    group.spawn(user, std::ref(each));
                }
                group.spawn(chaos(random, attempts, 40));
                co_return;
            });
            EXPECT_EQ(limiter.waiting(), 0u);
            // Each key is exactly where what was let through has brought it.
            for (const auto& [key, passages] : seen) {
                weir::clock::time_point full_at = weir::clock::time_point::min();
                for (const passage& each : passages) {
                    full_at = std::max(full_at, each.at) + each.tokens * 1ms;
                    EXPECT_LE(full_at - each.at, 3ms) << "more than the rate";
                }
                const auto expected =
                    std::max(full_at - weir::now(), weir::clock::duration::zero());
                EXPECT_EQ(std::max(limiter.retry_after(key, 3), weir::clock::duration::zero()),
                          expected);
            }
        },
        1000);
}

// Without shuffling, so that the order of asking is known.
TEST(KeyedSchedules, LinesAreFair) {
    for (unsigned seed = 0; seed < 100; ++seed) {
        auto body = [seed]() -> task<> {
            std::mt19937 random(seed);
            weir::keyed_limiter<int> limiter({.rate = 1000, .burst = 4});
            std::vector<int> arrived[2];
            std::vector<int> got[2];
            auto use = [&](int caller, int key, double tokens) -> task<> {
                arrived[key].push_back(caller);
                co_await limiter.acquire(key, tokens);
                got[key].push_back(caller);
            };
            co_await weir::with_group([&](weir::task_group& group) -> task<> {
                for (int caller = 0; caller < 40; ++caller) {
                    group.spawn(use, caller, static_cast<int>(random() % 2),
                                static_cast<double>(1 + random() % 4));
                    if (random() % 3 == 0) {
                        co_await weir::sleep(std::chrono::milliseconds(random() % 5));
                    }
                }
            });
            EXPECT_EQ(arrived[0], got[0]);
            EXPECT_EQ(arrived[1], got[1]);
        };
        const auto result = weir::testing::replay(body, 0);
        ASSERT_FALSE(result.failed) << result.text();
    }
}

}  // namespace
