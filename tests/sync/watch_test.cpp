// SPDX-License-Identifier: MIT
// The watch: followers see the newest value, whatever is stopped, closed or destroyed meanwhile.

#include "support.hpp"

#include <weir/sync/watch.hpp>

#include <memory>
#include <optional>
#include <string>

namespace {

using namespace sync_tests;

WEIR_TEST(Watch, AFollowerSeesTheValueAndThenChanges) {
    weir::watch<std::string> name("first");
    auto follower = name.follow();
    EXPECT_TRUE(follower.has_changed());
    auto value = co_await follower.next();
    EXPECT_EQ(value, "first");
    EXPECT_FALSE(follower.has_changed());
    auto waiting = weir::spawn(
        [](weir::watch<std::string>::follower& of) -> task<std::string> {
            auto next = co_await of.next();
            co_return next.value_or("closed");
        },
        std::ref(follower));
    co_await settle_all();
    EXPECT_FALSE(waiting.done());
    name.set("second");
    name.set("third");
    const std::string seen = co_await waiting;
    EXPECT_EQ(seen, "third") << "the latest wins";
    name.set("fourth");
    follower.skip();
    EXPECT_FALSE(follower.has_changed());
}

WEIR_TEST(Watch, ClosingGivesTheLastValueAndThenNothing) {
    weir::watch<int> value(1);
    auto behind = value.follow();
    auto current = value.follow();
    current.skip();
    value.close();
    EXPECT_TRUE(value.closed());
    auto last = co_await behind.next();
    EXPECT_EQ(last, 1);
    auto none = co_await behind.next();
    EXPECT_EQ(none, std::nullopt);
    none = co_await current.next();
    EXPECT_EQ(none, std::nullopt);
    value.set(2);
    auto late = co_await current.next();
    EXPECT_EQ(late, 2) << "set() still sets";
}

WEIR_TEST(Watch, ClosingWakesThoseThatWait) {
    weir::watch<int> value(1);
    auto follow = [&]() -> task<int> {
        auto follower = value.follow();
        int count = 0;
        while (auto next = co_await follower.next()) {
            ++count;
        }
        co_return count;
    };
    auto following = weir::spawn(follow);
    co_await settle_all();
    value.modify([](int& number) { number += 1; });
    co_await settle_all();
    EXPECT_FALSE(value.set_if_changed(2));
    EXPECT_TRUE(value.set_if_changed(3));
    co_await settle_all();
    value.close();
    const int count = co_await following;
    EXPECT_EQ(count, 3);
}

// Followers of any speed, some of which are stopped again and again: values only go up, and each
// follower has the last one at the end.
TEST(Watch, EveryFollowerEndsWithTheLastValue) {
    expect_always([]() -> task<> {
        dice random;
        weir::watch<int> value(0);
        std::vector<int> seen(6, -1);
        std::vector<handle<void>> attempts(seen.size());
        auto follow = [&](weir::watch<int>::follower& follower, int& last) -> task<> {
            while (auto next = co_await follower.next()) {
                EXPECT_GT(*next, last);
                last = *next;
                co_await pause(random);
            }
        };
        auto keep_following = [&](std::size_t index) -> task<> {
            auto follower = value.follow();
            auto attempt = [&]() -> task<> { return follow(follower, seen[index]); };
            co_await until_done(attempts[index], attempt);
        };
        auto change = [&]() -> task<> {
            for (int i = 1; i <= 20; ++i) {
                value.set(i);
                co_await pause(random);
            }
            value.close();
        };
        auto all = [&](weir::task_group& group) -> task<> {
            for (std::size_t i = 0; i < seen.size(); ++i) {
                group.spawn(keep_following(i));
            }
            group.spawn(change());
            group.spawn(chaos(random, attempts, 30));
            co_return;
        };
        co_await weir::with_group(all);
        EXPECT_EQ(seen, std::vector<int>(seen.size(), 20));
    });
}

TEST(Watch, MayBeDestroyedWithFollowersThatWait) {
    expect_always(
        []() -> task<> {
            auto value = std::make_unique<weir::watch<int>>(1);
            endings count;
            auto follower = value->follow();
            follower.skip();
            auto wait = [&]() -> task<> { (void)co_await follower.next(); };
            auto waiting = weir::spawn(ended(count, wait));
            co_await settle_all();
            value.reset();
            co_await waiting;
            EXPECT_EQ(count.invalid, 1);
        },
        20);
}

// One of the followers that a change woke destroys the watch before the others have run. One more
// is stopped after it was woken.
TEST(Watch, MayBeDestroyedByAFollowerThatItWoke) {
    for (const bool closes : {false, true}) {
        expect_always(
            [closes]() -> task<> {
                auto value = std::make_unique<weir::watch<int>>(1);
                endings count;
                auto follow = [&](bool destroys) -> task<> {
                    auto follower = value->follow();
                    follower.skip();
                    (void)co_await follower.next();
                    EXPECT_NE(value, nullptr) << "went on with a watch that is gone";
                    if (destroys) {
                        value.reset();
                    }
                };
                auto waits = [&]() -> task<> { return follow(false); };
                auto destroys = [&]() -> task<> { return follow(true); };
                auto destroying = weir::spawn(ended(count, destroys));
                auto waiting = weir::spawn(ended(count, waits));
                auto stopped = weir::spawn(ended(count, waits));
                co_await settle_all();
                if (closes) {
                    value->close();
                } else {
                    value->set(2);
                }
                stopped.cancel();
                co_await destroying;
                co_await waiting;
                co_await stopped.wait();
                EXPECT_TRUE(stopped.cancelled());
                EXPECT_EQ(count.well + count.invalid, 2);
            },
            20);
    }
}

}  // namespace
