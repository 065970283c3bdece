// SPDX-License-Identifier: MIT
// POST /claim and POST /handles/{handle}: one task without a session.

#include "worker_client.hpp"

#include <vector>

namespace {

using namespace api_test;
using namespace std::chrono_literals;

}  // namespace

WEIR_TEST(SingleClaim, TakesATaskAndSettlesIt) {
    site here;
    co_await here.learn();
    here.start();
    const timed none = co_await in_time(here.post("/claim", R"({"kind": "thumb", "wait": 3})"));
    EXPECT_EQ(none.reply.code, 204U) << none.reply.text;
    EXPECT_EQ(none.took, 3s);
    const auto waiting = weir::spawn(in_time(here.post("/claim", R"({"kind": "thumb"})")));
    co_await weir::sleep(2s);
    const std::string id = co_await here.submit(R"({"kind": "thumb", "payload": {"a": 1}})");
    const timed got = co_await waiting;
    EXPECT_EQ(got.reply.code, 200U);
    EXPECT_LT(got.took, 2s + 10ms);
    EXPECT_EQ(got.reply["id"], id);
    EXPECT_EQ(got.reply.json.at("payload").at("a"), 1);
    const std::string handle = "/handles/" + got.reply["handle"];
    co_await weir::sleep(50s);
    const answer renewed =
        co_await here.post(handle, R"({"lease": 60, "progress": 0.5, "message": "half"})");
    EXPECT_EQ(renewed.text, R"({"accepted":true,"cancel":false})");
    co_await weir::sleep(50s);
    const answer task = co_await here.get("/tasks/" + id);
    EXPECT_EQ(task["state"], "running") << "its lease was renewed";
    EXPECT_EQ(task["message"], "half");
    const answer done =
        co_await here.post(handle, R"({"outcome": "completed", "result": {"x": 1.0}})");
    EXPECT_EQ(done.text, R"({"accepted":true})");
    const answer again =
        co_await here.post(handle, R"({"outcome": "completed", "result": {"x": 1.0}})");
    EXPECT_EQ(again.text, R"({"accepted":true})") << "its answer may be lost";
    const answer after = co_await here.get("/tasks/" + id);
    EXPECT_NE(after.text.find(R"("result":{"x": 1.0})"), std::string::npos) << after.text;
    const answer listed = co_await here.get("/workers");
    EXPECT_EQ(listed.json.at("workers").as_array().size(), 0U) << listed.text;
    const answer late = co_await here.post(handle, R"({"lease": 60})");
    EXPECT_EQ(late.json.at("accepted"), false);
    co_await here.stop();
}

// The answer is lost: the same request id gets the same task, as long as it runs.
WEIR_TEST(SingleClaim, ARepeatedRequestGetsTheSameTask) {
    site here;
    here.start();
    co_await here.post("/claim", R"({"kind": "thumb", "wait": 0})");
    const std::string first = co_await here.submit(R"({"kind": "thumb"})");
    const std::string second = co_await here.submit(R"({"kind": "thumb"})");
    const std::string body = R"({"kind": "thumb", "wait": 1, "request_id": "job 7"})";
    answer got;
    for (int i = 0; i < 3; ++i) {
        got = co_await here.post("/claim", body);
        EXPECT_EQ(got["id"], first) << i;
    }
    const answer other =
        co_await here.post("/claim", R"({"kind": "thumb", "wait": 1, "request_id": "job 8"})");
    EXPECT_EQ(other["id"], second);
    co_await here.post("/handles/" + got["handle"], R"({"outcome": "completed"})");
    const answer over = co_await here.post("/claim", body);
    EXPECT_EQ(over.code, 204U) << over.text;
    co_await here.stop();
}

// The client has given up the first request, and the service does not know yet.
WEIR_TEST(SingleClaim, ARequestThatIsRepeatedWhileItWaitsKeepsItsTask) {
    site here;
    co_await here.learn();
    here.start();
    co_await here.post("/workers", R"({"kinds": ["thumb"]})");
    const std::string body = R"({"kind": "thumb", "wait": 5, "request_id": "job 7"})";
    const auto first = weir::spawn(here.post("/claim", body));
    co_await weir::sleep(1s);
    const auto second = weir::spawn(here.post("/claim", body));
    co_await weir::sleep(1s);
    const std::string id = co_await here.submit(R"({"kind": "thumb"})");
    const answer given_up = co_await first;
    EXPECT_EQ(given_up.code, 204U) << given_up.text;
    const answer claimed = co_await second;
    WEIR_ASSERT_EQ(claimed.code, 200U) << claimed.text;
    EXPECT_EQ(claimed["id"], id);
    co_await weir::sleep(10s);
    const answer verdict =
        co_await here.post("/handles/" + claimed["handle"], R"({"outcome": "completed"})");
    EXPECT_EQ(verdict["accepted"], "true") << verdict.text;
    // One that got none leaves nothing behind for long.
    const answer none =
        co_await here.post("/claim", R"({"kind": "thumb", "wait": 1, "request_id": "job 8"})");
    EXPECT_EQ(none.code, 204U);
    co_await weir::sleep(15s);
    const answer listed = co_await here.get("/workers");
    for (const bj::value& each : listed.json.at("workers").as_array()) {
        EXPECT_NE(each.at("sdk"), "claim") << listed.text;
    }
    co_await here.stop();
}

WEIR_TEST(SingleClaim, AnEndedLeaseAndACancelAreTold) {
    site here;
    here.start();
    co_await here.post("/claim", R"({"kind": "thumb", "wait": 0})");
    const std::string id = co_await here.submit(R"({"kind": "thumb"})");
    const answer got = co_await here.post("/claim", R"({"kind": "thumb", "lease": 5})");
    co_await here.post("/tasks/" + id + "/cancel");
    const std::string handle = "/handles/" + got["handle"];
    const answer news = co_await here.post(handle, R"({"lease": 5})");
    EXPECT_EQ(news.text, R"({"accepted":true,"cancel":true})");
    const answer cancelled = co_await here.post(handle, R"({"outcome": "cancelled"})");
    EXPECT_EQ(cancelled.json.at("accepted"), true);
    const answer task = co_await here.get("/tasks/" + id);
    EXPECT_EQ(task["state"], "cancelled");
    const std::string other = co_await here.submit(R"({"kind": "thumb"})");
    const answer lost = co_await here.post("/claim", R"({"kind": "thumb", "lease": 5})");
    co_await weir::sleep(60s);
    const answer late =
        co_await here.post("/handles/" + lost["handle"], R"({"outcome": "completed"})");
    EXPECT_EQ(late.json.at("accepted"), false) << late.text;
    const answer again = co_await here.get("/tasks/" + other);
    EXPECT_EQ(again["state"], "pending");
    EXPECT_EQ(again["crashes"], "1");
    co_await here.stop();
}

// `curl -d` sends a form. Sessions have libraries, which say what they send.
WEIR_TEST(SingleClaim, TakesJsonOfAnyContentType) {
    site here;
    here.start();
    co_await here.post("/claim", R"({"kind": "thumb", "wait": 0})");
    for (const std::string type : {"application/x-www-form-urlencoded", "text/plain", ""}) {
        const std::string id = co_await here.submit(R"({"kind": "thumb"})");
        const fields headers{{"Content-Type", type}};
        const answer got = co_await here.post("/claim", R"({"kind": "thumb"})", headers);
        EXPECT_EQ(got.code, 200U) << got.text;
        EXPECT_EQ(got["id"], id);
        const answer done =
            co_await here.post("/handles/" + got["handle"], R"({"outcome": "completed"})", headers);
        EXPECT_EQ(done.text, R"({"accepted":true})");
        const answer other = co_await here.post("/workers", R"({"kinds": ["thumb"]})", headers);
        EXPECT_EQ(other.code, 415U) << other.text;
    }
    co_await here.stop();
}

WEIR_TEST(SingleClaim, RefusesWhatIsWrong) {
    site here;
    co_await here.learn();
    here.start();
    const std::pair<const char*, const char*> claims[] = {
        {"{}", "kind"},
        {R"({"kind": ""})", "kind"},
        {R"({"kind": "echo"})", "has a handler"},
        {R"({"kind": "a", "lease": 0})", "lease"},
        {R"({"kind": "a", "lease": 86401})", "lease"},
        {R"({"kind": "a", "wait": -1})", "wait"},
        {R"({"kind": "a", "queue": ""})", "queue"},
        {R"({"kind": "a", "request_id": ""})", "request_id"},
        {R"({"kind": "a", "free": 2})", "is unknown"},
    };
    for (const auto& [body, expected] : claims) {
        const answer refused = co_await here.post("/claim", body);
        EXPECT_EQ(refused.code, 422U) << body;
        EXPECT_NE(refused.text.find(expected), std::string::npos) << body << refused.text;
    }
    const std::string session(32, 'a');
    const std::vector<std::string> wrong = {"x",
                                            session,
                                            session + "-0000000000001",
                                            session + "-0000000000001-",
                                            session + "-0000000000001-1x",
                                            session + "-zzz-1",
                                            "-0000000000001-1"};
    for (const std::string& each : wrong) {
        const answer unknown =
            co_await here.post("/handles/" + each, R"({"outcome": "completed"})");
        EXPECT_EQ(unknown.code, 404U) << each << unknown.text;
    }
    const std::string handle = "/handles/" + session + "-0000000000001-1";
    const answer invented = co_await here.post(handle, R"({"outcome": "completed"})");
    EXPECT_EQ(invented.json.at("accepted"), false) << invented.text;
    for (const char* body : {"{}", R"({"lease": 0})", R"({"outcome": "?"})", R"({"result": 1})"}) {
        const answer refused = co_await here.post(handle, body);
        EXPECT_EQ(refused.code, 422U) << body;
    }
    co_await here.stop();
}
