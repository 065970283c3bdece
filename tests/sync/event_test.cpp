// SPDX-License-Identifier: MIT
// The event under destruction and explored schedules.

#include "support.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <thread>

namespace {

using namespace sync_tests;

TEST(Event, WakesAllWaiters) {
    expect_always([]() -> task<> {
        dice random;
        weir::event event;
        int passed = 0;
        auto pass = [&]() -> task<> {
            if (random.one_in(3)) {
                try {
                    co_await weir::timeout(random.milliseconds_below(3), event.wait());
                } catch (const weir::timed_out&) {
                }
            } else {
                co_await event.wait();
            }
            ++passed;
        };
        std::vector<handle<void>> attempts(6);
        auto waiter = [&](handle<void>& attempt) -> task<> {
            for (int i = 0; i < 5; ++i) {
                co_await until_done(attempt, pass);
                co_await pause(random);
            }
        };
        bool is_over = false;
        auto setter = [&]() -> task<> {
            while (!is_over) {
                event.set();
                if (random.one_in(2)) {
                    co_await weir::yield();
                }
                event.clear();
                co_await weir::sleep(1ms);
            }
        };
        auto setting = weir::spawn(setter);
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            for (auto& each : attempts) {
                group.spawn(waiter, std::ref(each));
            }
            group.spawn(chaos(random, attempts, 30));
            co_return;
        });
        is_over = true;
        co_await setting;
        EXPECT_EQ(passed, 30);
    });
}

TEST(Event, MayBeDestroyedWithWaiters) {
    expect_always(
        []() -> task<> {
            std::optional<weir::event> event(std::in_place);
            endings count;
            auto wait = [&]() -> task<> { co_await event->wait(); };
            auto woken = weir::spawn(ended(count, wait));
            co_await settle_all();
            event->set();
            event->clear();
            auto waiting = weir::spawn(ended(count, wait), {.start = weir::start::eager});
            co_await weir::testing::settle_all();
            event.reset();
            co_await woken;
            co_await waiting;
            EXPECT_EQ(count.well, 1);
            EXPECT_EQ(count.invalid, 1);

            event.emplace();
            auto seen = weir::spawn(ended(count, wait));
            co_await settle_all();
            event->set();
            event.reset();  // the woken task has seen it
            co_await seen;
            EXPECT_EQ(count.well, 2);
        },
        50);
}

}  // namespace
