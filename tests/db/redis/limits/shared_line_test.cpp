// SPDX-License-Identifier: MIT
// The line in front of a shared limit, on simulated time: order, questions, bounds, stops, and the
// fate of waiting tasks when Redis does not answer.

#include "support.hpp"

namespace {

using namespace shared_limits;
using weir::refusal_reason;
using weir::testing::settle_all;

std::shared_ptr<weir::decision::gcra> bucket_of(double rate, double burst) {
    return std::make_shared<weir::decision::gcra>(
        weir::decision::gcra_limits{.rate = rate, .burst = burst});
}

WEIR_TEST(SharedLine, BurstThenRate) {
    simulated_network network;
    simulated_limiter limit(bucket_of(10, 3), network);
    const auto begin = weir::now();
    for (int i = 0; i < 8; ++i) {
        co_await limit.acquire();
        EXPECT_EQ(weir::now() - begin, std::max(0, i - 2) * 100ms);
    }
    EXPECT_EQ(limit.stats().granted, 8u);
    EXPECT_EQ(limit.stats().waited, 5u);
    const auto refused = co_await limit.try_acquire();
    WEIR_ASSERT_FALSE(refused);
    EXPECT_EQ(refused.refusal().reason, refusal_reason::rate_limited);
    EXPECT_EQ(refused.refusal().retry_after, 100ms);
    const auto wait = co_await limit.retry_after(2);
    EXPECT_EQ(wait, 200ms);
    WEIR_EXPECT_THROW_WITH(limit.acquire(4), weir::invalid_argument,
                           "simulated: 4 can never pass: at most 3 pass at once");
    EXPECT_THROW((void)limit.try_acquire(0), weir::invalid_argument);
}

// A hundred waiting tasks cause one question each time, not a hundred.
WEIR_TEST(SharedLine, OnlyTheFirstAsks) {
    weir::testing::in_ordinary_order();
    simulated_network network;
    network.latency = 1ms;
    simulated_limiter limit(bucket_of(10, 5), network);
    std::vector<int> order;
    auto use = [&](int number) -> task<> {
        co_await limit.acquire();
        order.push_back(number);
    };
    std::vector<weir::handle<void>> users;
    for (int i = 0; i < 100; ++i) {
        users.push_back(weir::spawn(use(i)));
    }
    for (const auto& each : users) {
        co_await each;
    }
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_EQ(order.size(), 100u);
    EXPECT_LE(network.questions, 100);  // 95 had to wait for a token of their own
    EXPECT_EQ(limit.stats().waited, 95u);
}

WEIR_TEST(SharedLine, WhoCannotWaitSoLongIsToldAtOnce) {
    simulated_network network;
    simulated_limiter limit(bucket_of(1, 1), network, {.max_wait = 1500ms}, 1s);
    co_await limit.acquire();
    const auto begin = weir::now();
    const auto first = weir::spawn([&]() -> task<> { co_await limit.acquire(); });
    co_await settle_all();
    const auto late = co_await limit.admit();
    WEIR_ASSERT_FALSE(late);
    EXPECT_EQ(late.refusal().reason, refusal_reason::wait_too_long);
    EXPECT_EQ(late.refusal().retry_after, 500ms);
    EXPECT_EQ(weir::now(), begin);
    const int questions = network.questions;
    const auto barging = co_await limit.try_acquire();
    WEIR_ASSERT_FALSE(barging);
    EXPECT_EQ(barging.refusal().retry_after, 2s);
    EXPECT_EQ(network.questions, questions);  // it was known
    auto ask = [&]() -> task<bool> {
        const auto in = co_await limit.admit();
        co_return in.has_value();
    };
    const bool in_time = co_await weir::timeout(999ms, ask());
    EXPECT_FALSE(in_time);
    EXPECT_EQ(weir::now(), begin);
    co_await first;
    EXPECT_EQ(weir::now() - begin, 1s);
}

WEIR_TEST(SharedLine, TheLineIsBounded) {
    simulated_network network;
    simulated_limiter limit(bucket_of(1, 1), network, {.max_waiting = 2});
    co_await limit.acquire();
    auto use = [&]() -> task<> { co_await limit.acquire(); };
    const auto first = weir::spawn(use());
    const auto second = weir::spawn(use());
    co_await settle_all();
    EXPECT_EQ(limit.stats().waiting, 2u);
    const auto third = co_await limit.admit();
    WEIR_ASSERT_FALSE(third);
    EXPECT_EQ(third.refusal().reason, refusal_reason::queue_full);
    EXPECT_EQ(third.refusal().retry_after, 1s);
    co_await first;
    co_await second;
}

// At every moment of a question: the tokens taken for a stopped task are refunded.
WEIR_TEST(SharedLine, AStopLeavesNoTrace) {
    simulated_network network;
    network.latency = 10ms;
    const auto shared = bucket_of(0.001, 5);
    {
        simulated_limiter limit(shared, network);
        for (int i = 0; i < 40; ++i) {
            weir::cancel_scope scope(i * 500us);
            auto waits = [&]() -> task<> { co_await limit.acquire(5); };
            const bool done = co_await scope.run(waits());
            co_await weir::sleep(50ms);
            if (done) {
                break;
            }
            EXPECT_NEAR(shared->available(weir::now()), 5, 1e-3) << i;
        }
        EXPECT_GT(limit.stats().given_back, 0u);
    }
    // The one ahead leaves: the next passes, though it came later and would not have.
    network.latency = 0ns;
    simulated_limiter limit(bucket_of(1, 5), network);
    co_await limit.acquire(4);
    const auto large = weir::spawn([&]() -> task<> { co_await limit.acquire(5); });
    const auto small = weir::spawn([&]() -> task<> { co_await limit.acquire(1); });
    co_await settle_all();
    EXPECT_FALSE(small.done());
    large.cancel();
    co_await settle_all();
    EXPECT_TRUE(small.done());
    co_await large.wait();
}

WEIR_TEST(SharedLine, DestroyedWhileWaitedOn) {
    simulated_network network;
    for (const bool is_away : {false, true}) {
        auto limit = std::make_unique<simulated_limiter>(
            bucket_of(1, 1), network,
            redis::token_bucket_options{.when_away = redis::when_away::limit_locally});
        network.is_down = is_away;
        co_await limit->acquire();
        const auto waiting = weir::spawn(
            [](redis::limiter& from) -> task<> { co_await from.acquire(); }, std::ref(*limit));
        co_await settle_all();
        limit.reset();
        WEIR_EXPECT_THROW_WITH(waiting, weir::invalid_state, "rate limiter was destroyed");
    }
}

WEIR_TEST(SharedLine, AwayIsAChoice) {
    class listener final : public weir::observer {
    public:
        void on_event(const weir::flow_event& event) noexcept override {
            heard += std::string(event.what) + " ";
        }
        std::string heard;
    };
    for (const auto choice :
         {redis::when_away::refuse, redis::when_away::allow, redis::when_away::limit_locally}) {
        simulated_network network;
        listener ear;
        simulated_limiter limit(
            bucket_of(1, 1), network,
            {.when_away = choice, .timeout = 100ms, .probe_every = 250ms, .observer = &ear});
        co_await limit.acquire();
        network.is_down = true;
        const auto begin = weir::now();
        const auto first = co_await limit.admit();
        EXPECT_EQ(weir::now(), begin);
        EXPECT_TRUE(limit.stats().is_away);
        EXPECT_EQ(limit.trouble(), "lost on the way");
        const auto second = co_await limit.admit();
        EXPECT_EQ(weir::now() - begin, choice == redis::when_away::limit_locally ? 100ms : 0ms);
        if (choice == redis::when_away::refuse) {
            WEIR_ASSERT_FALSE(first);
            EXPECT_EQ(first.refusal().reason, refusal_reason::circuit_open);
            EXPECT_EQ(second.refusal().retry_after, 250ms);
        } else {
            EXPECT_TRUE(first);
            WEIR_ASSERT_TRUE(second);
            EXPECT_EQ(limit.stats().granted_alone, 2u);
        }
        network.is_down = false;
        co_await weir::sleep(400ms);
        EXPECT_FALSE(limit.stats().is_away);
        EXPECT_EQ(ear.heard, "away back ");
        EXPECT_EQ(limit.trouble(), "");
        auto third = co_await limit.admit();
        WEIR_ASSERT_TRUE(third);
        EXPECT_TRUE(third.pass().is_shared);
        EXPECT_EQ(weir::now() - begin, 1s);
    }
}

// Tasks that wait with the local limit do not have to wait for it once Redis is back.
WEIR_TEST(SharedLine, WhoWaitsAloneGoesBackInOrder) {
    weir::testing::in_ordinary_order();
    simulated_network network;
    network.is_down = true;
    simulated_limiter limit(bucket_of(1000, 1), network,
                            {.when_away = redis::when_away::limit_locally});
    std::vector<int> order;
    auto use = [&](int number) -> task<> {
        co_await limit.acquire();
        order.push_back(number);
    };
    std::vector<weir::handle<void>> users;
    for (int i = 0; i < 100; ++i) {
        users.push_back(weir::spawn(use(i)));
    }
    co_await weir::sleep(210ms);
    EXPECT_EQ(order.size(), 3u);  // ten a second
    network.is_down = false;
    for (const auto& each : users) {
        co_await each;
    }
    EXPECT_EQ(order.size(), 100u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_LE(limit.stats().granted_alone, 4u);
}

}  // namespace
