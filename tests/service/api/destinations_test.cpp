// SPDX-License-Identifier: MIT
// /destinations: what tasks talk to, and endpoints that are disabled and enabled.

#include "support.hpp"

#include <chrono>
#include <string>

namespace {

using namespace api_test;
using namespace std::chrono_literals;

WEIR_TEST(ServiceDestinations, DisabledEndpointsAreShownAndEnabled) {
    site here;
    destination_rule where;
    where.name_of = [](const bj::value&) { return std::string("https://example.com"); };
    where.endpoint_of = [](const bj::value&) { return std::string("https://example.com/hook"); };
    here.tasks.handle(
        "send",
        [](job& current) -> weir::task<bj::value> {
            current.report(destination_outcome::answered, 60s);
            current.report_gone();
            throw permanent_failure("410 Gone");
            co_return nullptr;
        },
        {}, where);
    co_await here.learn();
    here.start();
    const std::string id = co_await here.submit(R"({"kind": "send"})");
    const answer failed = co_await here.get("/tasks/" + id + "?wait=5");
    EXPECT_EQ(failed["state"], "failed");
    const answer listed = co_await here.get("/destinations?limit=5");
    EXPECT_EQ(listed.code, 200U) << listed.text;
    const bj::value& host = listed.json.at("destinations").at(0);
    EXPECT_EQ(host.at("name").as_string(), "https://example.com");
    EXPECT_EQ(host.at("circuit").as_string(), "closed");
    EXPECT_TRUE(host.at("free_at").is_string());
    const bj::value& endpoint = listed.json.at("disabled").at(0);
    EXPECT_EQ(endpoint.at("kind").as_string(), "send");
    EXPECT_EQ(endpoint.at("name").as_string(), "https://example.com/hook");
    EXPECT_EQ(endpoint.at("reason").as_string(), "410 Gone");
    const std::string body = R"({"kind": "send", "name": "https://example.com/hook"})";
    const answer enabled = co_await here.post("/destinations/enable", body);
    EXPECT_EQ(enabled.code, 200U) << enabled.text;
    const answer again = co_await here.post("/destinations/enable", body);
    EXPECT_EQ(again.code, 404U);
    const answer none = co_await here.get("/destinations");
    EXPECT_TRUE(none.json.at("disabled").as_array().empty());
    co_await here.stop();
}

WEIR_TEST(ServiceDestinations, InvalidRequestsAreRefused) {
    site here;
    co_await here.learn();
    const std::pair<std::string, std::string> wrong[] = {
        {R"({"name": "x"})", "kind"},
        {R"({"kind": "http"})", "name"},
        {R"({"kind": "http", "name": 5})", "name"},
        {R"({"kind": "http", "name": ""})", "name"},
        {R"({"kind": "http", "name": "x", "url": "y"})", "url"},
    };
    for (const auto& [body, member] : wrong) {
        const answer refused = co_await here.post("/destinations/enable", body);
        EXPECT_EQ(refused.code, 422U) << body << refused.text;
        EXPECT_EQ(refused["member"], member) << body << refused.text;
    }
    const answer list = co_await here.post("/destinations/enable", "[]");
    EXPECT_EQ(list.code, 422U);
    for (const std::string bad : {"limit=0", "limit=1001", "cursor=a"}) {
        const answer refused = co_await here.get("/destinations?" + bad);
        EXPECT_EQ(refused.code, 422U) << bad;
        EXPECT_EQ(refused["member"], bad.substr(0, bad.find('=')));
    }
}

}  // namespace
