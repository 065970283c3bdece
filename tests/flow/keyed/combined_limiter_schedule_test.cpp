// SPDX-License-Identifier: MIT
// The combined limiter under random schedules with cancellation, and a naive one that loses tokens.

#include "sync/support.hpp"

#include <weir/flow/combined_limiter.hpp>
#include <weir/flow/keyed_limiter.hpp>
#include <weir/flow/token_bucket.hpp>

#include <limits>

namespace {

using namespace sync_tests;
using weir::combined_limiter;
using weir::keyed_limiter;
using weir::refusal_reason;

using part = keyed_limiter<int>::bound;

// Each part is exactly where what was let through has brought it: no token is lost to cancelled
// waits or to refusals, and none is minted.
template <class Combined>
task<> random_use() {
    dice random;
    keyed_limiter<int> limits({.rate = 1000, .burst = 3});
    keyed_limiter<int> other({.rate = 500, .burst = 4});
    Combined both(limits.for_key(1), other.for_key(1));
    std::vector<std::pair<weir::clock::time_point, int>> seen;
    auto use = [&]() -> task<> {
        const int weight = 1 + random.below(3);
        const auto pass = [&] { seen.emplace_back(weir::now(), weight); };
        switch (random.below(3)) {
            case 0:
                if (both.try_acquire(weight)) {
                    pass();
                }
                break;
            case 1:
                try {
                    co_await weir::timeout(random.milliseconds_below(6), both.acquire(weight));
                    pass();
                } catch (const weir::timed_out&) {
                }
                break;
            default:
                co_await both.acquire(weight);
                pass();
        }
        co_await pause(random);
    };
    std::vector<handle<void>> attempts(5);
    auto user = [&](handle<void>& attempt) -> task<> {
        for (int i = 0; i < 5; ++i) {
            co_await until_done(attempt, use);
        }
    };
    co_await weir::with_group([&](weir::task_group& group) -> task<> {
        for (auto& each : attempts) {
            group.spawn(user, std::ref(each));
        }
        group.spawn(chaos(random, attempts, 30));
        co_return;
    });
    const auto expect_at = [&](keyed_limiter<int>& part, std::chrono::milliseconds each,
                               int burst) {
        auto full_at = weir::clock::time_point::min();
        for (const auto& [at, weight] : seen) {
            full_at = std::max(full_at, at) + weight * each;
            EXPECT_LE(full_at - at, burst * each);
        }
        EXPECT_EQ(part.retry_after(1, burst),
                  std::max(full_at - weir::now(), weir::clock::duration::zero()));
    };
    expect_at(limits, 1ms, 3);
    expect_at(other, 2ms, 4);
}

TEST(CombinedSchedules, NoTokenIsLostAndNoneIsMinted) {
    expect_always(random_use<combined_limiter<part, part>>, 1000);
}

// A naive one asks one part after the other: the tokens of the first are lost when the second
// refuses, or when the wait for it is cancelled.
class one_after_the_other {
public:
    one_after_the_other(part first, part second) : first_(first), second_(second) {}
    bool try_acquire(double weight) {
        return first_.try_acquire(weight) && second_.try_acquire(weight);
    }
    task<> acquire(double weight) {
        co_await first_.acquire(weight);
        co_await second_.acquire(weight);
    }

private:
    part first_;
    part second_;
};

TEST(CombinedSchedules, ThePropertyFindsANaiveOne) {
    EXPECT_TRUE(weir::testing::explore(random_use<one_after_the_other>).failed);
}

}  // namespace
