// SPDX-License-Identifier: MIT
// on_success and on_failure of a task, over the API.

#include "support.hpp"

#include <weir/service/handlers/http_delivery.hpp>

namespace {

using namespace api_test;

// A site whose deliveries are collected instead of sent.
class listening_site : public site {
public:
    listening_site() {
        destination_rule where;
        where.name_of = [](const bj::value& payload) {
            return std::string(payload.at("url").as_string());
        };
        tasks.handle(
            "http",
            [this](job& job) -> weir::task<bj::value> {
                payloads.push_back(job.payload());
                destinations.push_back(job.task().destination);
                co_return nullptr;
            },
            &http_delivery::check, where);
    }

    std::vector<bj::value> payloads;
    std::vector<std::string> destinations;
};

WEIR_TEST(ApiCallbacks, ATaskTellsHowItHasEnded) {
    listening_site at;
    co_await at.learn();
    at.start();
    const std::string good = co_await at.submit(
        R"({"kind":"echo","payload":{"a":1},"tags":["x"],"on_success":"https://example.com/good",)"
        R"("on_failure":"https://example.com/bad"})");
    co_await weir::testing::advance(std::chrono::seconds(1));
    WEIR_ASSERT_EQ(at.payloads.size(), 1U);
    EXPECT_EQ(at.payloads[0].at("url").as_string(), "https://example.com/good");
    EXPECT_EQ(at.payloads[0].at("body").at("id").as_string(), good);
    EXPECT_EQ(http::to_json(at.payloads[0].at("body").at("result")), R"({"a":1})");
    EXPECT_EQ(at.destinations[0], "https://example.com/good");
    const answer shown = co_await at.get("/tasks/" + good);
    EXPECT_EQ(shown["on_success"],
              R"({"url":"https://example.com/good","headers":null,"queue":null})");
    WEIR_ASSERT_EQ(shown.json.at("callbacks").as_array().size(), 1U);
    const std::string callback(shown.json.at("callbacks").at(0).as_string());
    const answer delivery = co_await at.get("/tasks/" + callback);
    EXPECT_EQ(delivery["kind"], "http");
    EXPECT_EQ(delivery["state"], "completed");
    EXPECT_EQ(delivery["callbacks"], "[]");
    EXPECT_EQ(delivery["on_success"], "null");
    const answer list = co_await at.get("/tasks");  // headers may have secrets
    EXPECT_EQ(list.text.find("example.com/bad"), std::string::npos);
    co_await at.stop();
}

WEIR_TEST(ApiCallbacks, AFailureAndACancelHaveTheSameOne) {
    listening_site at;
    co_await at.learn();
    at.start();
    const char* const callback =
        R"("on_failure":{"url":"https://example.com/bad","headers":{"X-A": "b"},"queue":"hooks"}})";
    co_await at.submit(std::string(R"({"kind":"fail","max_attempts":1,)") + callback);
    const std::string later =
        co_await at.submit(std::string(R"({"kind":"echo","delay":100,)") + callback);
    const answer cancelled = co_await at.post("/tasks/" + later + "/cancel");
    EXPECT_EQ(cancelled.code, 200U);
    co_await weir::testing::advance(std::chrono::seconds(1));
    WEIR_ASSERT_EQ(at.payloads.size(), 2U);
    for (const bj::value& each : at.payloads) {
        EXPECT_EQ(each.at("headers").at("X-A").as_string(), "b");
        const bool is_cancel = each.at("body").at("id").as_string() == later;
        EXPECT_EQ(each.at("body").at("state").as_string(), is_cancel ? "cancelled" : "failed");
    }
    const answer hooks = co_await at.get("/queues/hooks");
    EXPECT_EQ(hooks.json.at("counts").at("completed").to_number<int>(), 2);
    co_await at.stop();
}

WEIR_TEST(ApiCallbacks, InvalidOnesAreRefused) {
    listening_site at;
    co_await at.learn();
    const std::pair<const char*, const char*> cases[] = {
        {"7", "must be a URL"},
        {R"("")", "must be a URL"},
        {R"("ftp://example.com/")", "http"},
        {R"("no url")", ""},
        {R"({"url":"https://example.com","way":1})", "'way' is unknown"},
        {R"({"headers":{}})", "'url' is missing"},
        {R"({"url":"https://example.com","headers":[]})", "headers must be an object"},
        {R"({"url":"https://example.com","headers":{"Host":"x"}})", "cannot be chosen"},
        {R"({"url":"https://example.com","queue":".."})", "'..'"},
        {R"({"url":"https://example.com","queue":7})", "queue"},
    };
    for (const auto& [value, message] : cases) {
        for (const std::string member : {"on_success", "on_failure"}) {
            const answer refused =
                co_await at.post("/tasks", R"({"kind":"echo",")" + member + "\":" + value + "}");
            EXPECT_EQ(refused.code, 422U) << value;
            EXPECT_EQ(refused["member"], member) << value;
            EXPECT_NE(refused.detail().find(message), std::string::npos) << refused.detail();
        }
    }
    const std::string long_url = "https://example.com/" + std::string(4000, 'x');
    const answer refused =
        co_await at.post("/tasks", R"({"kind":"echo","on_success":")" + long_url + "\"}");
    EXPECT_EQ(refused.code, 422U);
    const answer none = co_await at.post("/tasks", R"({"kind":"echo","on_success":null})");
    EXPECT_EQ(none.code, 202U);
}

WEIR_TEST(ApiCallbacks, NeedAHandlerThatDelivers) {
    site at;
    co_await at.learn();
    const answer refused =
        co_await at.post("/tasks", R"({"kind":"echo","on_success":"https://example.com"})");
    EXPECT_EQ(refused.code, 422U);
    EXPECT_EQ(refused["member"], "on_success");
    EXPECT_NE(refused.detail().find("no handler for 'http'"), std::string::npos);
}

WEIR_TEST(ApiCallbacks, TasksOfSchedulesHaveThem) {
    listening_site at;
    co_await at.learn();
    at.start();
    const answer put = co_await at.ask(
        http::method::put, "/schedules/s",
        R"({"cron":"* * * * *","task":{"kind":"echo","on_success":"https://example.com/good"}})");
    EXPECT_EQ(put.code, 200U) << put.text;
    co_await weir::testing::advance(std::chrono::seconds(61));
    EXPECT_EQ(at.payloads.size(), 1U);
    EXPECT_EQ(at.destinations.at(0), "https://example.com/good");
    co_await at.stop();
}

}  // namespace
