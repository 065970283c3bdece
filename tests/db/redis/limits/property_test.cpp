// SPDX-License-Identifier: MIT
// Shared limits have the properties of the local ones: the scripts alone, at times of the test's
// choice; the line in front of them, on simulated time; and both together, against a real Redis.

#include "support.hpp"

namespace {

using namespace shared_limits;

plain_connection& connection() {
    static plain_connection shared(redis_test::shared_server().port());
    return shared;
}
constexpr time_point start(1h);

// ---- the scripts alone

TEST(SharedScript, TokenBucketKeepsItsBoundAndNamesExactWaits) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        std::mt19937_64 random(seed);
        const double rate = std::pow(10.0, static_cast<double>(random() % 700) / 100 - 2);
        const double burst = static_cast<double>(100 + random() % 1000) / 100;
        const auto make = [&] { return bucket_alone(connection(), rate, burst); };
        const duration pause = microseconds(static_cast<std::int64_t>(1e6 / rate) + 1);
        const auto grants = names_exact_waits(random, make, pause, std::max(1.0, burst), 1us);
        ASSERT_EQ(exceeds_bucket(grants, rate, 1s, burst), std::nullopt) << "seed " << seed;
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
}

TEST(SharedScript, SlidingWindowKeepsItsBoundAndNamesExactWaits) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        std::mt19937_64 random(seed);
        const double limit = static_cast<double>(1 + random() % 6);
        const auto make = [&] { return window_alone(connection(), limit); };
        const auto grants = names_exact_waits(random, make, 200ms, limit, 1us);
        ASSERT_EQ(exceeds_window(grants, limit, 1s), std::nullopt) << "seed " << seed;
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
}

// What a local decision says at each moment, the script says too; refunds included.
template <class Local>
void agrees_with(Local& local, script_alone& script, std::mt19937_64& random, double most,
                 bool refunds) {
    time_point now = start;
    std::vector<std::pair<double, time_point>> taken;
    for (int i = 0; i < 80; ++i) {
        now += microseconds(random() % 300'000);
        const double weight = static_cast<double>(1 + random() % static_cast<unsigned>(most));
        if (refunds && !taken.empty() && random() % 4 == 0) {
            const auto [given, when] = taken.back();
            taken.pop_back();
            local.give_back(now, given, when);
            script.give_back(now, given, when);
        }
        const auto expected = local.try_take(now, weight);
        const auto answer = script.try_take(now, weight);
        ASSERT_EQ(answer.granted, expected.granted) << i;
        ASSERT_LE(std::chrono::abs(answer.wait - expected.wait), 2us) << i;
        if (answer.granted) {
            taken.emplace_back(weight, now);
        }
    }
}

TEST(SharedScript, DecidesAsTheLocalLimitersDo) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        std::mt19937_64 random(seed);
        weir::decision::gcra bucket({.rate = 10, .burst = 5});
        const auto shared_bucket = bucket_alone(connection(), 10, 5);
        agrees_with(bucket, *shared_bucket, random, 5, false);
        weir::decision::sliding_log log({.limit = 5});
        const auto shared_log = window_alone(connection(), 5);
        agrees_with(log, *shared_log, random, 5, true);
        ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    }
}

TEST(SharedScript, RefundsNeverMint) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        std::mt19937_64 random(seed);
        const auto bucket = bucket_alone(connection(), 10, 6);
        std::vector<grant> kept;
        std::vector<std::pair<double, time_point>> taken;
        time_point now = start;
        for (int i = 0; i < 60; ++i) {
            now += microseconds(random() % 200'000);
            const double weight = static_cast<double>(1 + random() % 4);
            if (bucket->try_take(now, weight).granted) {
                if (random() % 3 == 0) {
                    taken.emplace_back(weight, now);
                } else {
                    kept.push_back({now, weight});
                }
            }
            if (!taken.empty() && random() % 2 == 0) {
                bucket->give_back(now, taken.back().first, taken.back().second);
                taken.pop_back();
            }
        }
        ASSERT_EQ(exceeds_bucket(kept, 10, 1s, 6), std::nullopt) << "seed " << seed;
    }
}

// Many at once: each in turn. A request that does not wait does not delay the ones behind it, one
// that waits does.
TEST(SharedScript, AnswersAboutAWholeLine) {
    const auto bucket = bucket_alone(connection(), 10, 5);
    EXPECT_EQ(bucket->ask(start, {}, {2, 2, -2, 1, -1, 1, 1}),
              (std::vector<std::int64_t>{0, 0, 100'000, 0, 100'000, 100'000}));
    EXPECT_EQ(bucket->ask(start, {{2, start}}, {1, -6, 1, 5, 1}),
              (std::vector<std::int64_t>{0, -1, 0, 500'000}));
    const auto window = window_alone(connection(), 5);
    EXPECT_EQ(window->ask(start, {}, {2, 2, -2, 1, -1, 1, 1}),
              (std::vector<std::int64_t>{0, 0, 1'000'000, 0, 1'000'000, 1'000'000}));
    EXPECT_EQ(window->ask(start + 1ms, {{2, start}}, {1, -6, 1, 5, 1}),
              (std::vector<std::int64_t>{0, -1, 0, 1'000'000}));
}

TEST(SharedScript, LookingTakesNothing) {
    const auto bucket = bucket_alone(connection(), 10, 2);
    const auto window = window_alone(connection(), 2);
    for (script_alone* each : {bucket.get(), window.get()}) {
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(each->ask(start, {}, {2}, true), std::vector<std::int64_t>{0});
        }
        EXPECT_TRUE(each->try_take(start, 2).granted);
        EXPECT_FALSE(each->try_take(start, 1).granted);
    }
}

// Nothing is left for ever; what expires says nothing any more by then.
TEST(SharedScript, KeysGoAway) {
    const auto bucket = bucket_alone(connection(), 10, 50);
    bucket->is_mortal = true;
    EXPECT_TRUE(bucket->try_take(start, 20).granted);
    EXPECT_NEAR(static_cast<double>(bucket->expires_in()), 2000, 100);
    const auto window = window_alone(connection(), 50, 3s);
    window->is_mortal = true;
    EXPECT_TRUE(window->try_take(start, 20).granted);
    EXPECT_NEAR(static_cast<double>(window->expires_in()), 3000, 100);
    bucket->give_back(start, 20, start);
    window->give_back(start, 20, start);
    EXPECT_EQ(bucket->expires_in(), -2);  // there is no such key
    EXPECT_EQ(window->expires_in(), -2);
}

// A clock that is set back by an hour: no task waits for an hour, and nothing is admitted twice.
//
TEST(SharedScript, AClockThatIsSetBackNeitherBlocksNorMints) {
    const auto bucket = bucket_alone(connection(), 10, 5);
    const auto window = window_alone(connection(), 5);
    for (script_alone* each : {bucket.get(), window.get()}) {
        EXPECT_TRUE(each->try_take(start, 5).granted);
        EXPECT_FALSE(each->try_take(start - 30min, 1).granted);
        EXPECT_LE(each->try_take(start - 30min, 1).wait, 1s);
        EXPECT_FALSE(each->try_take(start - 30min + 1us, 5).granted);
        EXPECT_TRUE(each->try_take(start - 30min + 1s, 5).granted);
        EXPECT_FALSE(each->try_take(start - 30min + 1s, 1).granted);
    }
}

// Another limit from now on: no burst comes of it.
TEST(SharedScript, AChangeOfTheRateBringsNoBurst) {
    const auto bucket = bucket_alone(connection(), 1, 10);
    EXPECT_TRUE(bucket->try_take(start, 10).granted);
    bucket->set_terms({"1e-5", "100"});
    EXPECT_EQ(bucket->try_take(start, 50).wait, 5s);
    const auto window = window_alone(connection(), 2);
    EXPECT_TRUE(window->try_take(start, 2).granted);
    window->set_terms({"1000000", "3000000"});
    EXPECT_TRUE(window->try_take(start, 1).granted);
    EXPECT_FALSE(window->try_take(start, 1).granted);
}

// ---- the line, on simulated time

TEST(SharedLine, TokenBucketIsItsModel) {
    simulated_network at_once;
    is_token_bucket(
        300,
        [&](double rate, double burst) {
            return std::make_unique<simulated_limiter>(
                std::make_shared<weir::decision::gcra>(
                    weir::decision::gcra_limits{.rate = rate, .burst = burst}),
                at_once);
        },
        2us);
}

TEST(SharedLine, SlidingWindowIsItsModel) {
    simulated_network at_once;
    is_sliding_window(300, [&](double limit) {
        return std::make_unique<simulated_limiter>(
            std::make_shared<weir::decision::sliding_log>(
                weir::decision::window_limits{.limit = limit}),
            at_once);
    });
}

// Three processes, a network that is slow and loses questions and answers, tasks that are stopped:
// the tokens taken stay within the bound, and each admitted task has a process that took its
// tokens.
//
TEST(SharedLine, KeepsTheBoundOverABadNetwork) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        std::mt19937_64 random(seed);
        const double rate = 100;
        const double burst = static_cast<double>(1 + random() % 8);
        simulated_network network;
        network.random.seed(seed);
        network.latency = duration(random() % 20'000'000);
        network.losses = seed % 3 == 0 ? 0.05 : 0;
        network.failures = seed % 2 == 0 ? 0.05 : 0;
        const auto shared = std::make_shared<weir::decision::gcra>(
            weir::decision::gcra_limits{.rate = rate, .burst = burst});
        std::vector<event> traffic[3];
        for (auto& each : traffic) {
            each = random_traffic(random, 60, 10ms, burst, false, 5);
        }
        double let_through = 0;
        run_on_loop([&]() -> task<std::vector<grant>> {
            auto uses = [&](const std::vector<event>& own) -> task<> {
                simulated_limiter limit(shared, network, {.timeout = 100ms, .probe_every = 50ms});
                const auto grants = co_await play<simulated_limiter, true>(limit, own);
                for (const grant& each : grants) {
                    let_through += each.weight;
                }
                if (seed % 6 == 1 || seed % 6 == 5) {  // nothing was lost
                    EXPECT_EQ(out_of_order(grants), std::nullopt);
                }
                EXPECT_EQ(limit.stats().waiting, 0u);
            };
            co_await weir::with_group([&](weir::task_group& group) -> task<> {
                for (const auto& each : traffic) {
                    group.spawn(uses, std::cref(each));
                }
                co_return;
            });
            co_return std::vector<grant>{};
        });
        double taken = 0;
        for (const grant& each : network.taken) {
            taken += each.weight;
        }
        ASSERT_LE(let_through, taken + 1e-9) << "seed " << seed;
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
}

// ---- both, against a real Redis and on its clock

template <class Limiter, class Options, class Check>
task<> plays_for_real(Options options, double most, Check check) {
    redis::client store({.port = redis_test::shared_server().port()});
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        std::mt19937_64 random(seed);
        const std::string key = "real:" + std::to_string(seed);
        co_await store.remove(key);
        options.key = key;
        options.timeout = 5s;
        Limiter limiter(store, options);
        const auto traffic = random_traffic(random, 60, 2ms, most, seed % 2 == 0, 6);
        const auto asking = static_cast<std::size_t>(std::count_if(
            traffic.begin(), traffic.end(), [](const event& each) { return !each.cancels; }));
        const auto grants = co_await play<Limiter, true>(limiter, traffic);
        EXPECT_EQ(check(grants), std::nullopt) << "seed " << seed;
        EXPECT_EQ(out_of_order(grants), std::nullopt) << "seed " << seed;
        const auto stats = limiter.stats();
        EXPECT_EQ(stats.granted, grants.size());
        EXPECT_EQ(stats.granted + stats.cancelled, asking);
        EXPECT_EQ(stats.waiting, 0u);
        EXPECT_EQ(stats.unanswered, 0u);
    }
}

WEIR_IO_TEST(SharedLimit, TokenBucketHasTheProperties) {
    const auto check = [](const std::vector<grant>& grants) {
        return exceeds_bucket(grants, 500, 1s, 4);
    };
    co_await plays_for_real<redis::token_bucket>(
        redis::token_bucket_options{.rate = 500, .burst = 4}, 4, check);
}

WEIR_IO_TEST(SharedLimit, SlidingWindowHasTheProperties) {
    const auto check = [](const std::vector<grant>& grants) {
        return exceeds_window(grants, 10, 20ms);
    };
    co_await plays_for_real<redis::sliding_window>(
        redis::sliding_window_options{.limit = 10, .window = 20ms}, 4, check);
}

}  // namespace
