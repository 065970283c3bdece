// SPDX-License-Identifier: MIT
// The API besides tasks: queues, schedules, statistics, an unavailable store, and random requests.

#include "support.hpp"

#include <weir/flow/prometheus.hpp>
#include <weir/http/link.hpp>

#include <algorithm>
#include <random>
#include <set>

namespace {

using namespace api_test;
using namespace std::chrono_literals;
using http::method;

constexpr std::array<std::string_view, 1> tokens = {"0123456789abcdef"};

}  // namespace

WEIR_TEST(ServiceApi, NamesOfQueuesComeToAnEnd) {
    site here;
    co_await here.learn();
    std::string many = "[";
    for (std::size_t i = 0; i < weir::service::default_max_queues; ++i) {
        many += R"({"kind": "echo", "queue": "q)" + std::to_string(i) + "\"},";
    }
    many.back() = ']';
    const answer response = co_await here.post("/tasks/batch", many);
    EXPECT_EQ(response["refused"], "0") << response.text;
    const answer refused = co_await here.post("/tasks", R"({"kind": "echo", "queue": "more"})");
    EXPECT_EQ(refused.code, 429U);
    EXPECT_EQ(refused.headers.get("Retry-After"), "60");
    EXPECT_NE(refused.text.find("max_queues"), std::string::npos) << refused.text;
    const answer in_batch =
        co_await here.post("/tasks/batch", R"([{"kind": "echo", "queue": "more"}])");
    EXPECT_EQ(in_batch.json.at("results").at(0).at("error").at("status"), 429);
    const answer paused = co_await here.post("/queues/more/pause");
    EXPECT_EQ(paused.code, 429U);
    EXPECT_NE(paused.text.find("1000 that max_queues allows"), std::string::npos) << paused.text;
    const answer limited = co_await here.ask(method::patch, "/queues/more", R"({"rate": 1})");
    EXPECT_EQ(limited.code, 429U);
    const answer known = co_await here.post("/tasks", R"({"kind": "echo", "queue": "q7"})");
    EXPECT_EQ(known.code, 202U);
}

WEIR_TEST(ServiceApi, QueuesHaveLimitsAndPauses) {
    site here;
    co_await here.learn();
    here.start();
    const answer none = co_await here.get("/queues/mail");
    EXPECT_EQ(none.code, 404U);
    const answer response =
        co_await here.ask(method::patch, "/queues/mail", R"({"max_pending": 2, "rate": 1.5})");
    EXPECT_EQ(response.code, 200U) << response.text;
    EXPECT_EQ(response.json.at("limits").at("max_pending"), 2);
    const answer more =
        co_await here.ask(method::patch, "/queues/mail", R"({"rate": null, "key_burst": 3})");
    EXPECT_EQ(more.json.at("limits").at("max_pending"), 2);
    EXPECT_EQ(more.json.at("limits").at("rate").to_number<double>(), 0);
    const answer paused = co_await here.post("/queues/mail/pause");
    EXPECT_EQ(paused["is_paused"], "true");
    const std::string first = co_await here.submit(R"({"kind": "echo", "queue": "mail"})");
    co_await here.submit(R"({"kind": "echo", "queue": "mail"})");
    const answer full = co_await here.post("/tasks", R"({"kind": "echo", "queue": "mail"})");
    EXPECT_EQ(full.code, 429U);
    EXPECT_EQ(full.headers.get("Retry-After"), "1");
    EXPECT_EQ(full["queue"], "mail");
    const answer in_batch =
        co_await here.post("/tasks/batch", R"([{"kind": "echo", "queue": "mail"}])");
    EXPECT_EQ(in_batch.json.at("results").at(0).at("error").at("status"), 429);
    const answer why = co_await here.get("/tasks/" + first + "/why");
    EXPECT_EQ(why.json.at("reasons").at(0).at("reason"), "paused");
    EXPECT_EQ(why.json.at("reasons").at(0).at("text"), "the queue 'mail' is paused");
    const answer waiting = co_await here.get("/queues/mail");
    EXPECT_EQ(waiting.json.at("counts").at("pending"), 2);
    const answer resumed = co_await here.post("/queues/mail/resume");
    EXPECT_EQ(resumed["is_paused"], "false");
    co_await weir::sleep(1s);
    const answer empty = co_await here.get("/queues/mail");
    EXPECT_EQ(empty.json.at("counts").at("completed"), 2);
    for (const char* bad : {R"({"rate": -1})", R"({"rate": 1e99})", R"({"burst": 0})", "[]",
                            R"({"rates": 1})", R"({"max_running": 1.5})"}) {
        const answer refused = co_await here.ask(method::patch, "/queues/mail", bad);
        EXPECT_EQ(refused.code, 422U) << bad;
    }
    const answer strange = co_await here.post("/queues/caf%C3%A9%20%2F%20bar/pause");
    EXPECT_EQ(strange["name"], "caf\u00e9 / bar");
    co_await here.stop();
}

WEIR_TEST(ServiceApi, SchedulesComeAndGo) {
    site here;
    co_await here.learn();
    here.start();
    const std::string body =
        R"({"cron": "*/5 * * * *", "zone": "Europe/Berlin", "task": {"kind": "echo", "payload": {"a": 1.0}}})";
    const answer response = co_await here.ask(method::put, "/schedules/often", body);
    EXPECT_EQ(response.code, 200U) << response.text;
    EXPECT_EQ(response["name"], "often");
    EXPECT_NE(response.text.find(R"("payload":{"a": 1.0})"), std::string::npos);
    co_await weir::sleep(11min);
    const answer shown = co_await here.get("/schedules/often");
    EXPECT_FALSE(shown.json.at("last_task").is_null()) << shown.text;
    const answer all = co_await here.get("/schedules");
    EXPECT_EQ(all.json.at("schedules").as_array().size(), 1U);
    for (const char* bad :
         {R"({"cron": "* * *", "task": {"kind": "echo"}})", R"({"cron": "* * * * *"})",
          R"({"cron": "* * * * *", "task": {"kind": "nobody"}})",
          R"({"cron": "* * * * *", "zone": "Mars/Olympus", "task": {"kind": "echo"}})",
          R"({"cron": "61 * * * *", "task": {"kind": "echo"}})",
          R"({"cron": "* * * * *", "zone": "../../etc/passwd", "task": {"kind": "echo"}})"}) {
        const answer refused = co_await here.ask(method::put, "/schedules/bad", bad);
        EXPECT_EQ(refused.code, 422U) << bad << refused.text;
    }
    const answer gone = co_await here.ask(method::delete_, "/schedules/often", "");
    EXPECT_EQ(gone.code, 204U);
    const answer again = co_await here.ask(method::delete_, "/schedules/often", "");
    EXPECT_EQ(again.code, 404U);
    const answer nothing = co_await here.get("/schedules/often");
    EXPECT_EQ(nothing.code, 404U);
    co_await here.stop();
}

WEIR_TEST(ServiceApi, AStoreThatIsAwayIsSaid) {
    site here;
    co_await here.learn();
    const answer alive = co_await here.get("/healthz");
    EXPECT_EQ(alive.code, 200U);
    const answer ready = co_await here.get("/readyz");
    EXPECT_EQ(ready.code, 200U);
    EXPECT_EQ(ready["ready"], "true");
    co_await weir::sleep(1s);
    bool is_away = true;
    here.store.on_call(
        [&](store_call) { return is_away ? store_fault::fails : store_fault::none; });
    const std::pair<method, std::string> requests[] = {
        {method::post, "/tasks"},
        {method::get, "/tasks"},
        {method::get, "/tasks/0000000000001"},
        {method::post, "/tasks/0000000000001/cancel"},
        {method::delete_, "/tasks/0000000000001"},
        {method::get, "/queues"},
        {method::post, "/queues/a/pause"},
        {method::get, "/schedules"},
        {method::get, "/stats"}};
    for (const auto& [verb, path] : requests) {
        const answer refused = co_await here.ask(
            verb, path, path == "/tasks" && verb == method::post ? R"({"kind": "echo"})" : "");
        EXPECT_EQ(refused.code, 503U) << path << refused.text;
        EXPECT_EQ(refused.headers.get("Retry-After"), "1") << path;
    }
    const answer unready = co_await here.get("/readyz");
    EXPECT_EQ(unready.code, 503U);
    EXPECT_EQ(unready["ready"], "false");
    EXPECT_FALSE(unready.json.at("reason").is_null());
    const answer metrics = co_await here.get("/metrics");
    EXPECT_EQ(metrics.code, 200U);
    const answer still = co_await here.get("/healthz");
    EXPECT_EQ(still.code, 200U);
    is_away = false;
    co_await weir::sleep(1s);
    const answer back = co_await here.get("/readyz");
    EXPECT_EQ(back.code, 200U);
    const answer taken = co_await here.post("/tasks", R"({"kind": "echo"})");
    EXPECT_EQ(taken.code, 202U);
}

// A store that takes writes but gives no task is not ready: submits would wait for ever.
WEIR_TEST(ServiceApi, AServiceThatCannotClaimIsNotReady) {
    site here;
    co_await here.learn();
    bool is_broken = false;
    here.store.on_call([&](store_call which) {
        return is_broken && which == store_call::claim ? store_fault::fails : store_fault::none;
    });
    here.start();
    co_await weir::sleep(2s);
    const answer ready = co_await here.get("/readyz");
    EXPECT_EQ(ready.code, 200U) << ready.text;
    is_broken = true;
    co_await weir::sleep(5s);
    const answer unready = co_await here.get("/readyz");
    EXPECT_EQ(unready.code, 503U);
    EXPECT_NE(unready.text.find("no task can be claimed"), std::string::npos) << unready.text;
    const answer taken = co_await here.post("/tasks", R"({"kind": "echo"})");
    EXPECT_EQ(taken.code, 202U) << "it is durable all the same";
    is_broken = false;
    co_await weir::sleep(1min);
    const answer back = co_await here.get("/readyz");
    EXPECT_EQ(back.code, 200U) << back.text;
    const answer done = co_await here.get("/tasks/" + taken["id"]);
    EXPECT_EQ(done["state"], "completed");
    co_await here.stop();
}

WEIR_TEST(ServiceApi, NumbersAreThere) {
    site here({},
              {.more_metrics = [](weir::metric_writer& to) { to.gauge("more", "More.", {}, 7); }});
    here.tasks.handle(
        "call",
        [](job& current) -> weir::task<boost::json::value> {
            current.report(destination_outcome::failed);
            throw std::runtime_error("nobody answers");
            co_return nullptr;
        },
        {},
        {.name_of = [](const boost::json::value&) { return std::string("http://a.example"); },
         .limits = {.open_after = 1}});
    co_await here.learn();
    here.start();
    co_await here.submit(R"({"kind": "echo", "queue": "a \"b\""})");
    co_await here.submit(R"({"kind": "call"})");
    co_await weir::sleep(1s);
    const answer stats = co_await here.get("/stats");
    EXPECT_EQ(stats["submitted"], "2");
    EXPECT_EQ(stats["completed"], "1");
    const boost::json::value& host = stats.json.at("hosts").at(0);
    EXPECT_EQ(host.at("host"), "http://a.example");
    EXPECT_EQ(host.at("circuit"), "open");
    EXPECT_EQ(host.at("in_flight"), 0);
    EXPECT_GT(host.at("retry_after").to_number<double>(), 25);
    const answer metrics = co_await here.get("/metrics");
    EXPECT_EQ(metrics.headers.get("Content-Type").substr(0, 25), "text/plain; version=0.0.4");
    EXPECT_NE(metrics.text.find("weir_service_tasks{queue=\"a \\\"b\\\"\",state=\"completed\"} 1"),
              std::string::npos)
        << metrics.text;
    EXPECT_NE(metrics.text.find("weir_service_destination_open{kind=\"call\",destination=\"http://"
                                "a.example\"} 1"),
              std::string::npos)
        << metrics.text;
    EXPECT_NE(metrics.text.find("\nmore 7\n"), std::string::npos);
    co_await here.stop();
    const answer draining = co_await here.get("/readyz");
    EXPECT_EQ(draining.code, here.tasks.stats().is_draining ? 503U : 200U);
}

// Every route requires the token, and none accepts a foreign host name.
WEIR_TEST(ServiceApi, NoRouteIsLeftOpen) {
    constexpr http::asset page[] = {{"index.html", "text/html", "<p>the page", "\"1\""},
                                    {"assets/app.js", "text/javascript", "1", "\"2\""}};
    site guarded({}, {.access = {.tokens = tokens}, .page = page});
    site open({}, {.access = {.tokens = tokens, .open_health = true}});
    site plain;
    co_await plain.learn();
    const fields token{{"Authorization", "Bearer 0123456789abcdef"}};
    const fields foreign{{"Host", "evil.example"}};
    std::size_t operations = 0;
    for (const auto& path : plain.description().at("paths").as_object()) {
        std::string target(path.key());
        for (const char* each : {"{id}", "{name}", "{key}"}) {
            if (const std::size_t at = target.find(each); at != std::string::npos) {
                target.replace(at, std::string_view(each).size(), "0000000000001");
            }
        }
        for (const auto& operation : path.value().as_object()) {
            if (operation.key() == "parameters") {
                continue;
            }
            ++operations;
            const std::string name(operation.key());
            const method verb = name == "get"     ? method::get
                                : name == "post"  ? method::post
                                : name == "put"   ? method::put
                                : name == "patch" ? method::patch
                                                  : method::delete_;
            const answer without = co_await guarded.ask(verb, target, "");
            EXPECT_EQ(without.code, 401U) << name << target;
            const answer within = co_await guarded.ask(verb, target, "", token);
            EXPECT_NE(within.code, 401U) << name << target;
            EXPECT_NE(within.code, 405U) << name << target;
            const answer rebound = co_await plain.ask(verb, target, "", foreign);
            EXPECT_EQ(rebound.code, 403U) << name << target;
            const answer health = co_await open.ask(verb, target, "");
            const bool is_health = target == "/healthz" || target == "/readyz";
            EXPECT_EQ(health.code, is_health ? 200U : 401U) << target;
        }
    }
    EXPECT_EQ(operations, 64U);
    const answer index = co_await guarded.get("/");
    EXPECT_EQ(index.text, "<p>the page");
    EXPECT_NE(index.headers.get("Content-Security-Policy").find("frame-ancestors 'none'"),
              std::string::npos);
    const answer script = co_await guarded.get("/assets/app.js");
    EXPECT_EQ(script.text, "1");
    const answer other = co_await guarded.get("/assets/other.js");
    EXPECT_EQ(other.code, 401U);
    const answer none = co_await plain.get("/");
    EXPECT_NE(none.text.find("apt install esbuild libjs-dygraphs"), std::string::npos);
    const answer wrong = co_await plain.get("/tasks/0000000000001/cancel");
    EXPECT_EQ(wrong.code, 405U);
}

// Anything at any route: an answer of the 200s or 400s, never an error of the service.
WEIR_TEST(ServiceApi, WhateverComesIsAnswered) {
    site here;
    co_await here.learn();
    std::vector<std::pair<method, std::string>> targets;
    for (const auto& path : here.description().at("paths").as_object()) {
        for (const method verb :
             {method::get, method::post, method::put, method::patch, method::delete_}) {
            targets.emplace_back(verb, std::string(path.key()));
        }
    }
    std::mt19937 random(7);
    const auto pick = [&](std::size_t most) {
        return std::uniform_int_distribution<std::size_t>(0, most - 1)(random);
    };
    const std::string names[] = {"0000000000001",
                                 "x",
                                 "%00",
                                 "%ff",
                                 "%",
                                 "..",
                                 "%2e%2e",
                                 "a%20b",
                                 "0",
                                 "7zzzzzzzzzzzz",
                                 "%f0%9f%98%80",
                                 "zzzzzzzzzzzzz"};
    const std::string queries[] = {"",           "?",
                                   "?a",         "?limit=-1",
                                   "?state=%ff", "?cursor=7zzzzzzzzzzzz",
                                   "?&&&",       "?limit=1&limit=2",
                                   "?topic=all", "?from=0000-00-00T00:00:00Z",
                                   "?=%"};
    const std::string bodies[] = {"",
                                  "{}",
                                  "[]",
                                  "null",
                                  "{",
                                  "1e999",
                                  R"({"kind": "echo"})",
                                  R"({"kind": "echo", "delay": 1e308})",
                                  R"({"tasks": [[]]})",
                                  R"({"cron": "", "task": {}})",
                                  R"({"rate": -0.0})",
                                  "\xff",
                                  "[[[[[[",
                                  R"({"kind": "echo", "timeout": 9007199254740993})",
                                  R"({"max_pending": 18446744073709551615})",
                                  R"({"max_running": 4294967296})",
                                  R"({"key_rate": 1e-320})"};
    for (int i = 0; i < 3000; ++i) {
        auto [verb, target] = targets[pick(targets.size())];
        for (const char* each : {"{id}", "{name}", "{key}"}) {
            if (const std::size_t at = target.find(each); at != std::string::npos) {
                target.replace(at, std::string_view(each).size(), names[pick(std::size(names))]);
            }
        }
        target += queries[pick(std::size(queries))];
        const std::string body = bodies[pick(std::size(bodies))];
        const answer response = co_await here.ask(verb, target, body);
        EXPECT_LT(response.code, 500U)
            << http::name_of(verb) << " " << target << " " << body << "\n"
            << response.text;
    }
}
