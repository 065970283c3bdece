// SPDX-License-Identifier: MIT
// The protocol of workers: sessions, polls, heartbeats, results and steps, and input that is wrong.

#include "worker_client.hpp"

namespace {

using namespace api_test;
using namespace std::chrono_literals;

}  // namespace

WEIR_TEST(ServiceWorkers, TakeRunAndSettleTasks) {
    site here;
    co_await here.learn();
    here.start();
    worker one(here);
    co_await one.begin();
    const std::string id = co_await here.submit(
        R"({"kind": "resize", "payload": {"path": "a.png", "n": 1.50}, "tags": ["t"], "timeout": 90})");
    const answer polled = co_await one.poll();
    EXPECT_EQ(polled.code, 200U) << polled.text;
    const bj::value& task = polled.json.at("tasks").as_array().at(0);
    EXPECT_EQ(task.at("id").as_string(), id);
    EXPECT_EQ(task.at("kind").as_string(), "resize");
    EXPECT_NE(polled.text.find(R"("payload":{"path": "a.png", "n": 1.50})"), std::string::npos)
        << "byte by byte: " << polled.text;
    EXPECT_EQ(task.at("attempt").as_int64(), 1);
    EXPECT_NEAR(task.at("seconds_left").to_number<double>(), 90, 0.1);
    const answer running = co_await here.get("/tasks/" + id);
    EXPECT_EQ(running["state"], "running");
    EXPECT_EQ(running["node"], one.id);
    const answer settled = co_await one.report(polled, completed);
    EXPECT_EQ(settled.code, 200U) << settled.text;
    EXPECT_EQ(settled.text, R"([{"accepted":true}])");
    const answer done = co_await here.get("/tasks/" + id);
    EXPECT_EQ(done["state"], "completed");
    EXPECT_NE(done.text.find(R"("result":{"w": 100})"), std::string::npos) << done.text;
    const answer again = co_await one.report(polled, completed);
    EXPECT_EQ(again.text, R"([{"accepted":true}])") << "the first answer may be lost";
    const answer otherwise = co_await one.report(polled, R"("outcome": "failed", "error": "no")");
    EXPECT_FALSE(is_accepted(otherwise));
    EXPECT_EQ(here.tasks.stats().completed, 1U);
    co_await here.stop();
}

WEIR_TEST(ServiceWorkers, GetATaskTheMomentItIsSubmitted) {
    site here;
    here.start();
    worker one(here);
    co_await one.begin();
    for (int i = 0; i < 20; ++i) {
        const auto waiting = weir::spawn(in_time(one.poll(1, 25)));
        co_await weir::sleep(1s + 7ms * i);
        co_await here.submit(R"({"kind": "resize"})");
        const timed got = co_await waiting;
        EXPECT_EQ(got.reply.code, 200U);
        EXPECT_LT(got.took, 1s + 7ms * i + 2ms);
        co_await one.report(got.reply, completed);
        co_await one.beat();
    }
    const timed none = co_await in_time(one.poll(1, 25));
    EXPECT_EQ(none.reply.code, 204U);
    EXPECT_EQ(none.took, 25s);
    co_await one.beat();
    const timed longer = co_await in_time(one.poll(1, 3000));
    EXPECT_EQ(longer.took, 25s) << "proxies cut longer ones";
    co_await here.stop();
}

WEIR_TEST(ServiceWorkers, OutcomesFollowTheRulesOfHandlers) {
    site here;
    here.start();
    worker one(here);
    co_await one.begin();
    struct expectation {
        const char* outcome;
        const char* status;
        int failures;
        const char* error;
    };
    const expectation all[] = {
        {R"("outcome": "completed")", "completed", 0, "null"},
        {R"("outcome": "failed", "error": "it broke")", "retrying", 1, "it broke"},
        {R"("outcome": "failed")", "retrying", 1, "the worker gave no reason"},
        {R"("outcome": "failed", "error": "never", "permanent": true)", "failed", 1, "never"},
        {R"("outcome": "failed", "error": "later", "retry_after": 500)", "retrying", 1, "later"},
        {R"("outcome": "postponed", "reason": "busy", "by": 60)", "scheduled", 0, "null"},
        {R"("outcome": "cancelled")", "pending", 0, "null"},  // nobody has cancelled it
        {R"("outcome": "released")", "pending", 0, "null"},
    };
    for (const expectation& each : all) {
        const std::string id = co_await here.submit(R"({"kind": "resize"})");
        const answer polled = co_await one.poll();
        EXPECT_EQ(polled.code, 200U);
        const answer verdict = co_await one.report(polled, each.outcome);
        EXPECT_TRUE(is_accepted(verdict)) << each.outcome << verdict.text;
        const answer task = co_await here.get("/tasks/" + id);
        EXPECT_EQ(task["status"], each.status) << each.outcome;
        EXPECT_EQ(task["failures"], std::to_string(each.failures)) << each.outcome;
        EXPECT_EQ(task["error"], each.error) << each.outcome;
        co_await here.post("/tasks/" + id + "/cancel");
    }
    co_await here.stop();
}

// Failure 24: a task that nobody polls waits without a word.
WEIR_TEST(ServiceWorkers, PeerFailure24_ATaskWithoutAWorkerSaysSo) {
    std::string log;
    const auto note = [&](log_level, std::string_view line) { log += std::string(line) + "\n"; };
    service_options settings;
    settings.remote_kinds = {"img/*", "thumb"};
    settings.log = note;
    site here(settings);
    here.start();
    const answer refused = co_await here.post("/tasks", R"({"kind": "resize"})");
    EXPECT_EQ(refused.code, 422U);
    EXPECT_NE(refused.detail().find("remote-kinds"), std::string::npos) << refused.text;
    EXPECT_EQ(refused["member"], "kind");
    const std::string id = co_await here.submit(R"({"kind": "img/small"})");
    const std::string alone = co_await why(here, id);
    EXPECT_EQ(alone, "no_worker");
    co_await weir::sleep(20s);
    EXPECT_NE(log.find("no worker takes tasks of the kind 'img/small': 1 wait"), std::string::npos)
        << log;
    const auto has_metric = [&](const std::string& line) -> weir::task<bool> {
        const answer metrics = co_await here.get("/metrics");
        co_return ("\n" + metrics.text).find("\n" + line + "\n") != std::string::npos;
    };
    EXPECT_TRUE(co_await has_metric(R"(weir_worker_tasks_due{kind="img/small"} 1)"));
    EXPECT_TRUE(co_await has_metric(R"(weir_worker_takers{kind="img/small"} 0)"));
    EXPECT_TRUE(co_await has_metric(R"(weir_workers{state="ok"} 0)"));
    worker one(here);
    co_await one.begin(R"({"kinds": ["img/small"]})");
    EXPECT_TRUE(co_await has_metric(R"(weir_worker_tasks_due{kind="img/small"} 1)"));
    EXPECT_TRUE(co_await has_metric(R"(weir_worker_takers{kind="img/small"} 1)"));
    EXPECT_TRUE(co_await has_metric(R"(weir_workers{state="ok"} 1)"));
    const answer polled = co_await one.poll();
    EXPECT_EQ(polled.code, 200U);
    EXPECT_TRUE(co_await has_metric(R"(weir_worker_tasks_due{kind="img/small"} 0)"));
    EXPECT_TRUE(co_await has_metric(R"(weir_worker_tasks_running{kind="img/small"} 1)"));
    co_await here.stop();
}

// Failure 6: a worker sends heartbeats and polls no more, and nobody says so.
WEIR_TEST(ServiceWorkers, PeerFailure06_AWorkerThatListensNoMoreIsShownAsStuck) {
    site here;
    here.start();
    worker one(here);
    co_await one.begin();
    const std::string id = co_await here.submit(R"({"kind": "resize"})");
    for (int i = 0; i < 8; ++i) {
        const answer listed = co_await here.get("/workers");
        EXPECT_EQ(listed.json.at("workers").at(0).at("state").as_string(), i <= 5 ? "ok" : "stuck")
            << listed.text;
        co_await weir::sleep(10s);
        const answer beat = co_await one.beat("", 5, 10.0 * (i + 1));
        EXPECT_EQ(beat.code, 200U);
    }
    const std::string waits = co_await why(here, id);
    EXPECT_EQ(waits, "worker_stuck");
    const answer metrics = co_await here.get("/metrics");
    EXPECT_NE(metrics.text.find(R"(weir_workers{state="stuck"} 1)"), std::string::npos);
    // It is no harm to others, and well again with its next poll.
    const answer polled = co_await one.poll();
    EXPECT_EQ(polled.code, 200U);
    co_await one.beat(worker::run_of(polled), 0);
    const answer listed = co_await here.get("/workers");
    EXPECT_EQ(listed.json.at("workers").at(0).at("state").as_string(), "ok") << listed.text;
    co_await here.stop();
}

// Failures 15 and 17: the answer of a poll is lost; the repeated poll has its tasks.
WEIR_TEST(ServiceWorkers, PeerFailure15_ALostAnswerIsRepeated) {
    site here;
    co_await here.learn();
    here.start();
    worker one(here);
    co_await one.begin();
    const std::string first = co_await here.submit(R"({"kind": "resize", "payload": [1]})");
    const std::string second = co_await here.submit(R"({"kind": "resize"})");
    const answer lost = co_await one.poll(1);
    for (int i = 0; i < 3; ++i) {
        const answer again = co_await one.repeat(1);
        EXPECT_EQ(again.code, 200U);
        EXPECT_EQ(again.json.at("tasks").at(0).at("id").as_string(), first);
        EXPECT_EQ(again.json.at("tasks").as_array().size(), 1U);
    }
    const answer next = co_await one.poll(5);
    EXPECT_EQ(next.json.at("tasks").at(0).at("id").as_string(), second);
    one.number = 1;
    const answer old = co_await one.repeat(5, 25);
    EXPECT_EQ(old.code, 409U) << old.text;
    co_await here.stop();
}

// What was claimed and never arrived is given back by the second heartbeat without it.
WEIR_TEST(ServiceWorkers, PeerFailure15_AnUnknownRunIsGivenBack) {
    site here;
    here.start();
    worker one(here);
    co_await one.begin();
    const std::string id = co_await here.submit(R"({"kind": "resize"})");
    const answer lost = co_await one.poll();
    EXPECT_EQ(lost.code, 200U);
    co_await weir::sleep(1s);
    co_await one.beat();
    const answer still = co_await here.get("/tasks/" + id);
    EXPECT_EQ(still["state"], "running") << "it may be on its way";
    co_await weir::sleep(10s);
    co_await one.beat();
    const answer back = co_await here.get("/tasks/" + id);
    EXPECT_EQ(back["state"], "pending");
    EXPECT_EQ(back["failures"], "0");
    EXPECT_EQ(back["crashes"], "0");
    const answer late = co_await one.report(lost, completed);
    EXPECT_FALSE(is_accepted(late)) << late.text;
    co_await here.stop();
}

// Failure 16: a client that has gone takes no task.
WEIR_TEST(ServiceWorkers, PeerFailure16_AClientThatHasGoneTakesNothing) {
    site here;
    here.start();
    worker one(here);
    co_await one.begin();
    auto waiting = weir::spawn(one.poll(1, 25));
    co_await weir::sleep(1s);
    waiting.cancel();  // as the server does when the client disconnects
    (void)co_await weir::settle(waiting.wait());
    const std::string id = co_await here.submit(R"({"kind": "resize"})");
    co_await weir::sleep(100ms);
    const answer task = co_await here.get("/tasks/" + id);
    EXPECT_EQ(task["state"], "pending");
    co_await here.stop();
}

WEIR_TEST(ServiceWorkers, ALaterPollEndsTheOneBefore) {
    site here;
    here.start();
    worker one(here);
    co_await one.begin();
    const auto first = weir::spawn(in_time(one.poll(1, 25)));
    co_await weir::sleep(1s);
    const auto second = weir::spawn(in_time(one.poll(1, 25)));
    const timed ended = co_await first;
    EXPECT_EQ(ended.reply.code, 204U);
    EXPECT_EQ(ended.took, 1s);
    co_await weir::sleep(1s);
    const auto same = weir::spawn(in_time(one.repeat(1, 25)));
    const timed also = co_await second;
    EXPECT_EQ(also.reply.code, 204U);
    co_await here.submit(R"({"kind": "resize"})");
    const timed got = co_await same;
    EXPECT_EQ(got.reply.code, 200U);
    co_await here.stop();
}

// A cancelled task ends the open poll, and the heartbeat that follows names it.
WEIR_TEST(ServiceWorkers, ACancelArrivesAtOnce) {
    site here;
    here.start();
    worker one(here);
    co_await one.begin();
    const std::string id = co_await here.submit(R"({"kind": "resize"})");
    const answer polled = co_await one.poll(1);
    const auto waiting = weir::spawn(in_time(one.poll(1, 25)));
    co_await weir::sleep(5s);
    co_await here.post("/tasks/" + id + "/cancel");
    const timed ended = co_await waiting;
    EXPECT_EQ(ended.reply.code, 204U);
    EXPECT_LT(ended.took, 5s + 5ms);
    const answer news = co_await one.beat(worker::run_of(polled));
    EXPECT_EQ(news.json.at("cancel").at(0).at("id").as_string(), id) << news.text;
    const answer verdict = co_await one.report(polled, R"("outcome": "cancelled")");
    EXPECT_TRUE(is_accepted(verdict));
    const answer task = co_await here.get("/tasks/" + id);
    EXPECT_EQ(task["state"], "cancelled");
    // Between two polls, the next one ends.
    const std::string other = co_await here.submit(R"({"kind": "resize"})");
    const answer held = co_await one.poll(1);
    EXPECT_EQ(held.code, 200U);
    co_await here.post("/tasks/" + other + "/cancel");
    const timed next = co_await in_time(one.poll(1, 25));
    EXPECT_EQ(next.reply.code, 204U);
    EXPECT_EQ(next.took, 0s);
    const timed after = co_await in_time(one.poll(1, 25));
    EXPECT_EQ(after.took, 25s) << "told once";
    co_await here.stop();
}

// Failure 5: a worker whose lease has ended is told, and its tasks run elsewhere.
WEIR_TEST(ServiceWorkers, PeerFailure05_AnEndedLeaseIsTold) {
    site here;
    here.start();
    worker one(here);
    co_await one.begin();
    const std::string id = co_await here.submit(R"({"kind": "resize"})");
    const answer polled = co_await one.poll(1);
    co_await weir::sleep(40s);
    const answer beat = co_await one.beat(worker::run_of(polled));
    EXPECT_EQ(beat.code, 410U) << beat.text;
    const answer poll = co_await one.poll(1, 25);
    EXPECT_EQ(poll.code, 410U) << poll.text;
    const answer late = co_await one.report(polled, completed);
    EXPECT_FALSE(is_accepted(late));
    worker other(here);
    co_await other.begin();
    const answer again = co_await other.poll(1);
    EXPECT_EQ(again.json.at("tasks").at(0).at("id").as_string(), id);
    const answer task = co_await here.get("/tasks/" + id);
    EXPECT_EQ(task["crashes"], "1");
    co_await here.stop();
}

// Failure 20: heartbeats go on while a worker drains, and no heartbeat undoes it.
WEIR_TEST(ServiceWorkers, PeerFailure20_ADrainKeepsTheLeaseAndLasts) {
    site here;
    co_await here.learn();
    here.start();
    worker one(here);
    co_await one.begin();
    const std::string id = co_await here.submit(R"({"kind": "resize", "timeout": 600})");
    const answer polled = co_await one.poll(1);
    const auto waiting = weir::spawn(in_time(one.poll(1, 25)));
    co_await weir::sleep(1s);
    const answer drained = co_await one.call("drain", "");
    EXPECT_EQ(drained.code, 204U);
    const timed ended = co_await waiting;
    EXPECT_EQ(ended.reply.code, 204U);
    EXPECT_EQ(ended.took, 1s);
    co_await here.submit(R"({"kind": "resize"})");
    for (int i = 0; i < 9; ++i) {
        co_await weir::sleep(10s);
        const answer news = co_await one.beat(worker::run_of(polled));
        EXPECT_EQ(news["state"], "drain") << news.text;
    }
    const timed nothing = co_await in_time(one.poll(1, 2));
    EXPECT_EQ(nothing.reply.code, 204U);
    EXPECT_EQ(nothing.took, 2s) << "no loop of polls";
    const answer verdict = co_await one.report(polled, completed);
    EXPECT_TRUE(is_accepted(verdict));
    const answer removed = co_await here.ask(http::method::delete_, "/workers/" + one.id, "");
    EXPECT_EQ(removed.code, 204U);
    const answer gone = co_await one.beat();
    EXPECT_EQ(gone.code, 410U);
    co_await here.stop();
}

// The service keeps the timeout of a task also if its worker does not.
WEIR_TEST(ServiceWorkers, ARunThatTakesTooLongIsEnded) {
    site here;
    here.start();
    worker one(here);
    co_await one.begin();
    const std::string id =
        co_await here.submit(R"({"kind": "resize", "timeout": 30, "max_attempts": 1})");
    const answer polled = co_await one.poll(1);
    for (int i = 0; i < 4; ++i) {
        co_await weir::sleep(10s);
        co_await one.beat(worker::run_of(polled));
    }
    const answer task = co_await here.get("/tasks/" + id);
    EXPECT_EQ(task["state"], "failed");
    EXPECT_EQ(task["error"], "the run took longer than its timeout");
    const answer news = co_await one.beat(worker::run_of(polled));
    EXPECT_EQ(news.json.at("lost").at(0).at("id").as_string(), id) << news.text;
    co_await here.stop();
}

WEIR_TEST(ServiceWorkers, SecretsAndLongResultsAreKeptOut) {
    service_options settings;
    settings.max_result_bytes = 100;
    site here(settings);
    here.start();
    worker one(here);
    co_await one.begin();
    const std::string id = co_await here.submit(
        R"({"kind": "resize", "payload": {"password": "hunter2000"}, "secret": ["password"]})");
    answer polled = co_await one.poll(1);
    EXPECT_NE(polled.text.find("hunter2000"), std::string::npos) << "the worker needs it";
    std::string run = worker::run_of(polled);
    run.insert(run.size() - 1, R"(, "progress": 0.5, "message": "with hunter2000")");
    co_await one.beat(run);
    answer task = co_await here.get("/tasks/" + id);
    EXPECT_EQ(task["message"], "with ***");
    EXPECT_EQ(task["progress"], "5E-1");
    co_await one.report(polled, R"("outcome": "completed", "result": ["hunter2000"])");
    task = co_await here.get("/tasks/" + id);
    EXPECT_EQ(task.text.find("hunter2000"), std::string::npos) << task.text;
    const std::string longer = co_await here.submit(R"({"kind": "resize"})");
    polled = co_await one.poll(1);
    co_await one.report(polled,
                        R"("outcome": "completed", "result": ")" + std::string(200, 'x') + R"(")");
    task = co_await here.get("/tasks/" + longer);
    EXPECT_EQ(task["status"], "retrying");
    EXPECT_NE(task["error"].find("the limit is 100"), std::string::npos) << task.text;
    const std::string deep = co_await here.submit(R"({"kind": "resize"})");
    polled = co_await one.poll(1);
    const answer verdict =
        co_await one.report(polled, R"("outcome": "completed", "result": )" + std::string(80, '[') +
                                        std::string(80, ']'));
    EXPECT_TRUE(is_accepted(verdict)) << verdict.text;
    task = co_await here.get("/tasks/" + deep);
    EXPECT_NE(task["error"].find("64 levels deep"), std::string::npos) << task.text;
    co_await here.stop();
}

// A worker sees what its task came after, and a running member adds tasks to its sealed group.
WEIR_TEST(ServiceWorkers, TasksOfAWorkflowNameTheirGroupAndWhatCameBefore) {
    site here;
    co_await here.learn();
    here.start();
    worker one(here);
    co_await one.begin();
    const answer made = co_await here.post(
        "/tasks/batch", R"({"tasks":[{"name":"a","kind":"fail","max_attempts":1},)"
                        R"({"kind":"resize","after":[{"task":"a","on_failure":"run"}]}],)"
                        R"("group":{"callback":{"kind":"echo"}}})");
    WEIR_ASSERT_EQ(made.code, 200U);
    const auto group = std::string(made.json.at("group").at("id").as_string());
    const answer polled = co_await one.poll(1, 25);
    WEIR_ASSERT_EQ(polled.code, 200U);
    const bj::value task = polled.json.at("tasks").at(0);
    EXPECT_EQ(task.at("group").as_string(), group);
    WEIR_ASSERT_EQ(task.at("after").as_array().size(), 1U);
    const bj::value& parent = task.at("after").at(0);
    EXPECT_EQ(parent.at("task"), made.json.at("results").at(0).at("id"));
    EXPECT_EQ(parent.at("on_failure").as_string(), "run");
    EXPECT_EQ(parent.at("outcome").as_string(), "failed");
    const answer repeated = co_await one.repeat(1);
    EXPECT_EQ(repeated.json.at("tasks").at(0).at("after"), task.at("after"));
    const std::string path = "/groups/" + group + "/tasks";
    const answer refused = co_await here.post(path, R"({"tasks":[{"kind":"resize"}]})");
    EXPECT_EQ(refused.code, 409U) << refused.text;
    const std::string more =
        R"({"tasks":[{"kind":"resize"}],"from":)" + worker::run_of(polled) + "}";
    const answer added = co_await here.post(path, more);
    EXPECT_EQ(added.code, 201U) << added.text;
    co_await one.report(polled, completed);
    const answer late = co_await here.post(path, more);
    EXPECT_EQ(late.code, 409U) << "the run has ended: " << late.text;
    const answer claimed = co_await here.post("/claim", R"({"kind": "resize"})");
    EXPECT_EQ(claimed["group"], group);
    EXPECT_EQ(claimed["after"], "[]");
    co_await here.post("/handles/" + claimed["handle"], R"({"outcome": "completed"})");
    const answer ended = co_await here.get("/groups/" + group);
    EXPECT_EQ(ended["state"], "failed");
    EXPECT_EQ(ended["total"], "3");
    const std::string alone = co_await here.submit(R"({"kind": "resize"})");
    const answer plain = co_await one.poll(1);
    EXPECT_TRUE(plain.json.at("tasks").at(0).at("group").is_null()) << plain.text;
    co_await here.stop();
}

WEIR_TEST(ServiceWorkers, StepsAreKeptForLaterRuns) {
    site here;
    co_await here.learn();
    here.start();
    worker one(here);
    co_await one.begin();
    const std::string id = co_await here.submit(R"({"kind": "resize", "backoff": 0})");
    const answer polled = co_await one.poll(1);
    std::string run = worker::run_of(polled);
    run.back() = ',';
    const answer kept =
        co_await one.call("steps", run + R"("name": "charge", "result": {"a": 1}})");
    EXPECT_EQ(kept.text, R"({"result":{"a": 1}})");
    const answer known = co_await one.call("steps", run + R"("name": "charge", "result": 2})");
    EXPECT_EQ(known.text, R"({"result":{"a": 1}})");
    const answer large = co_await one.call(
        "steps", run + R"("name": "large", "result": ")" + std::string(70'000, 'x') + R"("})");
    EXPECT_EQ(large.code, 422U);
    co_await one.report(polled, R"("outcome": "failed", "error": "again")");
    const answer lost = co_await one.call("steps", run + R"("name": "late", "result": 2})");
    EXPECT_EQ(lost.code, 409U) << lost.text;
    const answer next = co_await one.poll(1, 25);
    EXPECT_NE(next.text.find(R"("steps":[{"name":"charge","result":{"a": 1}}])"), std::string::npos)
        << next.text;
    co_await here.stop();
}
