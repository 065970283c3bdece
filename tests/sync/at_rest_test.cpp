// SPDX-License-Identifier: MIT
// Bursts of grants and cancels in one step, then rest: nothing may be free while somebody waits for
// it. Cancelled waiters do not come back here, so that nobody makes up for a grant that was lost.

#include "support.hpp"

#include <algorithm>

namespace {

using namespace sync_tests;

// One-shot waiters, some of whom are cancelled.
class crowd {
public:
    template <class Start>
    void refill(std::size_t wanted, Start start) {
        std::erase_if(members_, [](const handle<void>& each) { return each.done(); });
        while (members_.size() < wanted) {
            members_.push_back(start());
        }
    }
    // Several at once, preferably among those who have waited longest: they are granted things
    // first.
    void cancel_some(dice& random) {
        for (int i = random.below(4); i > 0 && !members_.empty(); --i) {
            const int among = std::min<int>(static_cast<int>(members_.size()), 4);
            members_[static_cast<std::size_t>(random.below(among))].cancel();
        }
    }
    std::size_t waiting() const {
        return static_cast<std::size_t>(std::count_if(
            members_.begin(), members_.end(), [](const auto& each) { return !each.done(); }));
    }
    task<> end() {
        for (auto& each : members_) {
            each.cancel();
            co_await each.wait();
        }
    }

private:
    std::vector<handle<void>> members_;
};

constexpr int bursts = 25;

TEST(AtRest, Semaphore) {
    expect_always([]() -> task<> {
        dice random;
        weir::semaphore semaphore(0);
        int released = 0;
        int got = 0;
        crowd waiters;
        auto acquire = [&]() -> task<> {
            auto permit = co_await semaphore.acquire();
            permit.detach();
            ++got;
        };
        for (int i = 0; i < bursts; ++i) {
            waiters.refill(static_cast<std::size_t>(random.below(8)),
                           [&] { return weir::spawn(acquire()); });
            co_await settle_all();
            for (int round = 0; round < 2; ++round) {
                const int count = random.below(4);
                semaphore.release(count);
                released += count;
                waiters.cancel_some(random);
            }
            co_await settle_all();
            EXPECT_EQ(semaphore.value() + got, released);
            EXPECT_TRUE(semaphore.value() == 0 || waiters.waiting() == 0);
        }
        co_await waiters.end();
    });
}

TEST(AtRest, Mutex) {
    expect_always([]() -> task<> {
        dice random;
        weir::mutex mutex;
        bool held = false;
        crowd waiters;
        auto acquire = [&]() -> task<> {
            co_await mutex.acquire();
            EXPECT_FALSE(held);
            held = true;
        };
        for (int i = 0; i < bursts; ++i) {
            waiters.refill(static_cast<std::size_t>(random.below(6)),
                           [&] { return weir::spawn(acquire()); });
            co_await settle_all();
            if (held) {
                held = false;
                mutex.release();
                waiters.cancel_some(random);
            }
            co_await settle_all();
            EXPECT_EQ(mutex.locked(), held);
            EXPECT_TRUE(held || waiters.waiting() == 0);
        }
        co_await waiters.end();
    });
}

TEST(AtRest, QueueGetters) {
    expect_always([]() -> task<> {
        dice random;
        auto queue = weir::queue<int>::unbounded();
        int put = 0;
        std::vector<int> got;
        crowd waiters;
        auto get = [&]() -> task<> {
            const int item = co_await queue.get();
            got.push_back(item);
        };
        for (int i = 0; i < bursts; ++i) {
            waiters.refill(static_cast<std::size_t>(random.below(8)),
                           [&] { return weir::spawn(get()); });
            co_await settle_all();
            for (int round = 0; round < 2; ++round) {
                for (int count = random.below(4); count > 0; --count) {
                    queue.put_now(put++);
                }
                waiters.cancel_some(random);
            }
            co_await settle_all();
            EXPECT_TRUE(queue.size() == 0 || waiters.waiting() == 0);
            EXPECT_EQ(queue.empty(), queue.size() == 0);
        }
        co_await waiters.end();
        while (auto item = queue.try_get()) {
            got.push_back(*item);
        }
        EXPECT_EQ(got.size(), static_cast<std::size_t>(put));
        EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
    });
}

TEST(AtRest, QueuePutters) {
    expect_always([]() -> task<> {
        dice random;
        weir::queue<int> queue(3);
        int put = 0;
        int got = 0;
        crowd waiters;
        auto put_one = [&]() -> task<> {
            co_await queue.put(1);
            ++put;
        };
        for (int i = 0; i < bursts; ++i) {
            waiters.refill(static_cast<std::size_t>(random.below(8)),
                           [&] { return weir::spawn(put_one()); });
            co_await settle_all();
            for (int round = 0; round < 2; ++round) {
                for (int count = random.below(4); count > 0; --count) {
                    got += queue.try_get().value_or(0);
                }
                waiters.cancel_some(random);
            }
            co_await settle_all();
            EXPECT_EQ(put, got + static_cast<int>(queue.size()));
            EXPECT_LE(queue.size(), 3u);
            EXPECT_EQ(queue.full(), queue.size() == 3u);
            EXPECT_TRUE(queue.size() == 3u || waiters.waiting() == 0);
        }
        co_await waiters.end();
        EXPECT_EQ(queue.unfinished(), static_cast<std::size_t>(put));
    });
}

TEST(AtRest, Condition) {
    expect_always([]() -> task<> {
        dice random;
        weir::condition condition;
        int available = 0;
        crowd waiters;
        auto take = [&]() -> task<> {
            auto lock = co_await condition.lock();
            while (available == 0) {
                co_await condition.wait();
                EXPECT_TRUE(condition.locked());
            }
            --available;
        };
        for (int i = 0; i < bursts; ++i) {
            waiters.refill(static_cast<std::size_t>(random.below(8)),
                           [&] { return weir::spawn(take()); });
            co_await settle_all();
            {
                auto lock = co_await condition.lock();
                const int count = random.below(4);
                available += count;
                condition.notify(static_cast<std::size_t>(count));
                waiters.cancel_some(random);  // while they compete for the lock
                if (random.one_in(2)) {
                    co_await settle_all();
                    waiters.cancel_some(random);
                }
            }
            waiters.cancel_some(random);  // one of them has been handed the lock
            co_await settle_all();
            EXPECT_FALSE(condition.locked());
            EXPECT_TRUE(available == 0 || waiters.waiting() == 0)
                << available << " available, " << waiters.waiting() << " wait";
        }
        co_await waiters.end();
    });
}

TEST(AtRest, Barrier) {
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

}  // namespace
