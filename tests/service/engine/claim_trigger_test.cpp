// SPDX-License-Identifier: MIT
#include "service/engine/claim_trigger.hpp"

#include "support.hpp"

namespace weir::service::testing {
namespace {

WEIR_TEST(ClaimTrigger, WaitsUntilTheEarliestRequest) {
    const detail::wall_clock time{{}};
    detail::claim_trigger trigger(time);
    trigger.claim_begins();
    trigger.claim_succeeded(weir::now() + 10s);
    trigger.claim_at(time.now() + 5s);
    trigger.claim_at(time.now() + 3s);
    const clock::time_point begun = weir::now();
    co_await trigger.wait(clock::time_point::max());  // wakes once for each earlier request
    while (!trigger.is_wanted()) {
        co_await trigger.wait(clock::time_point::max());
    }
    EXPECT_EQ(weir::now() - begun, 3s);
}

WEIR_TEST(ClaimTrigger, KeepsARequestThatCameDuringAClaim) {
    const detail::wall_clock time{{}};
    detail::claim_trigger trigger(time);
    trigger.claim_begins();
    trigger.claim_at(time.now() + 2s);
    trigger.claim_succeeded(weir::now() + 10s);
    const clock::time_point begun = weir::now();
    while (!trigger.is_wanted()) {
        co_await trigger.wait(clock::time_point::max());
    }
    EXPECT_EQ(weir::now() - begun, 2s);
    trigger.claim_begins();
    trigger.claim_at(time.now());
    EXPECT_TRUE(trigger.is_wanted()) << "a task that is due now is claimed now";
    co_return;
}

// How long it waits for a claim that is wanted, or may be due.
task<clock::duration> time_until_wanted(detail::claim_trigger& trigger) {
    const clock::time_point begun = weir::now();
    while (!trigger.is_wanted()) {
        co_await trigger.wait(clock::time_point::max());
    }
    co_return weir::now() - begun;
}

WEIR_TEST(ClaimTrigger, ALaterRequestDoesNotDelayAnEarlierClaim) {
    const detail::wall_clock time{{}};
    detail::claim_trigger trigger(time);
    EXPECT_TRUE(trigger.is_wanted()) << "the first claim is";
    trigger.claim_begins();
    EXPECT_FALSE(trigger.is_wanted());
    trigger.claim_succeeded(weir::now() + 4s);
    trigger.claim_at(time.now() + 10s);
    const clock::duration first = co_await time_until_wanted(trigger);
    EXPECT_EQ(first, 4s);
    trigger.claim_begins();
    trigger.claim_succeeded(weir::now() + 8s);  // which knows what was asked before it began
    const clock::duration second = co_await time_until_wanted(trigger);
    EXPECT_EQ(second, 8s);
}

WEIR_TEST(ClaimTrigger, ATaskOfThePastIsClaimedNow) {
    const detail::wall_clock time{{}};
    detail::claim_trigger trigger(time);
    for (const std::chrono::microseconds ahead : {-5s, 0s}) {
        trigger.claim_begins();
        trigger.claim_succeeded(weir::now() + 1h);
        trigger.claim_at(time.now() + ahead);
        EXPECT_TRUE(trigger.is_wanted());
        trigger.claim_begins();
        trigger.claim_succeeded(weir::now() + 1h);
        trigger.claim_at(time.now() + 1us);
        EXPECT_FALSE(trigger.is_wanted());
    }
    co_return;
}

// A worker that becomes free matters only if a claim waits for one.
WEIR_TEST(ClaimTrigger, WaitsForALimitWhileAClaimIsWanted) {
    const detail::wall_clock time{{}};
    detail::claim_trigger trigger(time);
    trigger.claim_begins();
    trigger.claim_succeeded(weir::now() + 10s);
    const clock::time_point begun = weir::now();
    const handle<> unwanted = weir::spawn(trigger.wait(begun + 1s));
    co_await sleep(2s);
    trigger.worker_freed();
    co_await settle_all();
    EXPECT_FALSE(unwanted.done()) << "until the next claim is due";
    trigger.claim_now();
    co_await unwanted.wait();
    EXPECT_EQ(weir::now() - begun, 2s);
    co_await trigger.wait(begun + 5s);
    EXPECT_EQ(weir::now() - begun, 5s) << "the limit";
    const handle<> wanted = weir::spawn(trigger.wait(begun + 1h));
    co_await sleep(1s);
    trigger.worker_freed();
    co_await wanted.wait();
    EXPECT_EQ(weir::now() - begun, 6s);
    const handle<> woken = weir::spawn(trigger.wait(begun + 1h));
    co_await sleep(1s);
    trigger.wake();
    co_await woken.wait();
    EXPECT_EQ(weir::now() - begun, 7s);
}

}  // namespace
}  // namespace weir::service::testing
