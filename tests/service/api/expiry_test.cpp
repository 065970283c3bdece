// SPDX-License-Identifier: MIT
// Tasks that expire, as clients of the API see them.

#include "worker_client.hpp"

namespace {

using namespace api_test;
using namespace std::chrono_literals;

}  // namespace

// Failure 24: a task that nobody polls waits without a word.
WEIR_TEST(ApiExpiry, PeerFailure24_ATaskThatNobodyPollsEndsInTime) {
    site here;
    co_await here.learn();
    here.start();
    co_await here.post("/claim",
                       R"({"kind": "thumb", "wait": 0})");  // the kind is known from now on
    const std::string id = co_await here.submit(R"({"kind": "thumb", "expires_in": 60})");
    const answer before = co_await here.get("/tasks/" + id);
    EXPECT_EQ(before["expires_at"], "2026-01-01T00:01:00.000000Z");
    co_await weir::sleep(59s);
    const answer waiting = co_await here.get("/tasks/" + id);
    EXPECT_EQ(waiting["state"], "pending");
    const timed ended = co_await in_time(here.get("/tasks/" + id + "?wait=20"));
    EXPECT_LE(ended.took, 2s);
    EXPECT_EQ(ended.reply["state"], "cancelled");
    EXPECT_EQ(ended.reply["error"], "expired: not started by 2026-01-01T00:01:00.000000Z");
    const answer retried = co_await here.post("/tasks/" + id + "/retry");
    EXPECT_EQ(retried.code, 200U);
    const answer again = co_await here.get("/tasks/" + id);
    EXPECT_EQ(again["state"], "pending");
    EXPECT_EQ(again["expires_at"], "null");
    co_await here.stop();
}

WEIR_TEST(ApiExpiry, NoWorkerGetsAnExpiredTask) {
    site here;
    co_await here.learn();
    here.start();
    worker one(here);
    co_await one.begin(R"({"name": "w", "kinds": ["resize", "thumb"]})");
    co_await weir::sleep(10ms);  // looks come in between
    for (const std::string kind : {"resize", "thumb"}) {
        co_await here.submit(R"({"kind": ")" + kind + R"(", "expires_in": 0.5})");
    }
    co_await weir::sleep(500ms);
    const answer polled = co_await one.poll();
    EXPECT_EQ(polled.code, 204U) << polled.text;
    const answer claimed = co_await here.post("/claim", R"({"kind": "thumb", "wait": 0})");
    EXPECT_EQ(claimed.code, 204U) << claimed.text;
    const std::string id =
        co_await here.submit(R"({"kind": "thumb", "expires_at": "2026-01-01T00:00:02Z"})");
    const answer next = co_await here.post("/claim", R"({"kind": "thumb", "wait": 0})");
    EXPECT_EQ(next["id"], id);
    co_await here.stop();
}

WEIR_TEST(ApiExpiry, InvalidTimesAreRefused) {
    site here;
    co_await here.learn();
    const std::tuple<std::string, std::string, std::string> wrong[] = {
        {R"("expires_at": "tomorrow")", "expires_at", "must be a time as in"},
        {R"("expires_at": 7)", "expires_at", "must be a string"},
        {R"("expires_in": -1)", "expires_in", "0"},
        {R"("expires_in": 1, "expires_at": "2099-01-01T00:00:00Z")", "expires_in",
         "left out if 'expires_at' is given"},
        {R"("delay": 60, "expires_in": 60)", "expires_at",
         "expires_at is '2026-01-01T00:01:00.000000Z'; it must be after run_at, "
         "2026-01-01T00:01:00.000000Z"},
        {R"("run_at": "2099-01-02T00:00:00Z", "expires_at": "2099-01-01T00:00:00Z")", "expires_at",
         "it must be after run_at, 2099-01-02T00:00:00.000000Z"},
    };
    for (const auto& [members, member, detail] : wrong) {
        const answer refused = co_await here.post("/tasks", R"({"kind": "echo", )" + members + "}");
        EXPECT_EQ(refused.code, 422U) << members << refused.text;
        EXPECT_EQ(refused["member"], member) << refused.text;
        EXPECT_NE(refused.detail().find(detail), std::string::npos) << refused.text;
    }
    const answer plan =
        co_await here.ask(http::method::put, "/schedules/nightly",
                          R"({"cron": "@daily", "task": {"kind": "echo", "expires_in": 600}})");
    EXPECT_EQ(plan.code, 422U) << plan.text;
    EXPECT_NE(plan.detail().find("without expires_at and expires_in"), std::string::npos)
        << plan.text;
    const answer none =
        co_await here.post("/tasks", R"({"kind": "echo", "expires_at": null, "expires_in": null})");
    EXPECT_EQ(none.code, 202U) << none.text;
    const answer kept = co_await here.get("/tasks/" + none["id"]);
    EXPECT_EQ(kept["expires_at"], "null");
    // The answer of a submit was lost, and it is repeated after the task has expired.
    const std::string late = R"({"kind": "echo", "idempotency_key": "k", "expires_in": 0})";
    const std::string first = co_await here.submit(late);
    const answer second = co_await here.post("/tasks", late);
    EXPECT_EQ(second.code, 200U) << second.text;
    EXPECT_EQ(second["id"], first);
}

WEIR_TEST(ApiExpiry, TheTimeIsChanged) {
    site here;
    co_await here.learn();
    const std::string id = co_await here.submit(R"({"kind": "echo", "delay": 60})");
    const auto edit = [&](std::string body) {
        return here.ask(http::method::patch, "/tasks/" + id, std::move(body));
    };
    answer changed = co_await edit(R"({"expires_in": 90})");
    EXPECT_EQ(changed["expires_at"], "2026-01-01T00:01:30.000000Z");
    changed = co_await edit(R"({"priority": 1})");
    EXPECT_EQ(changed["expires_at"], "2026-01-01T00:01:30.000000Z");
    const answer refused = co_await edit(R"({"delay": 100})");
    EXPECT_EQ(refused.code, 422U);
    EXPECT_EQ(refused["member"], "expires_at");
    changed = co_await edit(R"({"expires_at": "2027-01-01T00:00:00Z", "delay": 100})");
    EXPECT_EQ(changed["expires_at"], "2027-01-01T00:00:00.000000Z");
    changed = co_await edit(R"({"expires_at": null})");
    EXPECT_EQ(changed.code, 200U) << changed.text;
    EXPECT_EQ(changed["expires_at"], "null");
}
