// SPDX-License-Identifier: MIT
// /schedules/{name}/run, pause and resume; overlap, intervals and seconds.

#include "support.hpp"

namespace {

using namespace api_test;
using namespace std::chrono_literals;
using weir::testing::advance;

weir::task<answer> put(site& at, std::string name, std::string body) {
    answer reply = co_await at.ask(http::method::put, "/schedules/" + name, std::move(body));
    EXPECT_EQ(reply.code, 200U) << reply.text;
    co_return reply;
}

std::size_t submitted(const site& at) {
    return at.tasks.stats().submitted;
}

WEIR_TEST(ApiSchedules, RunsTheTaskNow) {
    site at;
    co_await at.learn();
    at.start();
    const answer before = co_await put(
        at, "s", R"({"cron":"@yearly","is_paused":true,"task":{"kind":"echo","payload":7}})");
    EXPECT_EQ(before["last_task_state"], "null");
    EXPECT_EQ(before["next_slots"], "[]");
    const answer made = co_await at.post("/schedules/s/run");
    EXPECT_EQ(made.code, 202U);
    EXPECT_EQ(made.headers.get("Location"), "/tasks/" + made["id"]);
    co_await advance(1s);
    const answer task = co_await at.get("/tasks/" + made["id"]);
    EXPECT_EQ(task["state"], "completed");
    EXPECT_EQ(task["result"], "7");
    const answer after = co_await at.get("/schedules/s");
    EXPECT_EQ(after["last_task"], made["id"]);
    EXPECT_EQ(after["last_task_state"], "completed");
    EXPECT_EQ(after["last_slot"], "null");
    EXPECT_EQ(after["next_slot"], before["next_slot"]);
    EXPECT_EQ(submitted(at), 1U);
    const answer unknown = co_await at.post("/schedules/other/run");
    EXPECT_EQ(unknown.code, 404U);
    co_await at.stop();
}

WEIR_TEST(ApiSchedules, SaysWhenARunWouldOverlap) {
    site at;
    co_await at.learn();
    const answer plan =
        co_await put(at, "s", R"({"cron":"@yearly","overlap":"skip","task":{"kind":"echo"}})");
    EXPECT_EQ(plan["overlap"], "skip");
    const answer made = co_await at.post("/schedules/s/run");
    EXPECT_EQ(made.code, 202U);
    const answer refused = co_await at.post("/schedules/s/run");
    EXPECT_EQ(refused.code, 409U);
    EXPECT_EQ(refused["id"], made["id"]);
    co_await at.ask(http::method::patch, "/queues/default", R"({"max_pending":1})");
    co_await put(at, "s", R"({"cron":"@yearly","overlap":"queue","task":{"kind":"echo"}})");
    const answer full = co_await at.post("/schedules/s/run");
    EXPECT_EQ(full.code, 429U);
    for (const char* const bad : {R"("sometimes")", "7"}) {
        const answer invalid = co_await at.ask(
            http::method::put, "/schedules/s",
            std::string(R"({"cron":"@yearly","task":{"kind":"echo"},"overlap":)") + bad + "}");
        EXPECT_EQ(invalid.code, 422U);
        EXPECT_EQ(invalid["member"], "overlap");
    }
}

WEIR_TEST(ApiSchedules, PausesAndResumes) {
    site at;
    co_await at.learn();
    at.start();
    co_await put(at, "s", R"({"cron":"@every 10s","task":{"kind":"echo"}})");
    const answer paused = co_await at.post("/schedules/s/pause");
    EXPECT_EQ(paused["is_paused"], "true");
    co_await advance(35s);
    EXPECT_EQ(submitted(at), 0U);
    const answer resumed = co_await at.post("/schedules/s/resume");
    EXPECT_EQ(resumed["is_paused"], "false");
    EXPECT_EQ(resumed.json.at("next_slots").as_array().size(), 3U);
    EXPECT_EQ(resumed.json.at("next_slots").at(0), resumed.json.at("next_slot"));
    co_await advance(20s);
    EXPECT_EQ(submitted(at), 2U) << "slots within the pause are skipped";
    for (const char* const action : {"pause", "resume"}) {
        const answer unknown = co_await at.post(std::string("/schedules/other/") + action);
        EXPECT_EQ(unknown.code, 404U);
    }
    co_await at.stop();
}

WEIR_TEST(ApiSchedules, FiresBySecondsAndIntervals) {
    site at;
    co_await at.learn();
    at.start();
    co_await put(at, "a", R"({"cron":"*/20 * * * * *","task":{"kind":"echo"}})");
    co_await advance(60s);
    EXPECT_EQ(submitted(at), 3U);
    co_await at.ask(http::method::delete_, "/schedules/a", "");
    co_await put(at, "b", R"({"cron":"@every 1s","task":{"kind":"echo"}})");
    co_await advance(10s);
    EXPECT_EQ(submitted(at), 13U);
    const answer invalid = co_await at.ask(http::method::put, "/schedules/c",
                                           R"({"cron":"@every 10ms","task":{"kind":"echo"}})");
    EXPECT_EQ(invalid.code, 422U);
    EXPECT_EQ(invalid["member"], "cron");
    co_await at.stop();
}

WEIR_TEST(ApiSchedules, AReplacedTaskIsStoppedAtOnce) {
    service_options options;
    options.lease = 1000s;
    options.heartbeat = 300s;  // which would tell it otherwise
    site at(options);
    co_await at.learn();
    at.start();
    co_await put(at, "s",
                 R"({"cron":"@every 10s","overlap":"replace","task":{"kind":"sleep",)"
                 R"("payload":{"seconds":25}}})");
    co_await advance(21s);
    const answer list = co_await at.get("/tasks");
    WEIR_ASSERT_EQ(list.json.at("tasks").as_array().size(), 2U);
    EXPECT_EQ(list.json.at("tasks").at(0).at("state").as_string(), "running");
    EXPECT_EQ(list.json.at("tasks").at(1).at("state").as_string(), "cancelled");
    const answer now = co_await at.post("/schedules/s/run");
    EXPECT_EQ(now.code, 202U);
    co_await advance(1s);
    const answer replaced =
        co_await at.get("/tasks/" + std::string(list.json.at("tasks").at(0).at("id").as_string()));
    EXPECT_EQ(replaced["state"], "cancelled");
    co_await at.stop();
}

WEIR_TEST(ApiSchedules, ASkippedSlotLeavesTheTaskAlone) {
    site at;
    co_await at.learn();
    at.start();
    co_await put(at, "s",
                 R"({"cron":"@every 10s","overlap":"skip","task":{"kind":"sleep",)"
                 R"("payload":{"seconds":25}}})");
    co_await advance(65s);  // slots at 10, 40: the first ends at 35, the second runs
    EXPECT_EQ(submitted(at), 2U);
    EXPECT_EQ(at.tasks.stats().cancelled, 0U);
    co_await at.stop();
}

}  // namespace
