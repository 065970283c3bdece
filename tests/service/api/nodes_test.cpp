// SPDX-License-Identifier: MIT
// GET /nodes: who runs tasks, and how many.

#include "base/rfc3339.hpp"
#include "support.hpp"

#include <chrono>
#include <string>

namespace {

using namespace api_test;
using namespace std::chrono_literals;

node_record other_node(std::string id, timestamp started_at, timestamp expires_at) {
    node_record node;
    node.id = std::move(id);
    node.host = "elsewhere";
    node.pid = 7;
    node.started_at = started_at;
    node.expires_at = expires_at;
    return node;
}

}  // namespace

WEIR_TEST(ServiceNodes, AreNoneBeforeTheServiceRuns) {
    site here;
    co_await here.learn();
    const answer none = co_await here.get("/nodes");
    EXPECT_EQ(none.code, 200U);
    EXPECT_EQ(none.text, R"({"nodes":[]})");
}

WEIR_TEST(ServiceNodes, NameThisProcessAndWhatItRuns) {
    site here;
    co_await here.learn();
    here.start();
    const std::string one =
        co_await here.submit(R"({"kind": "sleep", "payload": {"seconds": 60}})");
    co_await here.submit(R"({"kind": "sleep", "payload": {"seconds": 60}})");
    co_await here.submit(R"({"kind": "echo", "delay": 60})");
    co_await weir::sleep(1s);
    const answer listed = co_await here.get("/nodes");
    WEIR_ASSERT_EQ(listed.json.at("nodes").as_array().size(), 1U);
    const bj::value& own = listed.json.at("nodes").at(0);
    EXPECT_TRUE(own.at("is_self").as_bool());
    EXPECT_TRUE(own.at("is_alive").as_bool());
    EXPECT_EQ(own.at("running").to_number<int>(), 2);
    const answer task = co_await here.get("/tasks/" + one);
    EXPECT_EQ(task["node"], own.at("id").as_string());
    const auto lease = weir::base::parse_rfc3339(std::string(own.at("lease_until").as_string()));
    WEIR_ASSERT_TRUE(lease.has_value());
    EXPECT_GT(*lease, here.tasks.now());
    EXPECT_LE(*lease, here.tasks.now() + 10s);
    co_await here.stop();
    const answer after = co_await here.get("/nodes");
    for (const bj::value& each : after.json.at("nodes").as_array()) {
        EXPECT_FALSE(each.at("is_alive").as_bool()) << "the lease is given back at the end";
        EXPECT_FALSE(each.at("is_self").as_bool());
        EXPECT_TRUE(each.at("lease_until").is_null());
    }
}

WEIR_TEST(ServiceNodes, WithALeaseComeFirstThenTheNewest) {
    site here;
    co_await here.learn();
    const moment now = here.tasks.moment_now();
    co_await here.store.heartbeat(other_node("gone", now.at, now.steady - 1s), now);
    co_await here.store.heartbeat(other_node("old", now.at - 9s, now.steady + 5s), now);
    co_await here.store.heartbeat(other_node("new", now.at - 2s, now.steady + 5s), now);
    const answer listed = co_await here.get("/nodes");
    std::string order;
    for (const bj::value& each : listed.json.at("nodes").as_array()) {
        order +=
            std::string(each.at("id").as_string()) + (each.at("is_alive").as_bool() ? "+ " : "- ");
    }
    EXPECT_EQ(order, "new+ old+ gone- ");
}

WEIR_TEST(ServiceNodes, AreAHundredAtMost) {
    site here;
    co_await here.learn();
    const moment now = here.tasks.moment_now();
    for (int i = 0; i < 130; ++i) {
        co_await here.store.heartbeat(other_node("n" + std::to_string(i), now.at, now.steady + 5s),
                                      now);
    }
    const answer listed = co_await here.get("/nodes");
    EXPECT_EQ(listed.json.at("nodes").as_array().size(), service::max_listed_nodes);
}
