// SPDX-License-Identifier: MIT
// What `weir serve` logs: tasks that have failed, and requests if it is asked to; and long polls,
// whose end the log of requests shows.

#include "commands.hpp"

#include <weir/handle.hpp>
#include <weir/http/client.hpp>
#include <weir/http/json.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <regex>

namespace weir_test {
namespace {

using namespace std::chrono_literals;
namespace http = weir::http;

weir::task<std::string> get(std::string url) {
    http::client client;
    http::client_response found = co_await client.get(url);
    const std::string text = co_await found.text();
    co_return text;
}

TEST(ServeLog, HasALineForEachFailedTask) {
    serving here;
    const std::string id = submit(
        here, {"echo", R"({"fail": "a\nb\u001b[31m"})", "--attempts", "1", "--queue", "mail"});
    const std::string line =
        "task " + id + " has failed: kind 'echo', queue 'mail', 1 attempt: a b [31m\n";
    here.wait_until([&] { return has(here.err(), line); });
    EXPECT_TRUE(has(here.err(), "warning")) << here.err();
    EXPECT_FALSE(has(here.err(), "request ")) << "only by option";
    EXPECT_EQ(here.end(), 0);
}

TEST(ServeLog, HasALineForEachRequestIfAsked) {
    serving here({"--access-log"});
    weir::run(get(here.url + "/tasks?tag=secret&limit=5&state"));
    weir::run(get(here.url + "/nowhere"));
    here.wait_until([&] { return has(here.err(), "/nowhere 404"); });
    const std::regex list(
        R"(info request 127\.0\.0\.1 GET /tasks\?tag=&limit=&state 422 \d+ \d+\.\d{3} ms -\n)");
    EXPECT_TRUE(std::regex_search(here.err(), list)) << here.err();
    EXPECT_FALSE(has(here.err(), "secret")) << here.err();
    EXPECT_EQ(here.end(), 0);
}

TEST(ServeLog, TheLogOfRequestsCanBeSetInTheFileAndIsJsonThere) {
    const temporary_folder folder;
    const std::string config =
        folder.write("weir.toml", "[serve]\naccess-log = true\nlog-format = \"json\"\n");
    serving here({"--config", config});
    weir::run(get(here.url + "/healthz"));
    here.wait_until([&] { return has(here.err(), "GET /healthz 200 "); });
    EXPECT_TRUE(has(here.err(), R"("message":"request 127.0.0.1 GET /healthz 200 )")) << here.err();
    const program_output shown = call({"serve", "--check", "--config", config, "--listen",
                                       "127.0.0.1:0", "--database", (folder / "x.db").string()});
    EXPECT_TRUE(has(shown.out, "access-log")) << shown.out;
    const program_output wrong = call({"serve", "--check"}, {"WEIR_ACCESS_LOG=maybe"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_TRUE(has(wrong.err, "WEIR_ACCESS_LOG is 'maybe'; it must be true or false"))
        << wrong.err;
}

// The handler of a client that has left is stopped: its request has no status.
TEST(LongPollOfTheProgram, EndsWithItsClient) {
    serving here({"--access-log", "--drain", "0.1"});
    const std::string id = submit(here, {"sleep", "1000"});
    auto leave = [&]() -> weir::task<> {
        const auto waiting = weir::spawn(get(here.url + "/tasks/" + id + "?wait=60"));
        co_await weir::sleep(500ms);
        waiting.cancel();
        co_await waiting.wait();
    };
    weir::run(in_time(leave()));
    here.wait_until([&] { return has(here.err(), "GET /tasks/" + id + "?wait= - - "); });
    EXPECT_EQ(here.end(), 0);
}

TEST(LongPollOfTheProgram, IsAnsweredByADrain) {
    serving here({"--drain", "5"});
    const std::string id = submit(here, {"sleep", "1000"});
    std::string text;
    auto wait = [&]() -> weir::task<> {
        const auto waiting = weir::spawn(get(here.url + "/tasks/" + id + "?wait=60"));
        co_await weir::sleep(500ms);
        const weir::clock::time_point begun = weir::now();
        here.signal(SIGTERM);
        text = co_await waiting;
        EXPECT_LT(weir::now() - begun, 4s);
    };
    weir::run(in_time(wait()));
    EXPECT_EQ(http::member<std::string>(http::parse_json(text), "state"), "running") << text;
    EXPECT_EQ(here.wait(), 0);
}

}  // namespace
}  // namespace weir_test
