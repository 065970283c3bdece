// SPDX-License-Identifier: MIT
// Several limiters as one: all or nothing, waiting without holding anything.

#include "sync/support.hpp"

#include <weir/flow/combined_limiter.hpp>
#include <weir/flow/keyed_limiter.hpp>
#include <weir/flow/token_bucket.hpp>

#include <limits>

namespace {

using namespace sync_tests;
using weir::combined_limiter;
using weir::keyed_limiter;
using weir::refusal;
using weir::refusal_reason;
using weir::token_bucket;
using weir::testing::advance;

WEIR_TEST(CombinedLimiter, TakesFromAllOrFromNone) {
    token_bucket fast({.rate = 10, .burst = 10});
    token_bucket slow({.rate = 1, .burst = 2});
    combined_limiter both(fast, slow);
    EXPECT_TRUE(both.try_acquire(2));
    const auto third = both.try_acquire();
    WEIR_ASSERT_FALSE(third);
    EXPECT_EQ(third.refusal(), (refusal{refusal_reason::rate_limited, 1s}));
    EXPECT_TRUE(fast.try_acquire(8));  // the refusal cost nothing
    EXPECT_FALSE(fast.try_acquire());
    co_await advance(1s);
    EXPECT_TRUE(both.try_acquire());
    EXPECT_EQ(both.stats().granted, 2u);
    EXPECT_EQ(both.stats().refused, 1u);
}

WEIR_TEST(CombinedLimiter, WaitsForTheEarliestTimeAtWhichAllGrant) {
    token_bucket second({.rate = 10, .burst = 10});
    token_bucket minute({.rate = 30, .per = 1min, .burst = 30});
    keyed_limiter<std::string> tenants({.rate = 5, .burst = 5});
    combined_limiter all(second, minute, tenants.for_key("acme"));
    const auto begin = weir::now();
    for (int i = 0; i < 30; ++i) {
        co_await all.acquire();
    }
    EXPECT_EQ(weir::now() - begin, 5s);  // five at once, then the tenant's rate
    const auto wait = co_await all.acquire();
    EXPECT_EQ(wait, 200ms);
    EXPECT_EQ(minute.retry_after(2), 800ms);  // 31 of the 30 and the 2.6 that came since
    EXPECT_EQ(all.stats().granted, 31u);
}

WEIR_TEST(CombinedLimiter, HoldsNothingWhileItWaits) {
    token_bucket plenty({.rate = 1, .burst = 5});
    token_bucket scarce({.rate = 1});
    combined_limiter both(plenty, scarce);
    EXPECT_TRUE(scarce.try_acquire());
    auto ask = [&]() -> task<> { co_await both.acquire(); };
    const auto waits = weir::spawn(ask());
    co_await advance(500ms);
    EXPECT_EQ(both.stats().waiting, 1u);
    EXPECT_FALSE(both.try_acquire());  // does not overtake
    EXPECT_EQ(plenty.retry_after(5), 0s);
    waits.cancel();
    co_await settle_all();
    EXPECT_EQ(plenty.retry_after(5), 0s);
    EXPECT_EQ(both.stats().waiting, 0u);
    co_await advance(500ms);
    EXPECT_TRUE(both.try_acquire());
}

WEIR_TEST(CombinedLimiter, SomebodyElseTakesFromAPart) {
    token_bucket shared({.rate = 1});
    token_bucket own({.rate = 1});
    combined_limiter both(shared, own);
    EXPECT_TRUE(both.try_acquire());
    const auto begin = weir::now();
    auto rival = [&]() -> task<> {
        co_await weir::sleep_until(begin + 1s);
        (void)shared.try_acquire();
    };
    auto ask = [&]() -> task<> { co_await both.acquire(); };
    // Both wait for the same token: one gets it, the other waits on.
    const auto taken = weir::spawn(rival());
    const auto waits = weir::spawn(ask());
    co_await waits;
    co_await taken;
    EXPECT_EQ(both.stats().granted, 2u);
    EXPECT_EQ(shared.stats().granted, weir::now() - begin == 1s ? 2u : 3u);
}

WEIR_TEST(CombinedLimiter, WaitsThatCannotHelpAreRefusedAtOnce) {
    token_bucket small({.rate = 1, .burst = 2});
    token_bucket large({.rate = 1, .burst = 9});
    combined_limiter both(
        weir::combined_limiter_options{.max_waiting = 1, .max_wait = 3s, .name = "both"}, small,
        large);
    const auto begin = weir::now();
    const auto never = co_await both.admit(3);
    EXPECT_EQ(never.refusal(), (refusal{refusal_reason::rate_limited, refusal::never}));
    const auto at_once = both.try_acquire(3);
    EXPECT_EQ(at_once.refusal(), (refusal{refusal_reason::rate_limited, refusal::never}));
    EXPECT_TRUE(large.try_acquire(9));
    auto hurried = [&]() -> task<> {
        const auto doomed = co_await both.admit(2);
        EXPECT_EQ(doomed.refusal(), (refusal{refusal_reason::past_deadline, 2s}));
    };
    co_await weir::timeout(1s, hurried());
    auto ask = [&]() -> task<> { co_await both.acquire(2); };
    const auto waits = weir::spawn(ask());
    co_await settle_all();
    WEIR_EXPECT_THROW_WITH(both.acquire(), weir::refused, "both: too many wait already");
    EXPECT_EQ(weir::now(), begin);
    co_await waits;
    EXPECT_THROW((void)both.try_acquire(0), weir::invalid_argument);
    EXPECT_THROW((void)both.acquire(std::numeric_limits<double>::quiet_NaN()),
                 weir::invalid_argument);
    EXPECT_THROW(combined_limiter(weir::combined_limiter_options{.max_wait = -1s}, small),
                 weir::invalid_argument);
}

WEIR_TEST(CombinedLimiter, DestroyedWhileSomebodyWaits) {
    token_bucket part({.rate = 1, .per = 1h});
    std::optional<combined_limiter<token_bucket&>> limiter;
    limiter.emplace(part);
    EXPECT_TRUE(limiter->try_acquire());
    auto ask = [&]() -> task<> { co_await limiter->acquire(); };
    const auto first = weir::spawn(ask());
    const auto second = weir::spawn(ask());
    const auto leaves = weir::spawn(ask());
    co_await settle_all();
    leaves.cancel();
    const auto begin = weir::now();
    limiter.reset();
    WEIR_EXPECT_THROW(first, weir::invalid_state);
    WEIR_EXPECT_THROW(second, weir::invalid_state);
    co_await leaves.wait();
    EXPECT_EQ(weir::now(), begin);
}

WEIR_TEST(CombinedLimiter, IsAPartItself) {
    token_bucket one({.rate = 1, .burst = 3});
    token_bucket two({.rate = 1, .burst = 2});
    token_bucket three({.rate = 1, .burst = 1});
    combined_limiter inner(one, two);
    combined_limiter outer(inner, three);
    EXPECT_TRUE(outer.try_acquire());
    EXPECT_FALSE(outer.try_acquire());
    EXPECT_EQ(one.retry_after(2), 0s);
    EXPECT_EQ(two.retry_after(2), 1s);
    weir::call_context call("c");
    const auto let_in = co_await outer.enter(call);
    EXPECT_TRUE(let_in);
    EXPECT_FALSE(outer.try_enter(call));
}

using part = keyed_limiter<int>::bound;

}  // namespace
