// SPDX-License-Identifier: MIT
// wait: several tasks at once.

#include "support.hpp"

#include <memory>

namespace {

using namespace combinators;

using handles = std::vector<weir::handle<int>>;

WEIR_TEST(Wait, TakesHandlesOfDifferentTypes) {
    weir::handle<int> number = weir::spawn(value_after(20ms, 1));
    weir::handle<> nothing = weir::spawn([]() -> weir::task<> { co_await weir::sleep(10ms); });
    std::vector<weir::any_handle> both{number, nothing};
    auto [done, pending] = co_await weir::wait(both, weir::wait_until::first_completed);
    WEIR_ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0], nothing);
    co_await number;
}

WEIR_TEST(Wait, ForOneselfIsRefused) {
    auto waits = []() -> weir::task<> {
        std::vector<weir::any_handle> self{weir::current_task()};
        (void)co_await weir::wait(self, 1s);
    };
    weir::handle<> running = weir::spawn(waits);
    WEIR_EXPECT_THROW(running, weir::invalid_state);
}

WEIR_TEST(Wait, ManyAtOnceSeeTheSameTasks) {
    handles all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(weir::spawn(value_after(std::chrono::milliseconds(10 * i), i)));
    }
    auto watcher = [&](std::chrono::milliseconds limit) -> weir::task<std::size_t> {
        auto [done, pending] = co_await weir::wait(all, limit);
        EXPECT_EQ(done.size() + pending.size(), 20u);
        co_return done.size();
    };
    std::vector<weir::task<std::size_t>> watchers;
    for (int i = 0; i < 20; ++i) {
        watchers.push_back(watcher(std::chrono::milliseconds(10 * i + 5)));
    }
    const std::vector<std::size_t> counts = co_await weir::gather(std::move(watchers));
    for (std::size_t i = 0; i < 20; ++i) {
        EXPECT_EQ(counts[i], i + 1);
    }
}

}  // namespace
