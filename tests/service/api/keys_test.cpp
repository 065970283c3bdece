// SPDX-License-Identifier: MIT
// /queues/{name}/keys: lists of flow keys, the pause and the limits of one.

#include "support.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace {

using namespace api_test;
using namespace std::chrono_literals;
using http::method;

WEIR_TEST(ServiceKeys, AKeyIsPausedAndLimited) {
    site here;
    co_await here.learn();
    here.start();
    const auto put = [&](std::string body) {
        return here.ask(method::put, "/queues/mail/keys/a%2Fb", std::move(body));
    };
    answer key = co_await put(R"({"paused": true})");
    EXPECT_EQ(key.code, 200U) << key.text;
    EXPECT_EQ(key["key"], "a/b");
    EXPECT_EQ(key["paused"], "true");
    EXPECT_EQ(key["max_running"], "null");
    const std::string held =
        co_await here.submit(R"({"kind": "echo", "queue": "mail", "flow_key": "a/b"})");
    const std::string free =
        co_await here.submit(R"({"kind": "echo", "queue": "mail", "flow_key": "c"})");
    const answer ended = co_await here.get("/tasks/" + free + "?wait=5");
    EXPECT_EQ(ended["state"], "completed");
    const answer why = co_await here.get("/tasks/" + held + "/why");
    EXPECT_EQ(why.json.at("reasons").at(0).at("reason").as_string(), "key_paused");
    EXPECT_EQ(why.json.at("reasons").at(0).at("text").as_string(),
              "the flow key 'a/b' is paused in the queue 'mail'");

    co_await here.ask(method::patch, "/queues/mail", R"({"key_rate": 5, "key_burst": 2})");
    key = co_await put(R"({"max_running": 3, "rate": 0.5})");
    EXPECT_EQ(key["paused"], "true");  // what is not named stays
    EXPECT_EQ(key["max_running"], "3");
    EXPECT_EQ(key["burst"], "null");
    EXPECT_EQ(key.json.at("limits").at("burst"), 2);
    EXPECT_EQ(key["due"], "1");
    EXPECT_EQ(key["pending"], "1");
    key = co_await put(R"({"rate": null})");
    EXPECT_EQ(key["rate"], "null");
    EXPECT_EQ(key.json.at("limits").at("rate"), 5);
    // Without its settings it runs.
    key = co_await here.ask(method::delete_, "/queues/mail/keys/a%2Fb", "");
    EXPECT_EQ(key.code, 200U) << key.text;
    EXPECT_EQ(key["paused"], "false");
    EXPECT_EQ(key["max_running"], "null");
    const answer done = co_await here.get("/tasks/" + held + "?wait=5");
    EXPECT_EQ(done["state"], "completed");
    co_await here.stop();
}

WEIR_TEST(ServiceKeys, ListsHavePages) {
    site here;
    co_await here.learn();
    const std::vector<std::string> names = {"a", "b & c", "d/e", "f", "h\u00e9"};
    for (const std::string& each : names) {
        new_task fresh("echo");
        fresh.flow_key = each;
        co_await here.tasks.submit(fresh);
    }
    key_change pause;
    pause.is_paused = true;
    co_await here.tasks.change_key("default", "f", pause);
    std::vector<std::string> found;
    std::string target = "/queues/default/keys?limit=2";
    std::size_t pages = 0;
    while (!target.empty() && pages < 9) {
        const answer page = co_await here.get(target);
        EXPECT_EQ(page.code, 200U) << page.text;
        for (const bj::value& each : page.json.at("keys").as_array()) {
            found.emplace_back(each.at("key").as_string());
        }
        const bj::value& next = page.json.at("next");
        target = next.is_null() ? "" : std::string(next.as_string());
        ++pages;
    }
    EXPECT_EQ(found, names);
    EXPECT_EQ(pages, 3U);
    const answer set = co_await here.get("/queues/default/keys?set=true");
    EXPECT_EQ(set.json.at("keys").as_array().size(), 1U);
    const answer unknown = co_await here.get("/queues/default/keys/none");
    EXPECT_EQ(unknown["pending"], "0");
}

WEIR_TEST(ServiceKeys, InvalidRequestsAreRefused) {
    site here;
    co_await here.learn();
    co_await here.tasks.pause("mail", false);
    const std::pair<std::string, std::string> wrong[] = {
        {R"({"paused": 1})", "paused"},
        {R"({"max_running": -1})", "max_running"},
        {R"({"max_running": 1.5})", "max_running"},
        {R"({"rate": "fast"})", "rate"},
        {R"({"rate": -2})", "rate"},
        {R"({"rate": 2000000})", "rate"},
        {R"({"burst": 0})", "burst"},
        {R"({"key_rate": 1})", "key_rate"},
    };
    for (const auto& [body, member] : wrong) {
        const answer refused = co_await here.ask(method::put, "/queues/mail/keys/k", body);
        EXPECT_EQ(refused.code, 422U) << body << refused.text;
        EXPECT_EQ(refused["member"], member) << body << refused.text;
    }
    const answer list = co_await here.ask(method::put, "/queues/mail/keys/k", "[]");
    EXPECT_EQ(list.code, 422U);
    for (const std::string bad :
         {"limit=0", "limit=1001", "limit=two", "limit=", "set=yes", "page=2", "limit=1&limit=2"}) {
        const answer refused = co_await here.get("/queues/mail/keys?" + bad);
        EXPECT_EQ(refused.code, 422U) << bad << refused.text;
        EXPECT_EQ(refused["member"], bad.substr(0, bad.find('='))) << refused.text;
    }
    const answer longest =
        co_await here.ask(method::put, "/queues/mail/keys/" + std::string(201, 'k'), "{}");
    EXPECT_EQ(longest.code, 422U);
    for (const std::string target : {"/queues/none/keys", "/queues/none/keys/k"}) {
        const answer unknown = co_await here.get(target);
        EXPECT_EQ(unknown.code, 404U);
    }
    const answer nothing = co_await here.ask(method::delete_, "/queues/none/keys/k", "");
    EXPECT_EQ(nothing.code, 404U);
}

}  // namespace
