// SPDX-License-Identifier: MIT
// as_completed: tasks in the order in which they end.

#include "support.hpp"

#include <memory>

namespace {

using namespace combinators;

using handles = std::vector<weir::handle<int>>;

// Takers that are stopped after a grant return it: no result is lost.
WEIR_TEST(AsCompleted, WhatAStoppedTakerWasGrantedGoesToTheNext) {
    handles all;
    for (int i = 0; i < 5; ++i) {
        all.push_back(weir::spawn(value_after(10ms, i)));
    }
    auto finished = weir::as_completed(all);
    std::vector<int> got;
    auto taker = [&]() -> weir::task<> {
        while (auto next = co_await finished.next()) {
            got.push_back(next->result());
        }
    };
    std::vector<weir::handle<>> takers;
    for (int i = 0; i < 8; ++i) {
        takers.push_back(weir::spawn(taker));
    }
    // Stops half of them at the very moment of the completions.
    auto stopper = [&]() -> weir::task<> {
        co_await all[0].wait();
        for (std::size_t i = 0; i < takers.size(); i += 2) {
            takers[i].cancel();
        }
    };
    weir::handle<> stopping = weir::spawn(stopper);
    (void)co_await weir::gather_settled(takers);
    co_await stopping;
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3, 4}));
    EXPECT_EQ(finished.remaining(), 0u);
}

WEIR_TEST(AsCompleted, OutlivesItsOwnerWhileSomebodyTakes) {
    handles all;
    all.push_back(weir::spawn(value_after(10ms, 1)));
    auto finished = std::make_unique<weir::completions<int>>(weir::as_completed(all, 1h));
    auto taker = [&]() -> weir::task<int> {
        auto next = co_await finished->next();
        co_return next->result();
    };
    weir::handle<int> taking = weir::spawn(taker);
    co_await weir::sleep(5ms);
    finished.reset();
    const int value = co_await taking;
    EXPECT_EQ(value, 1);
}

WEIR_TEST(AsCompleted, ExpiryIsToldOncePerTaskThatWasLate) {
    handles all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(weir::spawn(value_after(std::chrono::milliseconds(10 + 10 * i), i)));
    }
    auto finished = weir::as_completed(all, 25ms);
    int values = 0;
    int expiries = 0;
    int ends = 0;
    auto taker = [&]() -> weir::task<> {
        try {
            auto next = co_await finished.next();
            (next ? values : ends) += 1;
        } catch (const weir::timed_out&) {
            ++expiries;
        }
    };
    std::vector<weir::task<>> takers;
    for (int i = 0; i < 6; ++i) {
        takers.push_back(taker());
    }
    co_await weir::gather(std::move(takers));
    EXPECT_EQ(values, 2);
    EXPECT_EQ(expiries, 2);
    EXPECT_EQ(ends, 2);
    (void)co_await weir::gather(all);
}

}  // namespace
