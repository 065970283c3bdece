// SPDX-License-Identifier: MIT
// Functions and observers of a pool that come back to it while it is at work.

#include "support.hpp"

namespace pool_tests {
namespace {

WEIR_TEST(PoolReentrance, ACheckMayEvictEverything) {
    weir::pool<std::unique_ptr<int>>* itself = nullptr;
    bool has_failed_over = false;
    weir::pool<std::unique_ptr<int>> database({.max = 3},
                                              {.connect = [] { return std::make_unique<int>(1); },
                                               .check =
                                                   [&](std::unique_ptr<int>&) {
                                                       if (has_failed_over) {
                                                           itself->evict_all();
                                                       }
                                                       return true;
                                                   }});
    itself = &database;
    {
        auto first = co_await database.acquire();
        auto second = co_await database.acquire();
    }
    EXPECT_EQ(database.stats().idle, 2u);
    has_failed_over = true;
    const auto refused = database.try_acquire();
    EXPECT_FALSE(refused.has_value());
    EXPECT_EQ(database.stats().size(), 0u);
    has_failed_over = false;
    {
        auto fresh = co_await database.acquire();
        EXPECT_EQ(**fresh, 1);
        EXPECT_EQ(database.stats().lent, 1u);
    }
    EXPECT_EQ(database.stats().idle, 1u);
    co_await database.close();
}

struct resuming_observer final : weir::observer {
    weir::pool<int>* watched = nullptr;
    void on_event(const weir::flow_event& event) noexcept override {
        if (event.what == "wait_timeout") {
            watched->resume();
        }
    }
};

WEIR_TEST(PoolReentrance, AnObserverMayResumeThePoolWhenSomebodyHasWaitedTooLong) {
    resuming_observer observer;
    weir::pool<int> numbers({.max = 1, .max_wait = 1s, .observer = &observer},
                            {.connect = [] { return 1; }});
    observer.watched = &numbers;
    {
        auto made = co_await numbers.acquire();
    }
    numbers.suspend();
    const auto late = co_await numbers.admit();
    EXPECT_FALSE(late.has_value());
    EXPECT_EQ(numbers.stats().waiting, 0u);
    EXPECT_EQ(numbers.stats().idle, 1u);
    co_await numbers.close();
}

}  // namespace
}  // namespace pool_tests
