// SPDX-License-Identifier: MIT
// Endpoints that settlements report as gone.

#include "stores.hpp"

namespace {

using namespace store_test;

WEIR_STORE_SUITE(StoreEndpoints);

settlement gone_for(const task_record& run, std::string endpoint) {
    settlement ended = bench::ending(run, task_state::failed);
    ended.error = "410";
    ended.learnt.gone = std::move(endpoint);
    return ended;
}

WEIR_STORE_TEST(StoreEndpoints, AreDisabledUntilSomebodyEnablesThem) {
    co_await at.beat("a", 1h);
    co_await at.submit_many(3);
    const claimed runs = co_await at.claim(3);
    const timestamp first = at.now;
    co_await at.settle(gone_for(runs.tasks[0], "https://b/hook"));
    at.now += 1s;
    co_await at.settle(gone_for(runs.tasks[1], "https://a/hook"));
    co_await at.settle(gone_for(runs.tasks[2], "https://b/hook"));
    // A settlement that comes too late changes nothing.
    const bool is_written = co_await at.settle(gone_for(runs.tasks[2], "https://c/hook"));
    EXPECT_FALSE(is_written);
    if (at.kind->is_lasting) {
        co_await at.reopen();
    }
    std::vector<endpoint_record> found = co_await at.kept->disabled_endpoints();
    WEIR_ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].name, "https://a/hook");
    EXPECT_EQ(found[1].name, "https://b/hook");
    EXPECT_EQ(found[1].kind, "work");
    EXPECT_EQ(found[1].reason, "410");
    EXPECT_EQ(found[1].since, first);  // the first one counts
    bool is_enabled = co_await at.kept->enable_endpoint("other", "https://b/hook");
    EXPECT_FALSE(is_enabled);
    is_enabled = co_await at.kept->enable_endpoint("work", "https://b/hook");
    EXPECT_TRUE(is_enabled);
    is_enabled = co_await at.kept->enable_endpoint("work", "https://b/hook");
    EXPECT_FALSE(is_enabled);
    found = co_await at.kept->disabled_endpoints();
    EXPECT_EQ(found.size(), 1U);
}

}  // namespace
