// SPDX-License-Identifier: MIT
// A secret of a payload reaches its handler, and nothing that a client or the log can see.

#include "served.hpp"

#include <array>

namespace {

using namespace api_test;
using namespace std::chrono_literals;
using weir::testing::simulated_network;

constexpr const char* value = "hunter2-and-more";
constexpr const char* secret_body =
    R"("secret": ["password", "list.key"], "payload": {"user": "ada", "password": "hunter2-and-more",)"
    R"( "list": [{"key": 987654}, {"key": "hunter2-and-more"}]})";

std::string body_of(std::string_view kind, std::string_view more = "") {
    return R"({"kind": ")" + std::string(kind) + "\", " + std::string(more) + secret_body + "}";
}

bool shows(const std::string& text) {
    return text.find("hunter2") != std::string::npos || text.find("987654") != std::string::npos;
}

std::vector<std::string> log_lines;

}  // namespace

WEIR_TEST(ServiceSecrets, ReachTheHandlerAndNothingThatIsShown) {
    log_lines.clear();
    service_options settings;
    settings.log = [](log_level, std::string_view line) { log_lines.emplace_back(line); };
    simulated_network net({.link = {.latency = 5ms}});
    memory_store store;
    site here(settings);
    std::vector<std::string> received;
    const auto keep = [&received](job& job) {
        received.push_back(http::member<std::string>(job.payload(), "password"));
    };
    here.tasks.handle("leak", [&](job& job) -> weir::task<bj::value> {
        keep(job);
        job.progress(0.5, std::string("logging in with ") + value);
        co_await weir::sleep(5s);
        if (job.attempt() == 1) {
            throw std::runtime_error("cannot log in with " + std::string(value) + " 987654");
        }
        co_return job.payload();
    });
    here.tasks.handle("postpone", [&](job& job) -> weir::task<bj::value> {
        keep(job);
        throw postponed(std::string("not with ") + value, 1h);
        co_return nullptr;
    });
    here.tasks.handle("die", [&](job& job) -> weir::task<bj::value> {
        keep(job);
        throw permanent_failure(std::string("never with ") + value);
        co_return nullptr;
    });
    co_await here.learn();
    here.start();
    std::vector<std::string> seen;
    std::vector<std::string> ids;
    for (const char* kind : {"echo", "leak", "postpone", "die"}) {
        const answer made = co_await here.post("/tasks", body_of(kind));
        WEIR_ASSERT_EQ(made.code, 202U);
        ids.push_back(made["id"]);
    }
    const answer planned =
        co_await here.ask(http::method::put, "/schedules/nightly",
                          R"({"cron": "* * * * *", "task": )" + body_of("die") + "}");
    WEIR_ASSERT_EQ(planned.code, 200U);
    seen.push_back(planned.text);
    for (int second = 0; second < 120; ++second) {
        co_await weir::sleep(1s);
        for (const std::string& id : ids) {
            for (const std::string path : {"", "/why"}) {
                const answer shown = co_await here.get("/tasks/" + id + path);
                seen.push_back(shown.text);
            }
        }
        if (second % 10 == 0) {
            for (const char* path : {"/tasks", "/schedules", "/schedules/nightly", "/stats",
                                     "/metrics", "/queues", "/stats/history"}) {
                const answer shown = co_await here.get(path);
                EXPECT_EQ(shown.code, 200U) << path;
                seen.push_back(shown.text);
            }
        }
    }
    for (const std::string& each : seen) {
        EXPECT_FALSE(shows(each)) << each;
    }
    for (const std::string& each : log_lines) {
        EXPECT_FALSE(shows(each)) << each;
    }
    EXPECT_FALSE(log_lines.empty());
    EXPECT_GE(received.size(), 4U);
    for (const std::string& each : received) {
        EXPECT_EQ(each, value);
    }
    const answer echoed = co_await here.get("/tasks/" + ids[0]);
    const std::string masked =
        R"({"user":"ada","password":"***","list":[{"key":"***"},{"key":"***"}]})";
    EXPECT_EQ(bj::serialize(echoed.json.at("payload")), masked);
    EXPECT_EQ(bj::serialize(echoed.json.at("result")), masked);
    EXPECT_EQ(echoed.json.at("secret"), bj::value({"password", "list.key"}));
    const answer leaked = co_await here.get("/tasks/" + ids[1]);
    EXPECT_EQ(leaked["state"], "completed");
    EXPECT_EQ(leaked["message"], "logging in with ***");
    EXPECT_EQ(leaked.json.at("attempts").at(0).at("error"), "cannot log in with *** ***");
    const answer held = co_await here.get("/tasks/" + ids[2]);
    EXPECT_EQ(held["held_by"], "not with ***");
    const answer died = co_await here.get("/tasks/" + ids[3]);
    EXPECT_EQ(died["error"], "never with ***");
    co_await here.stop();
}

WEIR_TEST(ServiceSecrets, DoNotShowInTheFeed) {
    simulated_network net({.link = {.latency = 5ms}});
    served server(net);
    server.here.tasks.handle("report", [](job& job) -> weir::task<bj::value> {
        for (int i = 1; i < 5; ++i) {
            job.progress(i / 5.0, std::string("step with ") + value);
            co_await weir::sleep(1s);
        }
        co_return nullptr;
    });
    std::size_t messages = 0;
    auto listen = [&](ws::connection& peer) -> weir::task<> {
        const bj::value begun = co_await next(peer, "subscribed");
        const answer made = co_await server.here.post("/tasks", body_of("report"));
        EXPECT_EQ(made.code, 202U);
        for (;;) {
            const bj::value message = co_await next(peer, "tasks");
            EXPECT_FALSE(shows(bj::serialize(message))) << bj::serialize(message);
            for (const bj::value& each : message.at("tasks").as_array()) {
                messages += each.at("message") == "step with ***" ? 1 : 0;
                if (each.at("state") == "completed") {
                    co_return;
                }
            }
        }
    };
    co_await server.visit("/events?topic=all", listen);
    EXPECT_GT(messages, 0U);
    co_await server.stop();
}

WEIR_TEST(ServiceSecrets, CountForIdempotencyKeys) {
    site here;
    const std::string key = R"("idempotency_key": "k", )";
    const answer first = co_await here.post("/tasks", body_of("echo", key));
    const answer again = co_await here.post("/tasks", body_of("echo", key));
    EXPECT_EQ(first.code, 202U);
    EXPECT_EQ(again.code, 200U);
    std::string other = body_of("echo", key);
    other.replace(other.find("hunter2"), 7, "hunter3");
    const answer conflict = co_await here.post("/tasks", other);
    EXPECT_EQ(conflict.code, 409U);
    EXPECT_FALSE(shows(conflict.text)) << conflict.text;
}

WEIR_TEST(ServiceSecrets, MustBeInThePayload) {
    site here;
    co_await here.learn();
    for (const char* list : {R"(["passwrd"])", R"(["user.name"])", R"([""])", R"("password")",
                             R"([1])", R"({"a": 1})"}) {
        const answer refused = co_await here.post(
            "/tasks", R"({"kind": "echo", "payload": {"user": "hunter2"}, "secret": )" +
                          std::string(list) + "}");
        EXPECT_EQ(refused.code, 422U) << list;
        EXPECT_EQ(refused["member"], "secret") << refused.text;
        EXPECT_FALSE(shows(refused.text)) << refused.text;
    }
}
