// SPDX-License-Identifier: MIT
// /operations, and PATCH of a pending task.

#include "support.hpp"

#include <chrono>
#include <string>

namespace {

using namespace api_test;
using namespace std::chrono_literals;
using http::method;

weir::task<answer> ended(site& here, std::string id) {
    for (;;) {
        answer found = co_await here.get("/operations/" + id);
        if (found["state"] != "running") {
            co_return found;
        }
        co_await weir::sleep(1ms);
    }
}

WEIR_TEST(ServiceOperations, TasksAreChangedByFilter) {
    site here;
    co_await here.learn();
    here.start();
    for (int i = 0; i < 3; ++i) {
        co_await here.submit(R"({"kind": "echo", "queue": "mail", "tags": ["red"], "delay": 99})");
    }
    co_await here.submit(R"({"kind": "echo", "queue": "mail", "delay": 99})");
    const answer dry = co_await here.post(
        "/operations", R"({"action": "cancel", "filter": {"queue": "mail"}, "dry_run": true})");
    EXPECT_EQ(dry.code, 202U) << dry.text;
    EXPECT_EQ(dry.headers.get("Location"), "/operations/" + dry["id"]);
    const answer counted = co_await ended(here, dry["id"]);
    EXPECT_EQ(counted["state"], "done");
    EXPECT_EQ(counted["matched"], "4");
    EXPECT_EQ(counted["changed"], "0");
    EXPECT_EQ(counted["dry_run"], "true");
    const answer begun = co_await here.post("/operations",
                                            R"({"action": "cancel", "limit": 100,
            "filter": {"queue": "mail", "tag": "red", "status": "scheduled", "kind": "echo"}})");
    const answer done = co_await ended(here, begun["id"]);
    EXPECT_EQ(done["changed"], "3") << done.text;
    EXPECT_EQ(done["limit"], "100");
    EXPECT_EQ(done.json.at("filter").at("tag").as_string(), "red");
    EXPECT_EQ(done.json.at("filter").at("status").as_string(), "scheduled");
    const answer all = co_await here.get("/operations");
    EXPECT_EQ(all.json.at("operations").as_array().size(), 2U);
    EXPECT_EQ(all.json.at("operations").at(0).at("id").as_string(), begun["id"]);
    const answer left = co_await here.get("/tasks?queue=mail&state=pending");
    EXPECT_EQ(left.json.at("tasks").as_array().size(), 1U);
    const answer everything =
        co_await here.post("/operations", R"({"action": "delete", "all": true})");
    const answer removed = co_await ended(here, everything["id"]);
    EXPECT_EQ(removed["changed"], "3") << removed.text;
    co_await here.stop();
}

WEIR_TEST(ServiceOperations, OneIsStopped) {
    site here;
    co_await here.learn();
    const answer waiting =
        co_await here.post("/operations", R"({"action": "retry", "all": true, "limit": null})");
    EXPECT_EQ(waiting.code, 202U) << waiting.text;
    EXPECT_EQ(waiting["state"], "running");
    const answer stopped = co_await here.ask(method::delete_, "/operations/" + waiting["id"], "");
    EXPECT_EQ(stopped.code, 200U);
    EXPECT_EQ(stopped["state"], "stopped");
    for (const method verb : {method::get, method::delete_}) {
        const answer unknown = co_await here.ask(verb, "/operations/nothing", "");
        EXPECT_EQ(unknown.code, 404U);
    }
    for (int i = 0; i < 4; ++i) {
        co_await here.post("/operations", R"({"action": "retry", "all": true})");
    }
    const answer many = co_await here.post("/operations", R"({"action": "retry", "all": true})");
    EXPECT_EQ(many.code, 429U);
    EXPECT_EQ(many.headers.get("Retry-After"), "5");
}

WEIR_TEST(ServiceOperations, InvalidOnesAreRefusedWithTheMember) {
    site here;
    co_await here.learn();
    const std::pair<std::string, std::string> wrong[] = {
        {R"({"filter": {"queue": "q"}})", "action"},
        {R"({"action": "remove", "filter": {"queue": "q"}})", "action"},
        {R"({"action": "cancel"})", "filter"},
        {R"({"action": "cancel", "filter": {}})", "filter"},
        {R"({"action": "cancel", "filter": "queue"})", "filter"},
        {R"({"action": "cancel", "all": 1})", "all"},
        {R"({"action": "cancel", "all": true, "dry_run": "no"})", "dry_run"},
        {R"({"action": "cancel", "all": true, "limit": 0})", "limit"},
        {R"({"action": "cancel", "all": true, "limit": 1.5})", "limit"},
        {R"({"action": "cancel", "all": true, "limit": "1"})", "limit"},
        {R"({"action": "cancel", "all": true, "force": true})", "force"},
        {R"({"action": "cancel", "filter": {"state": "failed"}})", "state"},
        {R"({"action": "cancel", "filter": {"state": "odd"}})", "state"},
        {R"({"action": "retry", "filter": {"status": "pending"}})", "status"},
        {R"({"action": "delete", "filter": {"state": "pending"}})", "state"},
        {R"({"action": "delete", "filter": {"queue": 7}})", "queue"},
        {R"({"action": "delete", "filter": {"queue": ""}})", "queue"},
        {R"({"action": "delete", "filter": {"from": "soon"}})", "from"},
        {R"({"action": "delete", "filter": {"cursor": "0dpfh2qhm0004"}})", "cursor"},
        {R"({"action": "delete", "filter": {"limit": "5"}})", "limit"},
        {R"({"action": "delete", "filter": {"colour": "red"}})", "colour"},
    };
    for (const auto& [body, member] : wrong) {
        const answer refused = co_await here.post("/operations", body);
        EXPECT_EQ(refused.code, 422U) << body << refused.text;
        EXPECT_EQ(refused["member"], member) << body << refused.text;
    }
    const answer list = co_await here.post("/operations", "[]");
    EXPECT_EQ(list.code, 422U);
    const answer none = co_await here.get("/operations");
    EXPECT_EQ(none.json.at("operations").as_array().size(), 0U);
}

// ---- PATCH /tasks/{id}

WEIR_TEST(ServiceEdit, APendingTaskIsChanged) {
    site here;
    co_await here.learn();
    here.start();
    const std::string id = co_await here.submit(R"({"kind": "echo", "delay": 1000})");
    const auto edit = [&](std::string body) {
        return here.ask(method::patch, "/tasks/" + id, std::move(body));
    };
    answer changed = co_await edit(R"({"priority": 5, "payload": {"a":  1.0}})");
    EXPECT_EQ(changed.code, 200U) << changed.text;
    EXPECT_EQ(changed["priority"], "5");
    EXPECT_NE(changed.text.find(R"("payload":{"a":  1.0})"), std::string::npos) << changed.text;
    EXPECT_EQ(changed["status"], "scheduled");
    changed = co_await edit(R"({"run_at": "2099-01-01T00:00:00Z"})");
    EXPECT_EQ(changed["due_at"], "2099-01-01T00:00:00.000000Z");
    EXPECT_EQ(changed["priority"], "5");
    changed = co_await edit(R"({"payload": null, "delay": 0})");
    EXPECT_EQ(changed.code, 200U) << changed.text;
    EXPECT_EQ(changed["payload"], "null");
    // It runs at once, with the new payload.
    const answer done = co_await here.get("/tasks/" + id + "?wait=10");
    EXPECT_EQ(done["state"], "completed");
    const answer late = co_await edit(R"({"priority": 1})");
    EXPECT_EQ(late.code, 409U);
    EXPECT_EQ(late.detail(),
              "the task " + id + " is completed; only a pending task can be changed");
    co_await here.stop();
}

WEIR_TEST(ServiceEdit, InvalidChangesAreRefused) {
    site here;
    here.tasks.handle(
        "strict", [](job&) -> weir::task<bj::value> { co_return nullptr; },
        [](const bj::value& payload) {
            if (!payload.is_object()) {
                throw weir::service::permanent_failure("an object is expected");
            }
        });
    co_await here.learn();
    const std::string id = co_await here.submit(R"({"kind": "strict", "payload": {}})");
    const std::pair<std::string, std::string> wrong[] = {
        {R"({"priority": 1001})", "priority"},
        {R"({"priority": "high"})", "priority"},
        {R"({"delay": -1})", "delay"},
        {R"({"delay": 5, "run_at": "2099-01-01T00:00:00Z"})", "delay"},
        {R"({"run_at": "tomorrow"})", "run_at"},
        {R"({"payload": [1]})", "payload"},
        {R"({"queue": "other"})", "queue"},
    };
    for (const auto& [body, member] : wrong) {
        const answer refused = co_await here.ask(method::patch, "/tasks/" + id, body);
        EXPECT_EQ(refused.code, 422U) << body << refused.text;
        EXPECT_EQ(refused["member"], member) << body << refused.text;
    }
    for (const std::string body : {"{}", R"({"priority": null})", "[1]"}) {
        const answer refused = co_await here.ask(method::patch, "/tasks/" + id, body);
        EXPECT_EQ(refused.code, 422U) << body << refused.text;
    }
    const answer same = co_await here.get("/tasks/" + id);
    EXPECT_EQ(same["payload"], "{}");
    EXPECT_EQ(same["priority"], "0");
    const answer unknown =
        co_await here.ask(method::patch, "/tasks/0dpfh2qhm0004", R"({"priority": 1})");
    EXPECT_EQ(unknown.code, 404U);
}

}  // namespace
