// SPDX-License-Identifier: MIT
// Thousands of requests through a proxy that cuts, resets and delays, many of them cancelled at
// some moment: each request gets only its own response, and nothing is left behind.

#include "tiny_server.hpp"
#include <support/io.hpp>

#include <weir/group.hpp>
#include <weir/http/client.hpp>
#include <weir/io/error.hpp>
#include <weir/testing/assertions.hpp>
#include <weir/testing/io/fault_proxy.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>

namespace {

using namespace std::chrono_literals;
using weir::http::client;
using weir::http::client_request;
using weir::http::client_response;
using weir::http::method;
using weir_test::seen_request;
using weir_test::tiny_server;
using socket = weir::io::socket;

// A body that says which request it belongs to, in every part of it.
std::string tagged(const std::string& tag, std::size_t size) {
    std::string text;
    while (text.size() < size) {
        text += tag + ';';
    }
    return text;
}

// GET /tag/size/how: that body; with a length, in chunks, or until the connection ends.
weir::task<bool> answer_tagged(seen_request& seen, socket& peer) {
    const std::string target = seen.target();
    const std::size_t second = target.find('/', 1);
    const std::string tag = target.substr(1, second - 1);
    const std::size_t size = std::stoul(target.substr(second + 1));
    const char mode = target.back();
    if (!seen.body.empty() &&
        seen.body != tagged(tag, seen.body.size()).substr(0, seen.body.size())) {
        co_await peer.write("HTTP/1.1 500 Wrong body\r\nContent-Length: 0\r\n\r\n");
        co_return true;
    }
    const std::string body = tagged(tag, size);
    if (mode == 'l') {
        co_await peer.write(weir_test::ok_answer(body));
        co_return true;
    }
    if (mode == 'e') {
        co_await peer.write("HTTP/1.1 200 OK\r\nX-Tag: " + tag + "\r\nConnection: close\r\n\r\n");
        co_await peer.write(body);
        co_return false;
    }
    co_await peer.write("HTTP/1.1 200 OK\r\nX-Tag: " + tag +
                        "\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (std::size_t at = 0; at < body.size(); at += 5000) {
        const std::string piece = body.substr(at, 5000);
        char head[16];
        std::snprintf(head, sizeof head, "%zx\r\n", piece.size());
        co_await peer.write(head + piece + "\r\n");
    }
    co_await peer.write("0\r\n\r\n");
    co_return true;
}

struct tally {
    int good = 0;
    int failed = 0;
    int wrong = 0;
    int late = 0;
};

weir::task<> one_request(client& fetcher, std::string base, int number, std::size_t size, char mode,
                         bool posts, tally& counts) {
    const std::string tag = "t" + std::to_string(number);
    try {
        client_request request(posts ? method::post : method::get,
                               base + "/" + tag + "/" + std::to_string(size) + mode);
        if (posts && number % 2 == 0) {
            request.set_body(tagged(tag, size / 2));
        } else if (posts) {
            auto write = [tag, size](weir::http::body_writer& out) -> weir::task<> {
                co_await out.write(tagged(tag, size / 4));
                co_await weir::yield();
                co_await out.write(tagged(tag, size / 4));
            };
            request.set_body(
                weir::http::body::stream(std::move(write), 2 * tagged(tag, size / 4).size()));
        }
        client_response answer = co_await fetcher.send(std::move(request));
        std::string text = co_await answer.text();
        const bool is_complete = mode != 'e' || text.size() >= size;
        if (answer.status() == weir::http::status::ok && is_complete) {
            ++(text == tagged(tag, size) ? counts.good : counts.wrong);
        } else {
            // Only a body that ends with the connection can be cut without being noticed.
            ++(answer.status() == weir::http::status::ok && tagged(tag, size).starts_with(text)
                   ? counts.failed
                   : counts.wrong);
        }
    } catch (const weir::http::error&) {
        ++counts.failed;
    } catch (const weir::timed_out& error) {
        ++counts.late;
        ADD_FAILURE() << error.what();
    }
}

WEIR_IO_TEST(ClientFaults, NothingIsMixedUpOrLeftBehind) {
    tiny_server server(&answer_tagged);
    std::mt19937 random(20261115);
    tally counts;
    int cancelled = 0;
    {
        weir::testing::fault_proxy proxy(server.address(), {.resets = 0.02, .refusals = 0.05}, 7);
        const std::string base = "http://127.0.0.1:" + std::to_string(proxy.address().port());
        client fetcher({.max_connections = 12, .max_per_host = 12, .timeout = 5s});
        int number = 0;
        for (int round = 0; round < 14; ++round) {
            proxy.set({.jitter = round % 3 == 0 ? 1ms : 0ms,
                       .drip = round % 5 == 4 ? std::size_t{3000} : 0,
                       .reset_after = round % 4 == 3 ? std::uint64_t{150'000} : 0,
                       .resets = 0.02,
                       .refusals = 0.05});
            auto batch = [&](weir::task_group& group) -> weir::task<> {
                std::vector<weir::handle<void>> running;
                for (int i = 0; i < 50; ++i) {
                    const std::size_t size = random() % 4 == 0 ? random() % 60'000 : random() % 300;
                    running.push_back(
                        group.spawn(one_request(fetcher, base, number++, size + 1,
                                                "lce"[random() % 3], random() % 3 == 0, counts)));
                }
                for (weir::handle<void>& each : running) {
                    if (random() % 3 == 0) {
                        co_await weir::sleep(std::chrono::microseconds(random() % 800));
                        cancelled += each.done() ? 0 : 1;
                        each.cancel();
                    }
                }
            };
            co_await weir::with_group(batch);
            EXPECT_EQ(fetcher.stats().active, 0U);
            EXPECT_LE(fetcher.stats().open, 12U);
            if (round % 7 == 6) {
                proxy.reset_all();
            }
        }
        EXPECT_EQ(counts.late, 0);
        EXPECT_EQ(counts.wrong, 0);
        EXPECT_GT(counts.good, 300);
        EXPECT_GT(counts.failed, 0);
        EXPECT_GT(cancelled, 20);
        proxy.set({});
        client_response after = co_await fetcher.get(base + "/after/10l");
        const std::string text = co_await after.text();
        EXPECT_EQ(text, tagged("after", 10));
        co_await proxy.close();
    }
    co_await server.stop();
}

// The request is stopped after each number of turns of the loop, that is at each of its awaits.
WEIR_IO_TEST(ClientFaults, StoppedAtEveryAwait) {
    tiny_server server(&answer_tagged);
    const std::string port = std::to_string(server.address().port());
    client fetcher({.max_connections = 2});
    tally counts;
    int completed = 0;
    for (int turns = 0; completed < 4; ++turns) {
        WEIR_ASSERT_LT(turns, 1'000'000);
        completed = 0;
        for (const char mode : {'l', 'c'}) {
            for (const bool posts : {false, true}) {
                weir::handle<void> asking =
                    weir::spawn(one_request(fetcher, "http://localhost:" + port, turns * 2 + 1,
                                            50'000, mode, posts, counts));
                for (int i = 0; i < turns && !asking.done(); ++i) {
                    co_await weir::yield();
                }
                completed += asking.done() ? 1 : 0;
                asking.cancel();
                co_await asking.wait();
                EXPECT_EQ(fetcher.stats().active, 0U);
            }
        }
        turns += turns / 4;
    }
    EXPECT_EQ(counts.wrong, 0);
    EXPECT_EQ(counts.failed, 0);
    EXPECT_GE(counts.good, 4);
    co_await server.stop();
}

// Idle connections end with the loop, also those of a client that lives longer than it.
TEST(ClientFaults, AClientMayOutliveItsLoop) {
    client fetcher;
    for (int i = 0; i < 3; ++i) {
        const std::ptrdiff_t before = weir_test::open_descriptors();
        std::optional<client_response> kept;
        auto body = [&]() -> weir::task<> {
            tiny_server server(&answer_tagged);
            client_response response = co_await fetcher.get(server.url("/a/10l"));
            const std::string text = co_await response.text();
            EXPECT_EQ(text, tagged("a", 10));
            client_response part =
                co_await fetcher.get(server.url("/" + std::string(1000, 'b') + "/8000000l"));
            kept.emplace(std::move(part));
            co_await server.stop();
        };
        weir::run(body());
        EXPECT_EQ(fetcher.stats().active, 0U);
        EXPECT_EQ(fetcher.stats().open, 0U);
        kept.reset();
        weir_test::expect_descriptors(before);
    }
    EXPECT_THROW(weir::run(
                     [&]() -> weir::task<> {
                         client_response none = co_await fetcher.get("http://127.0.0.1:1/");
                     }(),
                     {.driver = weir::driver_kind::simulated}),
                 weir::loop_error);
}

}  // namespace
