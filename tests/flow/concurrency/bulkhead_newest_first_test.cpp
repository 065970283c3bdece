// SPDX-License-Identifier: MIT
// The line of a bulkhead served newest first.

#include "support.hpp"

namespace flow_bulkhead {
namespace {

constexpr auto newest_first = weir::queue_order::newest_first;

task<admission<permit>> ask(bulkhead& from, std::size_t weight, priority level) {
    auto in = co_await from.admit(weight, level);
    co_return in;
}

WEIR_TEST(BulkheadNewestFirst, WithinEachPriority) {
    weir::testing::in_ordinary_order();
    bulkhead tried({.max_concurrent = 1, .order = newest_first});
    std::string order;
    std::vector<handle<>> calls;
    const auto call = [&](char name, priority level) {
        calls.push_back(weir::spawn(hold(tried, order, name, 1s, 1, level)));
    };
    call('a', priority::normal);
    call('b', priority::normal);
    call('H', priority::high);
    call('c', priority::normal);
    call('I', priority::high);
    for (auto& each : calls) {
        co_await each;
    }
    EXPECT_EQ(order, "aIHcb");
    EXPECT_EQ(tried.stats().in_use, 0u);
}

WEIR_TEST(BulkheadNewestFirst, TheOldestIsDisplaced) {
    weir::testing::in_ordinary_order();
    bulkhead tried({.max_concurrent = 1, .max_waiting = 2, .order = newest_first});
    auto held = tried.try_acquire();
    std::vector<handle<admission<permit>>> calls;
    const auto come = [&](priority level) {
        calls.push_back(weir::spawn(ask(tried, 1, level), {.start = weir::start::eager}));
    };
    come(priority::normal);
    come(priority::high);
    come(priority::normal);  // displaces the first
    come(priority::low);     // all others are more important
    const auto first = co_await std::move(calls[0]);
    WEIR_ASSERT_FALSE(first.has_value());
    EXPECT_EQ(first.refusal().reason, refusal_reason::displaced);
    const auto last = co_await std::move(calls[3]);
    WEIR_ASSERT_FALSE(last.has_value());
    EXPECT_EQ(last.refusal().reason, refusal_reason::queue_full);
    held.pass().release();
    {
        const auto high = co_await std::move(calls[1]);
        EXPECT_TRUE(high.has_value());
    }
    const auto normal = co_await std::move(calls[2]);
    EXPECT_TRUE(normal.has_value());
    EXPECT_EQ(tried.stats().displaced, 1u);
}

WEIR_TEST(BulkheadNewestFirst, WhoFitsDoesNotWaitForOneWhoWantsMore) {
    bulkhead tried({.max_concurrent = 3, .order = newest_first, .max_wait = 1s});
    auto held = tried.try_acquire(2);
    std::string order;
    auto large = weir::spawn(ask(tried, 3, priority::normal), {.start = weir::start::eager});
    auto small = tried.try_acquire();
    EXPECT_TRUE(small.has_value());
    const auto begin = weir::now();
    const auto in = co_await std::move(large);
    WEIR_ASSERT_FALSE(in.has_value());
    EXPECT_EQ(in.refusal().reason, refusal_reason::wait_too_long);
    EXPECT_EQ(weir::now() - begin, 1s);
}

struct visit {
    std::size_t& inside;
    std::size_t weight;
    visit(std::size_t& count, std::size_t more) : inside(count), weight(more) { inside += weight; }
    ~visit() { inside -= weight; }
};

TEST(BulkheadNewestFirst, NoPlaceIsLostUnderCancellation) {
    expect_always([]() -> task<> {
        dice random;
        bulkhead tried(
            {.max_concurrent = 3, .max_waiting = 4, .order = newest_first, .max_wait = 5ms});
        std::size_t inside = 0;
        std::vector<handle<>> users;
        auto use = [&]() -> task<> {
            const std::size_t weight = 1 + random.below(3);
            const auto in = co_await tried.admit(weight, static_cast<priority>(random.below(4)));
            if (in) {
                const visit here(inside, weight);
                EXPECT_LE(inside, 3u);
                co_await weir::sleep(random.milliseconds_below(3));
            }
        };
        for (int i = 0; i < 30; ++i) {
            users.push_back(weir::spawn(use()));
            co_await weir::sleep(random.milliseconds_below(3));
            if (random.one_in(3)) {
                users[random.below(static_cast<unsigned>(users.size()))].cancel();
            }
        }
        for (auto& each : users) {
            co_await each.wait();
        }
        EXPECT_EQ(tried.stats().in_use, 0u);
        EXPECT_EQ(tried.stats().waiting, 0u);
        auto all = tried.try_acquire(3);
        EXPECT_TRUE(all.has_value());
    });
}

}  // namespace
}  // namespace flow_bulkhead
