// SPDX-License-Identifier: MIT
// The barrier under stops, destruction and explored schedules.

#include "support.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

namespace {

using namespace sync_tests;

TEST(Barrier, EndsWhicheverTaskIsCancelled) {
    expect_always([]() -> task<> {
        dice random;
        const int parties = 1 + random.below(4);
        weir::barrier barrier(parties);
        std::vector<int> places(static_cast<std::size_t>(parties));
        bool is_over = false;
        auto pass = [&]() -> task<> {
            const std::size_t place = co_await barrier.wait();
            WEIR_ASSERT_LT(place, places.size());
            ++places[place];
            co_await pause(random);
        };
        // More than the parties, so that some come while a round is draining.
        std::vector<handle<void>> attempts(static_cast<std::size_t>(parties) + 2);
        auto party = [&](handle<void>& attempt) -> task<> {
            while (!is_over) {
                co_await until_done(attempt, pass);
            }
        };
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            for (auto& each : attempts) {
                group.spawn(party, std::ref(each));
            }
            co_await chaos(random, attempts, 50);
            const int before = places[0];
            while (places[0] < before + 3) {  // it still turns
                co_await weir::sleep(1ms);
            }
            is_over = true;
            group.cancel();
        });
        for (auto& each : attempts) {
            each.cancel();
            co_await each.wait();
        }
        EXPECT_EQ(barrier.waiting(), 0u);
        EXPECT_FALSE(barrier.broken());
    });
}

TEST(Barrier, MayBeDestroyedWithWaiters) {
    expect_always(
        []() -> task<> {
            std::optional<weir::barrier> barrier(std::in_place, 2);
            endings count;
            auto wait = [&]() -> task<> { (void)co_await barrier->wait(); };
            auto released = weir::spawn(ended(count, wait));
            co_await settle_all();
            co_await barrier->wait();
            barrier.reset();
            co_await released;
            EXPECT_EQ(count.well, 1);

            barrier.emplace(2);
            auto waiting = weir::spawn(ended(count, wait));
            co_await settle_all();
            barrier.reset();
            co_await waiting;
            EXPECT_EQ(count.invalid, 1);
        },
        50);
}

TEST(Barrier, IsNotCompleteWhileATaskWaits) {
    expect_always([]() -> task<> {
        dice random;
        const int parties = 2 + random.below(3);
        weir::barrier barrier(parties);
        crowd waiters;
        auto pass = [&]() -> task<> { (void)co_await barrier.wait(); };
        for (int i = 0; i < bursts; ++i) {
            waiters.refill(static_cast<std::size_t>(random.below(9)),
                           [&] { return weir::spawn(pass()); });
            if (random.one_in(2)) {
                co_await weir::yield();
            }
            waiters.cancel_some(random);
            co_await settle_all();
            EXPECT_EQ(barrier.waiting(), waiters.waiting());
            EXPECT_LT(barrier.waiting(), static_cast<std::size_t>(parties));
        }
        co_await waiters.end();
        EXPECT_EQ(barrier.waiting(), 0u);
    });
}

// The first of the released fibers has not gone on when a full next round has come: reset() breaks
// the one and releases the others.
WEIR_TEST(Barrier, AResetWhileARoundResumesReleasesAFullNextRound) {
    weir::barrier barrier(2);
    int broken = 0;
    std::vector<std::size_t> places;
    auto pass = [&]() -> task<> {
        try {
            const std::size_t place = co_await barrier.wait();
            places.push_back(place);
        } catch (const weir::broken_barrier&) {
            ++broken;
        }
    };
    auto first = weir::spawn(pass);
    co_await settle_all();
    const std::size_t place = co_await barrier.wait();  // the first is released, not resumed
    EXPECT_EQ(place, 1u);
    const weir::spawn_options eager{.start = weir::start::eager};
    auto next = weir::spawn(pass(), eager);
    auto last = weir::spawn(pass(), eager);
    auto surplus = weir::spawn(pass(), eager);
    EXPECT_FALSE(first.done() || next.done() || last.done());
    barrier.reset();
    co_await settle_all();
    EXPECT_TRUE(first.done() && next.done() && last.done());
    EXPECT_EQ(broken, 1);
    EXPECT_EQ(places, (std::vector<std::size_t>{0, 1}));
    EXPECT_EQ(barrier.waiting(), 1u) << "the surplus one waits for the round after that";
    co_await barrier.wait();
    co_await surplus;
}

}  // namespace
