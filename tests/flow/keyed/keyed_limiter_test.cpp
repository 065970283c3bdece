// SPDX-License-Identifier: MIT
// The contract of keyed_limiter: rates for each key, lines of waiters, refusals with a reason.

#include <weir/flow/keyed_limiter.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/testing/testing.hpp>

#include <limits>

namespace {

using namespace std::chrono_literals;
using weir::keyed_limiter;
using weir::refusal;
using weir::refusal_reason;
using weir::task;
using weir::testing::advance;
using weir::testing::settle_all;
using clients = keyed_limiter<std::string>;

WEIR_TEST(KeyedLimiter, EachKeyHasItsOwnRate) {
    clients limiter({.rate = 2, .burst = 2});
    for (const char* client : {"ann", "bob"}) {
        EXPECT_TRUE(limiter.try_acquire(client));
        EXPECT_TRUE(limiter.try_acquire(client));
        const auto third = limiter.try_acquire(client);
        WEIR_ASSERT_FALSE(third);
        EXPECT_EQ(third.refusal(), (refusal{refusal_reason::rate_limited, 500ms}));
        EXPECT_EQ(limiter.retry_after(client), 500ms);
    }
    co_await advance(500ms);
    EXPECT_EQ(limiter.retry_after("ann"), 0s);
    EXPECT_TRUE(limiter.try_acquire("ann"));
    EXPECT_FALSE(limiter.try_acquire("ann"));
    EXPECT_EQ(limiter.stats().granted, 5u);
    EXPECT_EQ(limiter.stats().limited, 3u);
    EXPECT_EQ(limiter.limiting_keys(), 2u);
    co_await advance(1h);
    EXPECT_EQ(limiter.limiting_keys(), 0u);
    limiter.forget_idle();
    EXPECT_EQ(limiter.stats().keys, 0u);
}

WEIR_TEST(KeyedLimiter, WaitsInTheOrderOfAsking) {
    weir::testing::in_ordinary_order();
    clients limiter({.rate = 1});
    std::vector<std::string> order;
    auto ask = [&](std::string caller, std::string key, double tokens) -> task<> {
        co_await limiter.acquire(key, tokens);
        order.push_back(caller + "@" + std::to_string(weir::now().time_since_epoch() / 1s));
    };
    const auto begin = weir::now().time_since_epoch() / 1s;
    co_await weir::with_group([&](weir::task_group& group) -> task<> {
        group.spawn(ask, "a0", "a", 1);
        group.spawn(ask, "a1", "a", 1);
        group.spawn(ask, "a2", "a", 1);
        group.spawn(ask, "b0", "b", 1);
        group.spawn(ask, "b1", "b", 1);
        co_await settle_all();
        EXPECT_EQ(limiter.waiting(), 3u);
    });
    const auto at = [begin](std::string caller, long second) {
        return caller + "@" + std::to_string(begin + second);
    };
    EXPECT_EQ(order,
              (std::vector{at("a0", 0), at("b0", 0), at("a1", 1), at("b1", 1), at("a2", 2)}));
    EXPECT_EQ(limiter.waiting(), 0u);
}

WEIR_TEST(KeyedLimiter, NobodyOvertakesALine) {
    clients limiter({.rate = 1, .burst = 3});
    EXPECT_TRUE(limiter.try_acquire("a", 3));
    auto large = [&]() -> task<> { co_await limiter.acquire("a", 3); };
    const auto waits = weir::spawn(large());
    co_await advance(2s);
    // Two tokens are available, but a waiter needs three; it gets them first.
    const auto small = limiter.try_acquire("a");
    WEIR_ASSERT_FALSE(small);
    EXPECT_EQ(small.refusal().retry_after, 2s);
    EXPECT_EQ(limiter.retry_after("a"), 2s);
    EXPECT_TRUE(limiter.try_acquire("b"));
    co_await advance(1s);
    EXPECT_TRUE(waits.done());
    EXPECT_EQ(limiter.retry_after("a"), 1s);
}

WEIR_TEST(KeyedLimiter, ACancelledWaiterLeavesNoTrace) {
    clients limiter({.rate = 1, .burst = 10});
    EXPECT_TRUE(limiter.try_acquire("a", 10));
    auto ask = [&](double tokens) -> task<> { co_await limiter.acquire("a", tokens); };
    const auto large = weir::spawn(ask(10));
    co_await settle_all();
    const auto small = weir::spawn(ask(1));
    co_await advance(5s);
    EXPECT_FALSE(small.done());
    large.cancel();
    co_await settle_all();
    EXPECT_TRUE(small.done());  // the follower that now fits continues at once
    EXPECT_EQ(limiter.waiting(), 0u);
    EXPECT_TRUE(limiter.try_acquire("a", 4));
    EXPECT_FALSE(limiter.try_acquire("a"));
}

WEIR_TEST(KeyedLimiter, AGrantThatNobodySawGoesToTheNext) {
    clients limiter({.rate = 1});
    EXPECT_TRUE(limiter.try_acquire("a"));
    auto ask = [&]() -> task<> { co_await limiter.acquire("a"); };
    const auto first = weir::spawn(ask());
    co_await settle_all();
    const auto second = weir::spawn(ask());
    co_await settle_all();
    const auto when = weir::now() + 1s;
    // At the moment of the grant, before or after it.
    auto meddle = [&]() -> task<> {
        co_await weir::sleep_until(when);
        first.cancel();
    };
    const auto meddler = weir::spawn(meddle());
    co_await weir::testing::advance_to(when);
    EXPECT_TRUE(first.done());
    EXPECT_TRUE(meddler.done());
    if (first.cancelled()) {
        EXPECT_TRUE(second.done());
    } else {
        EXPECT_EQ(limiter.retry_after("a"), 2s);
        co_await second;
    }
}

WEIR_TEST(KeyedLimiter, WaitsThatCannotHelpAreRefusedAtOnce) {
    clients limiter({.rate = 1, .burst = 2, .max_waiting = 1, .max_wait = 3s});
    const auto begin = weir::now();
    const auto too_much = co_await limiter.admit("a", 3);
    WEIR_ASSERT_FALSE(too_much);
    EXPECT_EQ(too_much.refusal(), (refusal{refusal_reason::rate_limited, refusal::never}));

    EXPECT_TRUE(limiter.try_acquire("a", 2));
    auto hurried = [&]() -> task<> {
        const auto doomed = co_await limiter.admit("a");
        WEIR_ASSERT_FALSE(doomed);
        EXPECT_EQ(doomed.refusal(), (refusal{refusal_reason::past_deadline, 1s}));
    };
    co_await weir::timeout(500ms, hurried());
    WEIR_EXPECT_TIMEOUT(weir::timeout(500ms, limiter.acquire("a")));

    auto ask = [&]() -> task<> { co_await limiter.acquire("a", 2); };
    const auto waits = weir::spawn(ask());
    co_await settle_all();
    const auto one_more = co_await limiter.admit("b");  // not that it would have to wait
    EXPECT_TRUE(one_more);
    const auto behind = co_await limiter.admit("a");
    WEIR_ASSERT_FALSE(behind);
    EXPECT_EQ(behind.refusal(), (refusal{refusal_reason::queue_full, 3s}));
    EXPECT_EQ(weir::now(), begin);
    EXPECT_EQ(limiter.stats().not_waited, 3u);
    co_await waits;

    clients patient({.rate = 1, .burst = 5, .max_wait = 3s});
    EXPECT_TRUE(patient.try_acquire("a", 5));
    const auto long_wait = co_await patient.admit("a", 4);
    EXPECT_EQ(long_wait.refusal(), (refusal{refusal_reason::wait_too_long, 4s}));
    WEIR_EXPECT_THROW_WITH(patient.acquire("a", 4), weir::refused,
                           "keyed_limiter: the wait would be too long, retry after 4 s");
}

struct recorder final : weir::observer {
    std::vector<std::string> seen;
    void on_event(const weir::flow_event& event) noexcept override {
        seen.push_back(std::string(event.name) + ": " + std::string(event.what));
    }
};

WEIR_TEST(KeyedLimiter, FullOfKeysThatLimit) {
    recorder events;
    keyed_limiter<int> limiter({.rate = 1, .max_keys = 2, .name = "clients", .observer = &events});
    EXPECT_TRUE(limiter.try_acquire(1));
    co_await advance(400ms);
    EXPECT_TRUE(limiter.try_acquire(2));
    const auto third = limiter.try_acquire(3);
    WEIR_ASSERT_FALSE(third);
    EXPECT_EQ(third.refusal(), (refusal{refusal_reason::too_many_keys, 600ms}));
    const auto waited = co_await limiter.admit(3);
    EXPECT_EQ(waited.refusal().reason, refusal_reason::too_many_keys);
    EXPECT_EQ(limiter.retry_after(3), 600ms);
    EXPECT_EQ(events.seen, std::vector<std::string>{"clients: full"});
    co_await advance(600ms);
    EXPECT_TRUE(limiter.try_acquire(3));
    EXPECT_FALSE(limiter.try_acquire(2));  // still limited: it was not forgotten
    EXPECT_EQ(limiter.stats().full, 2u);

    keyed_limiter<int> sharing(
        {.rate = 1, .max_keys = 1, .when_keys_full = weir::when_keys_full::share});
    EXPECT_TRUE(sharing.try_acquire(1));
    EXPECT_TRUE(sharing.try_acquire(2));
    EXPECT_EQ(sharing.try_acquire(3).refusal(), (refusal{refusal_reason::rate_limited, 1s}));
    const auto begin = weir::now();
    const auto wait = co_await sharing.acquire(3);
    EXPECT_EQ(weir::now() - begin, 1s);
    EXPECT_EQ(wait, 1s);
}

WEIR_TEST(KeyedLimiter, ClassesOfKeys) {
    const weir::key_rate classes[] = {{.rate = 100, .burst = 5}, {.rate = 1, .per = 1min}};
    keyed_limiter<int> limiter(
        {.rate = 1, .classes = classes, .class_of = [](const int& key) -> std::size_t {
             return key < 10 ? 0 : key < 20 ? 1 : key < 30 ? 2 : 3;
         }});
    const auto burst = [&limiter](int key) {
        int granted = 0;
        while (limiter.try_acquire(key)) {
            ++granted;
        }
        return granted;
    };
    EXPECT_EQ(burst(1), 1);
    EXPECT_EQ(burst(11), 5);
    EXPECT_EQ(burst(21), 1);
    EXPECT_EQ(limiter.retry_after(11), 10ms);
    EXPECT_EQ(limiter.retry_after(21), 1min);
    EXPECT_THROW((void)limiter.try_acquire(31), weir::invalid_argument);
    WEIR_EXPECT_THROW(limiter.acquire(31), weir::invalid_argument);
    limiter.set_rate({.rate = 1000, .burst = 5}, 1);
    EXPECT_EQ(limiter.retry_after(11), 1ms);
    EXPECT_EQ(limiter.retry_after(21), 1min);
    EXPECT_THROW(limiter.set_rate({.rate = 1}, 3), weir::invalid_argument);
    co_return;
}

WEIR_TEST(KeyedLimiter, AnotherRateWhileSomebodyWaits) {
    clients limiter({.rate = 1, .burst = 4});
    EXPECT_TRUE(limiter.try_acquire("a", 4));
    auto ask = [&](double tokens) -> task<bool> {
        const auto let_in = co_await limiter.admit("a", tokens);
        co_return let_in.has_value();
    };
    const auto first = weir::spawn(ask(4));
    co_await settle_all();
    const auto second = weir::spawn(ask(1));
    co_await advance(1s);
    limiter.set_rate({.rate = 10, .burst = 4});
    co_await advance(299ms);
    EXPECT_FALSE(first.done());
    co_await advance(1ms);
    EXPECT_TRUE(first.done());
    co_await advance(100ms);
    EXPECT_TRUE(second.done());

    const auto third = weir::spawn(ask(4));
    co_await settle_all();
    limiter.set_rate({.rate = 10, .burst = 2});  // then four never pass
    const bool passed = co_await third;
    EXPECT_FALSE(passed);
}

WEIR_TEST(KeyedLimiter, DestroyedWhileSomebodyWaits) {
    std::optional<clients> limiter;
    limiter.emplace(clients::options{.rate = 1});
    EXPECT_TRUE(limiter->try_acquire("a"));
    auto ask = [&]() -> task<> { co_await limiter->acquire("a"); };
    const auto waits = weir::spawn(ask());
    const auto leaves = weir::spawn(ask());
    co_await settle_all();
    leaves.cancel();
    limiter.reset();
    WEIR_EXPECT_THROW(waits, weir::invalid_state);
    co_await leaves.wait();
}

WEIR_TEST(KeyedLimiter, TheKeyFilledIn) {
    clients limiter({.rate = 1});
    clients::bound bob = limiter.for_key("bob");
    EXPECT_TRUE(bob.try_acquire());
    EXPECT_EQ(bob.retry_after(), 1s);
    EXPECT_EQ(limiter.retry_after("bob"), 1s);
    weir::call_context call("call", 1);
    EXPECT_FALSE(bob.try_enter(call));
    const auto begin = weir::now();
    const auto let_in = co_await bob.enter(call);
    EXPECT_TRUE(let_in);
    EXPECT_EQ(weir::now() - begin, 1s);
    EXPECT_EQ(call.now(), weir::now());
    co_await bob.acquire();
    EXPECT_EQ(weir::now() - begin, 2s);
    bob.give_back_at(weir::now());
    EXPECT_TRUE(bob.try_acquire());
}

WEIR_TEST(KeyedLimiter, Metrics) {
    clients limiter({.rate = 1, .name = "api"});
    (void)limiter.try_acquire("a");
    (void)limiter.try_acquire("a");
    weir::prometheus_writer page;
    limiter.write_metrics(page);
    const std::string text = page.text();
    EXPECT_NE(text.find("weir_keyed_limiter_granted_total{name=\"api\"} 1"), std::string::npos);
    EXPECT_NE(text.find("weir_keyed_limiter_refused_total{name=\"api\",reason=\"rate_limited\"} 1"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("weir_keyed_limiter_keys{name=\"api\"} 1"), std::string::npos);
    co_return;
}

WEIR_TEST(KeyedLimiter, BadOptions) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(clients({}), weir::invalid_argument);
    EXPECT_THROW(clients({.rate = -1}), weir::invalid_argument);
    EXPECT_THROW(clients({.rate = nan}), weir::invalid_argument);
    EXPECT_THROW(clients({.rate = 1, .per = 0s}), weir::invalid_argument);
    EXPECT_THROW(clients({.rate = 1, .burst = 0}), weir::invalid_argument);
    EXPECT_THROW(clients({.rate = 1, .max_keys = 0}), weir::invalid_argument);
    EXPECT_THROW(clients({.rate = 1, .max_wait = -1s}), weir::invalid_argument);
    const weir::key_rate bad_class[] = {{.rate = 0}};
    EXPECT_THROW(clients({.rate = 1, .classes = bad_class}), weir::invalid_argument);
    clients limiter({.rate = 1});
    EXPECT_THROW((void)limiter.try_acquire("a", 0), weir::invalid_argument);
    EXPECT_THROW((void)limiter.try_acquire("a", nan), weir::invalid_argument);
    EXPECT_THROW((void)limiter.acquire("a", -1), weir::invalid_argument);
    EXPECT_FALSE(limiter.try_acquire("a", std::numeric_limits<double>::infinity()));
    co_return;
}

// A task that is stopped after its grant and before it goes on gives its tokens back.
WEIR_TEST(KeyedLimiter, AGrantThatIsNotUsedIsReturned) {
    weir::testing::in_ordinary_order();
    clients limiter({.rate = 1, .burst = 1});
    EXPECT_TRUE(limiter.try_acquire("a"));
    auto ask = [&]() -> task<> { co_await limiter.acquire("a"); };
    auto stopped = weir::spawn(ask());
    auto next = weir::spawn(ask());
    co_await settle_all();
    const auto begin = weir::now();
    limiter.give_back_at(begin, "a");  // granted to the first, which has not run
    stopped.cancel();
    co_await stopped.wait();
    co_await next;
    EXPECT_TRUE(stopped.cancelled());
    EXPECT_EQ(weir::now(), begin);
    const auto stats = limiter.stats();
    EXPECT_EQ(stats.returned, 2u);
    EXPECT_EQ(stats.granted, 1u);
    EXPECT_EQ(stats.waiting, 0u);
}

}  // namespace
