// SPDX-License-Identifier: MIT
// Since when the oldest due task of each queue is due.

#include "stores.hpp"

namespace {

using namespace store_test;

WEIR_STORE_SUITE(OldestDue);

task<std::map<std::string, timestamp>> oldest(bench& at) {
    const std::vector<due_queue> found = co_await at.kept->oldest_due(at.now);
    std::map<std::string, timestamp> all;
    for (const due_queue& each : found) {
        EXPECT_TRUE(all.emplace(each.name, each.since).second) << each.name << " twice";
    }
    co_return all;
}

using ages = std::map<std::string, timestamp>;

WEIR_STORE_TEST(OldestDue, EachQueueHasItsOwn) {
    const ages none = co_await oldest(at);
    EXPECT_EQ(none, ages());
    co_await at.beat("a", 24h);
    const timestamp first = at.now;
    co_await at.submit(at.make("", "x"));
    at.now += 5s;
    co_await at.submit(at.make("", "x"));
    co_await at.submit(at.make("key", "y"));
    const timestamp second = at.now;
    at.now += 5s;
    co_await at.submit(at.make_for("there", "key", "z"));
    const timestamp third = at.now;
    at.now += 5s;
    const ages all = co_await oldest(at);
    EXPECT_EQ(all, (ages{{"x", first}, {"y", second}, {"z", third}}));
    // A running task is not due any more.
    const claimed one = co_await at.claim(1);
    EXPECT_EQ(one.tasks.at(0).queue, "x");
    const ages fewer = co_await oldest(at);
    EXPECT_EQ(fewer, (ages{{"x", second}, {"y", second}, {"z", third}}));
    const claimed rest = co_await at.claim(10);
    EXPECT_EQ(rest.tasks.size(), 3U);
    const ages idle = co_await oldest(at);
    EXPECT_EQ(idle, ages());
}

// The task that waits longest is one that others are always preferred to.
WEIR_STORE_TEST(OldestDue, LowPrioritiesAndPausesCount) {
    new_task humble = at.make("k");
    humble.priority = -5;
    const timestamp begun = at.now;
    co_await at.submit(humble);
    for (int i = 0; i < 50; ++i) {
        at.now += 1s;
        new_task urgent = at.make(i % 2 == 0 ? "k" : "");
        urgent.priority = 5;
        co_await at.submit(urgent);
    }
    co_await at.kept->pause("default", true);
    const ages all = co_await oldest(at);
    EXPECT_EQ(all, (ages{{"default", begun}}));
}

// Also if no claim has looked since: all workers are busy.
WEIR_STORE_TEST(OldestDue, TasksForLaterCountFromTheirTime) {
    const timestamp time = at.now + 1h;
    new_task later = at.make();
    later.run_at = time;
    co_await at.submit(later);
    const ages none = co_await oldest(at);
    EXPECT_EQ(none, ages());
    at.now = time + 10min;
    const ages due = co_await oldest(at);
    EXPECT_EQ(due, (ages{{"default", time}}));
    // One for yesterday counts from when it was made.
    new_task old = at.make("", "old");
    old.run_at = at.now - 24h;
    co_await at.submit(old);
    const ages both = co_await oldest(at);
    EXPECT_EQ(both, (ages{{"default", time}, {"old", at.now}}));
}

// An old task that was retried is the first of its line, and has become due only now.
WEIR_STORE_TEST(OldestDue, RetriesCountFromTheEndOfTheirDelay) {
    co_await at.beat("a", 24h);
    co_await at.submit(at.make());
    const claimed first = co_await at.claim(1);
    const bool is_written = co_await at.settle(at.again(first.tasks.at(0), 1min));
    EXPECT_TRUE(is_written);
    const timestamp retried_at = at.now + 1min;
    at.now += 10s;
    const ages waiting = co_await oldest(at);
    EXPECT_EQ(waiting, ages());
    const timestamp fresh_at = at.now;
    co_await at.submit(at.make());
    at.now = retried_at + 1s;
    const ages both = co_await oldest(at);
    EXPECT_EQ(both, (ages{{"default", fresh_at}}));
    const claimed probe = co_await at.claim(1);  // moves the retried one to the due tasks
    EXPECT_EQ(probe.tasks.size(), 1U);
    EXPECT_EQ(probe.tasks.at(0).id, first.tasks.at(0).id);
    co_await at.submit(at.make());
    const ages left = co_await oldest(at);
    EXPECT_EQ(left, (ages{{"default", fresh_at}}));
}

task<> look_at_many_keys(bench& at) {
    std::vector<new_task> batch;
    for (int i = 0; i < 6000; ++i) {
        batch.push_back(at.make(std::to_string(i)));
    }
    co_await at.kept->submit(std::move(batch), at.now);
    const timestamp begun = at.now;
    at.now += 1min;
    const ages all = co_await oldest(at);
    EXPECT_EQ(all, (ages{{"default", begun}}));
}

// So many flow keys that the search ends before it has seen all: it answers nevertheless.
TEST_P(OldestDue, ManyFlowKeysAreNoProblem) {
    store_kind kind = GetParam();
    kind.inspect = nullptr;  // it takes long for so many
    run_on(kind, &look_at_many_keys);
}

}  // namespace
