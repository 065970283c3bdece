// SPDX-License-Identifier: MIT
// The line under random use, cancellation and timeouts, in hundreds of schedules: no token is lost,
// none is used twice, and no task waits for ever (a lost wake-up is a deadlock, which simulated
// time detects).

#include "support.hpp"
#include "sync/support.hpp"

#include <weir/flow/leaky_bucket.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/weir.hpp>

namespace {

using limiter_tests::exceeds_bucket;
using limiter_tests::exceeds_window;
using limiter_tests::grant;
using namespace std::chrono_literals;
using sync_tests::dice;
using sync_tests::pause;
using weir::handle;
using weir::task;

constexpr std::uint64_t schedules = 1000;

void expect_always(const weir::testing::test_body& body) {
    sync_tests::expect_always(body, schedules);
}

// Six users, each of which may be cancelled at any point and then tries again.
template <class Limiter, class Use>
task<> use_and_disturb(dice& random, Limiter&, Use& use) {
    std::vector<handle<void>> attempts(6);
    auto user = [&](handle<void>& attempt) -> task<> {
        for (int i = 0; i < 5; ++i) {
            co_await sync_tests::until_done(attempt, use);
        }
    };
    co_await weir::with_group([&](weir::task_group& group) -> task<> {
        for (auto& each : attempts) {
            group.spawn(user, std::ref(each));
        }
        group.spawn(sync_tests::chaos(random, attempts, 60));
        co_return;
    });
}

TEST(LimiterSchedules, NoTokenIsLostOrUsedTwice) {
    expect_always([]() -> task<> {
        dice random;
        constexpr weir::decision::gcra_limits limits{.rate = 200, .burst = 4};
        weir::token_bucket bucket({.rate = limits.rate,
                                   .burst = limits.burst,
                                   .max_waiting = 5,
                                   .order = random.one_in(2) ? weir::queue_order::newest_first
                                                             : weir::queue_order::oldest_first});
        std::vector<grant> used;
        auto use = [&]() -> task<> {
            const double weight = 1 + random.below(4);
            switch (random.below(5)) {
                case 0:
                    if (bucket.try_acquire(weight)) {
                        used.push_back({weir::now(), weight});
                    }
                    break;
                case 1: {
                    const auto in = co_await bucket.admit(weight);
                    if (in) {
                        used.push_back({weir::now(), weight});
                    }
                    break;
                }
                case 2:
                    try {
                        co_await weir::timeout(random.milliseconds_below(40),
                                               bucket.acquire(weight));
                        used.push_back({weir::now(), weight});
                    } catch (const weir::timed_out&) {
                    } catch (const weir::refused&) {
                    }
                    break;
                case 3: {
                    auto place = bucket.reserve(weight);
                    if (place && random.one_in(2)) {
                        co_await place.pass().wait();
                        used.push_back({weir::now(), weight});
                    }
                    break;
                }
                default:
                    co_await pause(random);
            }
        };
        co_await use_and_disturb(random, bucket, use);
        EXPECT_EQ(exceeds_bucket(used, limits.rate, 1s, limits.burst), std::nullopt);
        EXPECT_EQ(bucket.stats().waiting, 0u);
        EXPECT_EQ(bucket.stats().granted, used.size());
        weir::decision::gcra without(limits);
        for (const grant& each : used) {
            EXPECT_TRUE(without.try_take(each.when, each.weight).granted);
        }
        EXPECT_NEAR(bucket.decision().available(weir::now()), without.available(weir::now()), 1e-6);
    });
}

TEST(LimiterSchedules, TheWindowIsStrictAndForgetsTheCancelled) {
    expect_always([]() -> task<> {
        dice random;
        weir::sliding_window window({.limit = 3,
                                     .window = 5ms,
                                     .order = random.one_in(2) ? weir::queue_order::newest_first
                                                               : weir::queue_order::oldest_first});
        std::vector<grant> used;
        auto use = [&]() -> task<> {
            const double weight = 1 + random.below(3);
            if (random.one_in(3)) {
                try {
                    co_await weir::timeout(random.milliseconds_below(8), window.acquire(weight));
                } catch (const weir::timed_out&) {
                    co_return;
                } catch (const weir::refused&) {
                    co_return;
                }
            } else {
                co_await window.acquire(weight);
            }
            used.push_back({weir::now(), weight});
        };
        co_await use_and_disturb(random, window, use);
        EXPECT_EQ(exceeds_window(used, 3, 5ms), std::nullopt);
        double inside = 0;
        for (const grant& each : used) {
            inside += each.when + 5ms > weir::now() ? each.weight : 0;
        }
        EXPECT_DOUBLE_EQ(window.decision().available(weir::now()), 3 - inside);
    });
}

TEST(LimiterSchedules, OneTurnAtATimeWithAPauseBetween) {
    expect_always([]() -> task<> {
        dice random;
        weir::leaky_bucket pace(
            {.interval = 2ms, .from = weir::decision::measured_from::completion});
        int inside = 0;
        weir::clock::time_point ended = weir::now() - 1h;
        auto use = [&]() -> task<> {
            auto turn = co_await pace.acquire();
            struct visit {
                int& inside;
                weir::clock::time_point& ended;
                visit(int& count, weir::clock::time_point& end) : inside(count), ended(end) {
                    ++inside;
                }
                ~visit() {
                    --inside;
                    ended = weir::now();
                }
            };
            EXPECT_EQ(inside, 0);
            EXPECT_GE(weir::now() - ended, 2ms);
            const visit here(inside, ended);
            co_await pause(random);
        };
        co_await use_and_disturb(random, pace, use);
        EXPECT_EQ(pace.stats().waiting, 0u);
    });
}

// A stop at every suspension of a waiter: before it waits, while it waits, and when it has been let
// through.
TEST(LimiterSchedules, DestroyedAtAnyPoint) {
    expect_always([]() -> task<> {
        dice random;
        auto bucket = std::make_unique<weir::token_bucket>(
            weir::token_bucket_options{.rate = 1000, .burst = 1});
        auto use = [&](weir::token_bucket& from) -> task<> {
            try {
                co_await from.acquire();
            } catch (const weir::invalid_state&) {
            }
        };
        std::vector<handle<void>> users;
        for (int i = 0; i < 5; ++i) {
            users.push_back(weir::spawn(use(*bucket)));
        }
        co_await weir::testing::settle_all();
        co_await weir::sleep(random.milliseconds_below(4));
        users[static_cast<std::size_t>(random.below(5))].cancel();
        bucket.reset();
        for (const auto& each : users) {
            co_await each.wait();
        }
    });
}

}  // namespace
