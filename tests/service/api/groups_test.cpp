// SPDX-License-Identifier: MIT
// Dependencies and groups over the API.

#include "support.hpp"

namespace {

using namespace api_test;
using namespace std::chrono_literals;

std::string group_of(const answer& made) {
    return std::string(made.json.at("group").at("id").as_string());
}
std::string task_of(const answer& made, std::size_t i, const char* list = "tasks") {
    return std::string(made.json.at(list).at(i).at("id").as_string());
}

WEIR_TEST(ApiGroups, AChainOfNamesRunsInItsOrder) {
    site at;
    co_await at.learn();
    at.start();
    const answer made = co_await at.post(
        "/tasks/batch", R"({"tasks":[{"name":"a","kind":"echo","payload":{"x":1}},)"
                        R"({"name":"b","kind":"echo","payload_from":"a"},)"
                        R"({"kind":"echo","after":["a",{"task":"b","on_failure":"run"}]}],)"
                        R"("group":{"name":"three","callback":{"kind":"echo"}}})");
    WEIR_ASSERT_EQ(made.code, 200U);
    EXPECT_EQ(made["made"], "3");
    EXPECT_EQ(made.json.at("results").at(0).at("name").as_string(), "a");
    co_await weir::testing::advance(1s);
    const answer second = co_await at.get("/tasks/" + task_of(made, 1, "results"));
    EXPECT_EQ(second["state"], "completed");
    EXPECT_EQ(second["result"], R"({"x":1})");
    EXPECT_EQ(second.json.at("after").at(0).at("outcome").as_string(), "completed");
    EXPECT_EQ(second.json.at("children").as_array().size(), 1U);
    const answer group = co_await at.get("/groups/" + group_of(made));
    EXPECT_EQ(group["state"], "completed");
    EXPECT_EQ(group["completed"], "3");
    const answer callback = co_await at.get("/tasks/" + group["callback_task"]);
    EXPECT_EQ(callback["state"], "completed");
    EXPECT_EQ(callback.json.at("result").at("group").at("total").to_number<int>(), 3);
    co_await at.stop();
}

WEIR_TEST(ApiGroups, AGroupIsFilledSealedAndListed) {
    site at;
    co_await at.learn();
    at.start();
    const answer made = co_await at.post("/groups", R"({"callback":{"kind":"echo"}})");
    WEIR_ASSERT_EQ(made.code, 201U);
    EXPECT_EQ(made.headers.get("Location"), "/groups/" + group_of(made));
    const std::string path = "/groups/" + group_of(made);
    const answer added = co_await at.post(
        path + "/tasks",
        R"({"tasks":[{"kind":"echo","payload":7},{"kind":"fail","max_attempts":1}]})");
    EXPECT_EQ(added.code, 201U);
    co_await weir::testing::advance(1s);
    const answer open = co_await at.get(path);
    EXPECT_EQ(open["state"], "open");
    EXPECT_EQ(open["open"], "0");
    const answer sealed = co_await at.post(path + "/seal");
    EXPECT_EQ(sealed["state"], "failed");
    const answer late = co_await at.post(path + "/tasks", R"({"tasks":[{"kind":"echo"}]})");
    EXPECT_EQ(late.code, 409U);
    const answer page = co_await at.get(path + "/tasks?limit=1");
    EXPECT_EQ(page.json.at("tasks").at(0).at("result").to_number<int>(), 7);
    const answer rest = co_await at.get(path + "/tasks?brief=true&cursor=" + page["next"]);
    EXPECT_EQ(rest.json.at("tasks").at(0).at("state").as_string(), "failed");
    EXPECT_EQ(rest["next"], "null");
    const answer all = co_await at.get("/groups?state=failed");
    EXPECT_EQ(all.json.at("groups").as_array().size(), 1U);
    const answer none = co_await at.get("/groups?state=open");
    EXPECT_EQ(none.json.at("groups").as_array().size(), 0U);
    const answer ended = co_await at.post(path + "/cancel");
    EXPECT_EQ(ended.code, 409U);
    co_await at.stop();
}

WEIR_TEST(ApiGroups, ACancelStopsRunningMembersAtOnce) {
    site at;
    co_await at.learn();
    at.start();
    const answer made = co_await at.post(
        "/groups",
        R"({"tasks":[{"name":"a","kind":"sleep","payload":{"seconds":1000},"timeout":5000},)"
        R"({"kind":"echo","after":["a"]}],"on_cancel":"skip","callback":{"kind":"echo"}})");
    co_await weir::testing::advance(100ms);
    const answer cancelled = co_await at.post("/groups/" + group_of(made) + "/cancel");
    EXPECT_EQ(cancelled.code, 202U);
    co_await weir::testing::advance(100ms);
    const answer group = co_await at.get("/groups/" + group_of(made));
    EXPECT_EQ(group["state"], "cancelled");
    EXPECT_EQ(group["cancelled"], "2");
    const answer callback = co_await at.get("/tasks/" + group["callback_task"]);
    EXPECT_EQ(callback["state"], "cancelled");
    co_await at.stop();
}

WEIR_TEST(ApiGroups, ATaskComesAfterKnownOnes) {
    site at;
    co_await at.learn();
    at.start();
    const std::string first = co_await at.submit(R"({"kind":"sleep","payload":{"seconds":10}})");
    const std::string second =
        co_await at.submit(R"({"kind":"echo","after":[")" + first + R"("]})");
    co_await weir::testing::advance(1s);
    const answer why = co_await at.get("/tasks/" + second + "/why");
    EXPECT_EQ(why["status"], "waiting");
    EXPECT_EQ(why.json.at("reasons").at(0).at("reason").as_string(), "waits_for");
    const answer list = co_await at.get("/tasks?status=waiting");
    EXPECT_EQ(list.json.at("tasks").as_array().size(), 1U);
    const answer cancelled = co_await at.post("/tasks/" + first + "/cancel?subtree=true");
    EXPECT_EQ(cancelled.code, 202U);
    co_await weir::testing::advance(1s);
    const answer ended = co_await at.get("/tasks/" + second);
    EXPECT_EQ(ended["state"], "cancelled");
    co_await at.stop();
}

WEIR_TEST(ApiGroups, InvalidWorkflowsAreRefusedAsAWhole) {
    site at;
    co_await at.learn();
    const std::pair<const char*, const char*> cases[] = {
        {R"([{"kind":"echo","after":["b"]},{"name":"b","kind":"echo"}])", "after"},  // a cycle
        {R"([{"name":"a","kind":"echo","after":["a"]}])", "after"},
        {R"([{"name":"a","kind":"echo"},{"name":"a","kind":"echo"}])", "name"},
        {R"([{"name":"a","kind":"unknown"}])", "kind"},
        {R"([{"kind":"echo","after":[7]}])", "after"},
        {R"([{"kind":"echo","after":[{"task":"0000000000001","on_failure":"x"}]}])", "on_failure"},
        {R"([{"kind":"echo","payload":1,"payload_from":"0000000000001"}])", "payload_from"},
        {R"({"tasks":[],"group":{"callback":{"kind":"echo","payload":[1]}}})", "callback"},
        {R"({"tasks":[],"group":{"callback":{"kind":"echo","idempotency_key":"k"}}})", "callback"},
        {R"({"tasks":[],"group":{"on_failure":"no"}})", "on_failure"},
        {R"({"tasks":[],"group":{"surprise":1}})", "surprise"}};
    for (const auto& [body, member] : cases) {
        const answer refused = co_await at.post("/tasks/batch", body);
        EXPECT_EQ(refused.code, 422U) << body << refused.text;
        EXPECT_EQ(refused["member"], member) << body << refused.text;
    }
    std::string many = R"({"tasks":[{"kind":"echo"})";
    for (int i = 0; i < 10'000; ++i) {
        many += R"(,{"kind":"echo"})";
    }
    const answer too_many = co_await at.post("/groups", many + "]}");
    EXPECT_EQ(too_many.code, 413U);
    std::string parents = R"([{"name":"a","kind":"echo"},{"kind":"echo","after":["a")";
    for (int i = 0; i < 100; ++i) {
        parents += ",\"0000000000" + std::to_string(100 + i) + "\"";
    }
    const answer too_wide = co_await at.post("/tasks/batch", parents + "]}]");
    EXPECT_EQ(too_wide.code, 422U);
    const answer tasks = co_await at.get("/tasks");
    EXPECT_EQ(tasks.json.at("tasks").as_array().size(), 0U);
    for (const char* const path : {"/groups/0000000000001", "/groups/nonsense"}) {
        const answer unknown = co_await at.get(path);
        EXPECT_EQ(unknown.code, 404U);
    }
}

WEIR_TEST(ApiGroups, ARepeatedRequestFindsItsGroup) {
    site at;
    co_await at.learn();
    const char* const body = R"({"tasks":[{"kind":"echo"}],"group":{}})";
    const fields key = {{"Idempotency-Key", "once"}};
    const answer first = co_await at.post("/tasks/batch", body, key);
    const answer again = co_await at.post("/tasks/batch", body, key);
    EXPECT_EQ(group_of(first), group_of(again));
    const answer tasks = co_await at.get("/tasks");
    EXPECT_EQ(tasks.json.at("tasks").as_array().size(), 1U);
}

}  // namespace
