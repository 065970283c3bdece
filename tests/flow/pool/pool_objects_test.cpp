// SPDX-License-Identifier: MIT
// The idle and the lent objects of a pool, without a pool: order, age and leaks.

#include <weir/flow/detail/pool_objects.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using namespace weir::detail;
using weir::clock;
using weir::idle_order;
using weir::pool_options;

struct object final : pool_entry {
    object() noexcept : pool_entry(nullptr) {}
};

const clock::time_point start{};

TEST(PoolObjects, IdleOnesAreTakenNewestOrOldestFirst) {
    object one;
    object two;
    for (const bool newest_first : {true, false}) {
        pool_options options;
        options.order = newest_first ? idle_order::newest_first : idle_order::oldest_first;
        const object_ages ages(options, false);
        idle_objects idle(options, ages);
        idle.add(one);
        idle.add(two);
        EXPECT_EQ(&idle.take_next(), newest_first ? &two : &one);
        EXPECT_EQ(idle.size(), 1u);
        EXPECT_EQ(&idle.take_oldest(), newest_first ? &one : &two);
        EXPECT_TRUE(idle.empty());
    }
}

TEST(PoolObjects, IdleTimeoutsLeaveMinIdle) {
    pool_options options;
    options.min_idle = 1;
    options.idle_timeout = 1min;
    const object_ages ages(options, false);
    EXPECT_TRUE(ages.tracks_idle_time());
    idle_objects idle(options, ages);
    object one;
    object two;
    one.since = two.since = start;
    idle.add(one);
    idle.add(two);
    const auto early = idle.take_due(start + 59s);
    EXPECT_EQ(early.entry, nullptr);
    EXPECT_EQ(early.next, start + 60s);
    const auto due = idle.take_due(start + 60s);
    EXPECT_EQ(due.entry, &one);
    EXPECT_TRUE(due.is_expired);
    EXPECT_EQ(idle.take_due(start + 60s).entry, nullptr);
    EXPECT_EQ(idle.size(), 1u);
}

TEST(PoolObjects, KeepAliveIsDueWithoutExpiry) {
    pool_options options;
    options.keep_alive = 10s;
    const object_ages ages(options, true);
    idle_objects idle(options, ages);
    object one;
    one.known_good = start;
    idle.add(one);
    const auto due = idle.take_due(start + 10s);
    EXPECT_EQ(due.entry, &one);
    EXPECT_FALSE(due.is_expired);
}

TEST(PoolObjects, LongLeasesAreFoundOnceAndOldObjectsRetired) {
    pool_options options;
    options.leak_after = 1min;
    options.max_uses = 2;
    const object_ages ages(options, false);
    lent_objects lent(options, ages);
    object one;
    lent.add(one, std::source_location::current());
    lent.count_use(one);
    one.since = start;
    one.expires = start + 90s;
    EXPECT_FALSE(one.is_retired);
    EXPECT_EQ(lent.find_leak(start + 59s).next, start + 60s);
    EXPECT_EQ(lent.find_leak(start + 60s).entry, &one);
    const auto again = lent.find_leak(start + 61s);
    EXPECT_EQ(again.entry, nullptr);
    EXPECT_EQ(again.next, start + 90s);
    (void)lent.find_leak(start + 90s);
    EXPECT_TRUE(one.is_retired);
    one.is_retired = false;
    lent.remove(one);
    lent.add(one, std::source_location::current());
    EXPECT_FALSE(one.is_retired);  // not used a second time yet
    lent.count_use(one);
    EXPECT_TRUE(one.is_retired);
}

}  // namespace
