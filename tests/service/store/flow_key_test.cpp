// SPDX-License-Identifier: MIT
// Settings of one flow key: a pause, and limits instead of the queue's.

#include "stores.hpp"

#include <weir/service/flow_key.hpp>

#include <set>

namespace {

using namespace store_test;

WEIR_STORE_SUITE(StoreFlowKey);

key_change pause_of(bool is_paused) {
    key_change change;
    change.is_paused = is_paused;
    return change;
}

key_change max_running_of(std::optional<std::uint32_t> limit) {
    key_change change;
    change.max_running = limit;
    return change;
}

std::multiset<std::string> keys_of(const claimed& runs) {
    std::multiset<std::string> all;
    for (const task_record& each : runs.tasks) {
        all.insert(each.flow_key);
    }
    return all;
}

task<key_record> look_at_key(bench& at, std::string key, std::string queue = "default") {
    key_query query;
    query.only = key;
    const std::vector<key_record> found = co_await at.kept->keys(queue, query);
    EXPECT_EQ(found.size(), 1U);
    co_return found.empty() ? key_record() : found[0];
}

using keys = std::multiset<std::string>;

// With and without destinations: their tasks wait in lines of their own.
WEIR_STORE_TEST(StoreFlowKey, APausedKeyHoldsItsTasksAlone) {
    co_await at.beat("a", 1h);
    for (const char* const host : {"", "host"}) {
        const submit_result held = co_await at.submit(bench::make_for(host, "alice"));
        co_await at.submit(bench::make_for(host, "bob"));
        co_await at.kept->change_key("default", "alice", pause_of(true), at.now);
        claimed runs = co_await at.claim(5);
        EXPECT_EQ(keys_of(runs), keys{"bob"});
        EXPECT_FALSE(runs.next_at.has_value());
        const std::vector<hold::reason> why = co_await at.why(held.id);
        EXPECT_EQ(why, std::vector<hold::reason>{hold::reason::key_paused});
        // Also a task that comes later, and after a change of the queue's limits.
        co_await at.submit(bench::make_for(host, "alice"));
        co_await at.kept->limit("default", {});
        const claimed none = co_await at.claim(5);
        EXPECT_TRUE(none.tasks.empty());
        const key_record key = co_await look_at_key(at, "alice");
        EXPECT_TRUE(key.settings.is_paused);
        EXPECT_EQ(key.due, 2U);
        EXPECT_EQ(key.pending, 2U);
        co_await at.kept->change_key("default", "alice", pause_of(false), at.now);
        const claimed freed = co_await at.claim(5);
        EXPECT_EQ(keys_of(freed), (keys{"alice", "alice"}));
        const key_record after = co_await look_at_key(at, "alice");
        EXPECT_EQ(after.running, 2U);
        EXPECT_EQ(after.due, 0U);
        co_await at.complete(runs.tasks);
        co_await at.complete(freed.tasks);
    }
}

WEIR_STORE_TEST(StoreFlowKey, AKeyHasALimitOfItsOwn) {
    co_await at.beat("a", 1h);
    queue_limits limits;
    limits.key_max_running = 2;
    co_await at.kept->limit("default", limits);
    for (const char* const key : {"low", "high", "free", "other"}) {
        co_await at.submit_many(4, key);
    }
    co_await at.kept->change_key("default", "low", max_running_of(1), at.now);
    co_await at.kept->change_key("default", "high", max_running_of(3), at.now);
    co_await at.kept->change_key("default", "free", max_running_of(0), at.now);
    claimed runs = co_await at.claim(50);
    EXPECT_EQ(keys_of(runs), (keys{"low", "high", "high", "high", "free", "free", "free", "free",
                                   "other", "other"}));
    // The queue's limits change; those of the key stay.
    limits.key_max_running = 3;
    co_await at.kept->limit("default", limits);
    claimed more = co_await at.claim(50);
    EXPECT_EQ(keys_of(more), keys{"other"});
    // Back to the queue's.
    co_await at.kept->change_key("default", "low", max_running_of(std::nullopt), at.now);
    more = co_await at.claim(50);
    EXPECT_EQ(keys_of(more), (keys{"low", "low"}));
}

WEIR_STORE_TEST(StoreFlowKey, AKeyHasARateOfItsOwn) {
    co_await at.beat("a", 1h);
    co_await at.submit_many(5, "slow");
    co_await at.submit_many(5, "other");
    key_change change;
    change.rate = 1.0;
    change.burst = 2U;
    co_await at.kept->change_key("default", "slow", change, at.now);
    claimed runs = co_await at.claim(50);
    EXPECT_EQ(keys_of(runs).count("slow"), 2U);
    EXPECT_EQ(keys_of(runs).count("other"), 5U);
    EXPECT_EQ(runs.next_at, at.now + 1s);
    at.now += 1s;
    runs = co_await at.claim(50);
    EXPECT_EQ(runs.tasks.size(), 1U);
    // Without the rate, the rest runs at once.
    co_await at.kept->change_key("default", "slow", key_change::reset(), at.now);
    runs = co_await at.claim(50);
    EXPECT_EQ(runs.tasks.size(), 2U);
    // And the rate of a queue can be lifted for a key.
    queue_limits limits;
    limits.key_rate = 0.1;
    co_await at.kept->limit("default", limits);
    key_change lifted;
    lifted.rate = 0.0;
    co_await at.kept->change_key("default", "fast", lifted, at.now);
    co_await at.submit_many(3, "fast");
    runs = co_await at.claim(50);
    EXPECT_EQ(runs.tasks.size(), 3U);
}

// A change names some members; the others stay.
WEIR_STORE_TEST(StoreFlowKey, ChangesAddUp) {
    key_settings set = co_await at.kept->change_key("q", "k", pause_of(true), at.now);
    EXPECT_TRUE(set.is_paused);
    set = co_await at.kept->change_key("q", "k", max_running_of(7), at.now);
    EXPECT_TRUE(set.is_paused);
    EXPECT_EQ(set.max_running, 7U);
    EXPECT_FALSE(set.rate.has_value());
    set = co_await at.kept->change_key("q", "k", pause_of(false), at.now);
    EXPECT_FALSE(set.is_paused);
    EXPECT_EQ(set.max_running, 7U);
    set = co_await at.kept->change_key("q", "k", key_change::reset(), at.now);
    EXPECT_EQ(set, key_settings());
}

WEIR_STORE_TEST(StoreFlowKey, SettingsSurviveWithoutTasks) {
    co_await at.kept->change_key("q", "kept", pause_of(true), at.now);
    co_await at.kept->change_key("q", "gone", pause_of(true), at.now);
    co_await at.kept->change_key("q", "gone", pause_of(false), at.now);
    at.now += std::chrono::hours(24 * 100);
    co_await at.kept->purge({}, at.now);
    if (at.kind->is_lasting) {
        co_await at.reopen();
    }
    const std::vector<key_record> found = co_await at.kept->keys("q", {});
    WEIR_ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].key, "kept");
    EXPECT_TRUE(found[0].settings.is_paused);
    EXPECT_EQ(found[0].pending, 0U);
    // The queue goes with its keys.
    co_await at.kept->remove_queue("q", false);
    co_await at.submit(bench::make("kept", "q"));
    const key_record fresh = co_await look_at_key(at, "kept", "q");
    EXPECT_FALSE(fresh.settings.is_paused);
}

WEIR_STORE_TEST(StoreFlowKey, ListsHavePages) {
    co_await at.submit_many(1);  // without a key
    for (int i = 0; i < 5; ++i) {
        new_task fresh = bench::make("k" + std::to_string(i));
        if (i % 2 == 0) {
            fresh.run_at = at.now + 1h;
        }
        co_await at.submit(fresh);
    }
    co_await at.kept->change_key("default", "k3", pause_of(true), at.now);
    co_await at.kept->change_key("default", "zz", pause_of(true), at.now);
    const auto listed = [&](key_query query) -> task<std::vector<std::string>> {
        const std::vector<key_record> found = co_await at.kept->keys("default", query);
        std::vector<std::string> names;
        for (const key_record& each : found) {
            names.push_back(each.key);
        }
        co_return names;
    };
    using names = std::vector<std::string>;
    key_query query;
    query.limit = 3;
    const names first = co_await listed(query);
    EXPECT_EQ(first, (names{"k0", "k1", "k2"}));
    query.after = "k2";
    const names second = co_await listed(query);
    EXPECT_EQ(second, (names{"k3", "k4", "zz"}));
    query.after.clear();
    query.is_only_set = true;
    const names set = co_await listed(query);
    EXPECT_EQ(set, (names{"k3", "zz"}));
    const key_record waiting = co_await look_at_key(at, "k0");
    EXPECT_EQ(waiting.pending, 1U);
    EXPECT_EQ(waiting.due, 0U);
    const std::vector<key_record> none = co_await at.kept->keys("unknown", {});
    EXPECT_TRUE(none.empty());
}

TEST(FlowKey, InvalidSettingsAreNamed) {
    const auto member_of = [](const key_settings& settings) -> std::string {
        try {
            check(settings);
        } catch (const invalid_value& error) {
            return error.member();
        }
        return "";
    };
    key_settings settings;
    EXPECT_EQ(member_of(settings), "");
    settings.rate = -1;
    EXPECT_EQ(member_of(settings), "rate");
    settings.rate = 1e6;
    settings.burst = 0;
    EXPECT_EQ(member_of(settings), "burst");
}

}  // namespace
