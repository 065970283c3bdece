// SPDX-License-Identifier: MIT
// A deploy under load: a service gets SIGTERM and another one starts on its file and its port. No
// client sees an error, and nothing that was acknowledged is lost.

#include "support.hpp"

#include <weir/error.hpp>
#include <weir/gather.hpp>
#include <weir/http/client.hpp>
#include <weir/http/json.hpp>
#include <weir/time.hpp>

#include <atomic>
#include <thread>

namespace weir_test {
namespace {

using namespace std::chrono_literals;
namespace http = weir::http;

// What clients have seen.
struct load_result {
    std::vector<std::string> ids;  // acknowledged
    std::vector<std::string> problems;
    std::uint64_t reads = 0;
};

// Submits and reads, one request after the other, until `is_over`.
weir::task<> use(http::client& client, std::string url, bool keeps_connection,
                 const std::atomic<bool>& is_over, load_result& seen) {
    while (!is_over) {
        try {
            http::client_request submit(http::method::post, url + "/tasks");
            submit.set_body(R"({"kind": "sleep", "payload": {"seconds": 0.05}})",
                            "application/json");
            if (!keeps_connection) {
                submit.set_header("Connection", "close");
            }
            http::client_response answer = co_await client.send(std::move(submit));
            const std::string text = co_await answer.text();
            if (answer.status() != http::status::accepted) {
                seen.problems.push_back("submit: " + std::to_string(number_of(answer.status())) +
                                        " " + text);
                continue;
            }
            const std::string id = http::member<std::string>(http::parse_json(text), "id");
            seen.ids.push_back(id);
            http::client_response found = co_await client.get(url + "/tasks/" + id);
            const std::string shown = co_await found.text();
            if (found.status() != http::status::ok) {
                seen.problems.push_back("read: " + shown);
            }
            ++seen.reads;
        } catch (const std::exception& error) {
            seen.problems.push_back(error.what());
        }
        co_await weir::sleep(1ms);
    }
}

weir::task<> use_all(std::string url, const std::atomic<bool>& is_over, load_result& seen) {
    http::client client;
    co_await weir::gather(
        use(client, url, true, is_over, seen), use(client, url, true, is_over, seen),
        use(client, url, false, is_over, seen), use(client, url, false, is_over, seen));
}

weir::task<std::vector<std::string>> missing(std::string url, std::vector<std::string> ids) {
    http::client client;
    std::vector<std::string> lost;
    for (const std::string& id : ids) {
        http::client_response found = co_await client.get(url + "/tasks/" + id);
        const std::string text = co_await found.text();
        if (found.status() != http::status::ok) {
            lost.push_back(id + ": " + text);
        }
    }
    co_return lost;
}

TEST(Deploy, NoRequestIsRefusedOrLost) {
    serving old({"--drain", "5"});
    const std::string address = old.url.substr(7);
    std::atomic<bool> is_over{false};
    load_result seen;
    std::thread load([&] { weir::run(use_all(old.url, is_over, seen)); });
    std::this_thread::sleep_for(300ms);
    const program_output slow = old.ask("submit", {"sleep", R"({"seconds": 1})"});
    EXPECT_EQ(slow.code, 0) << slow.err;
    old.signal(SIGTERM);
    {
        serving next({"--database", old.folder / "tasks.db", "--drain", "0.1"}, {}, address);
        EXPECT_EQ(old.wait(), 0) << old.err();
        std::this_thread::sleep_for(500ms);
        is_over = true;
        load.join();
        EXPECT_EQ(seen.problems, std::vector<std::string>());
        EXPECT_GT(seen.reads, 20U);
        EXPECT_EQ(weir::run(missing(next.url, seen.ids)), std::vector<std::string>());
        EXPECT_TRUE(has(next.err(), "takes over")) << next.err();
        EXPECT_EQ(next.end(), 0) << next.err();
    }
}

// A service without running tasks would be gone before its successor has started. It waits for one
// while clients keep coming.
TEST(Deploy, ASuccessorMayTakeAMomentToStart) {
    serving old({"--drain", "5"});
    const std::string address = old.url.substr(7);
    std::atomic<bool> is_over{false};
    load_result seen;
    std::thread load([&] { weir::run(use_all(old.url, is_over, seen)); });
    std::this_thread::sleep_for(300ms);
    old.signal(SIGTERM);
    std::this_thread::sleep_for(600ms);
    {
        serving next({"--database", old.folder / "tasks.db", "--drain", "0.1"}, {}, address);
        EXPECT_EQ(old.wait(), 0) << old.err();
        is_over = true;
        load.join();
        EXPECT_EQ(seen.problems, std::vector<std::string>());
        EXPECT_TRUE(has(next.err(), "takes over")) << next.err();
        EXPECT_EQ(next.end(), 0) << next.err();
    }
    // Without clients it leaves at once.
    serving idle({"--drain", "5"});
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(idle.end(), 0) << idle.err();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 1500ms);
}

// Without a successor the API answers until the running tasks have ended.
TEST(Deploy, TheApiAnswersWhileTheServiceDrains) {
    serving here({"--drain", "20"});
    const program_output slow = here.ask("submit", {"sleep", R"({"seconds": 2})"});
    ASSERT_EQ(slow.code, 0) << slow.err;
    const std::string id = slow.out.substr(0, slow.out.find('\n'));
    while (!has(here.ask("status", {id}).out, "running")) {
    }
    here.signal(SIGTERM);
    here.wait_until([&] { return has(here.err(), "draining"); });
    const program_output late = here.ask("submit", {"echo", "1"});
    EXPECT_EQ(late.code, 0) << late.err;
    const program_output found = here.ask("status", {id});
    EXPECT_EQ(found.code, 0) << found.err;
    EXPECT_EQ(here.wait(), 0) << here.err();
    // What was submitted meanwhile is there.
    const std::string late_id = late.out.substr(0, late.out.find('\n'));
    serving next({"--database", here.folder / "tasks.db"});
    const program_output done = next.ask("status", {late_id});
    EXPECT_TRUE(has(done.out, "echo")) << done.out;
}

}  // namespace
}  // namespace weir_test
