// SPDX-License-Identifier: MIT
// Many requests at a time whose bodies nobody reads, seen from the server: limits on connections
// hold, and nothing waits for a connection that will never be free.

#include "tiny_server.hpp"
#include <support/io.hpp>

#include <weir/gather.hpp>
#include <weir/http/client.hpp>
#include <weir/testing/assertions.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::http::client;
using weir::http::client_options;
using weir::http::client_response;
using weir_test::pattern;
using weir_test::seen_request;
using weir_test::tiny_server;
using socket = weir::io::socket;

constexpr std::size_t small_body = 50'000;
constexpr std::size_t large_body = 8'000'000;  // more than the client and both sockets buffer

// GET /<size>: a body of that size.
weir::task<bool> answer_sized(seen_request& seen, socket& peer) {
    static const std::string content = pattern(large_body);
    const std::size_t size = std::stoul(seen.target().substr(1));
    co_await weir::sleep(2ms);
    co_await peer.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n");
    co_await peer.write(std::string_view(content).substr(0, size));
    co_return true;
}

std::string target_of(std::size_t size) {
    return "/" + std::to_string(size);
}

std::vector<weir::task<client_response>> requests(client& fetcher, const tiny_server& server,
                                                  std::size_t size, int count) {
    std::vector<weir::task<client_response>> all;
    for (int i = 0; i < count; ++i) {
        all.push_back(fetcher.get(server.url(target_of(size))));
    }
    return all;
}

weir::task<> all_closed(const tiny_server& server) {
    while (server.open() > 0) {
        co_await weir::sleep(1ms);
    }
}

// The limit per host holds though the total limit would allow more.
WEIR_IO_TEST(ClientUnread, EachHostHasItsOwnLimit) {
    tiny_server first(&answer_sized);
    tiny_server second(&answer_sized);
    client fetcher({.max_connections = 100, .max_per_host = 3});
    const auto one = [&](const tiny_server& server) -> weir::task<> {
        client_response answer = co_await fetcher.get(server.url(target_of(10)));
        const std::string text = co_await answer.text();
        EXPECT_EQ(text, pattern(10));
    };
    std::vector<weir::task<>> work;
    for (int i = 0; i < 40; ++i) {
        work.push_back(one(i % 2 == 0 ? first : second));
    }
    co_await weir::gather(std::move(work));
    EXPECT_EQ(first.most_open(), 3);
    EXPECT_EQ(second.most_open(), 3);
    EXPECT_EQ(first.connections() + second.connections(), 6) << "connections are used again";
    EXPECT_EQ(first.requests() + second.requests(), 40);
    EXPECT_LE(fetcher.stats().open, 6U);
    co_await first.stop();
    co_await second.stop();
}

// Bodies that the client can buffer free their connections without being read.
WEIR_IO_TEST(ClientUnread, SmallBodiesHoldNoConnection) {
    tiny_server server(&answer_sized);
    client fetcher;
    std::vector<client_response> answers =
        co_await weir::gather(requests(fetcher, server, small_body, 50));
    EXPECT_EQ(server.requests(), 50);
    EXPECT_EQ(server.most_open(), 8);
    EXPECT_EQ(server.connections(), 8);
    const std::string expected = pattern(small_body);
    for (client_response& each : answers) {
        const std::string text = co_await each.text();
        EXPECT_TRUE(text == expected);
    }
    EXPECT_EQ(fetcher.stats().active, 0U);
    co_await server.stop();
}

// Dropped responses close their connections at once: the server sees that, and the next go on.
WEIR_IO_TEST(ClientUnread, DroppedResponsesFreeTheirConnections) {
    tiny_server server(&answer_sized);
    client fetcher;
    const auto only_status = [&]() -> weir::task<> {
        client_response answer = co_await fetcher.get(server.url(target_of(large_body)));
        EXPECT_EQ(answer.status(), weir::http::status::ok);
        EXPECT_LE(fetcher.stats().open, 8U);
    };
    std::vector<weir::task<>> work;
    for (int i = 0; i < 50; ++i) {
        work.push_back(only_status());
    }
    co_await weir::gather(std::move(work));
    EXPECT_EQ(server.requests(), 50);
    EXPECT_LE(server.most_open(), 24) << "the server sees an end later than the client";
    EXPECT_EQ(fetcher.stats().active, 0U);
    EXPECT_EQ(fetcher.stats().open, 0U);
    co_await all_closed(server);
    co_await server.stop();
}

// Responses that are kept and not read hold their connections. Requests that wait for these say so
// after the stall timeout, instead of waiting for the timeout of the whole request.
WEIR_IO_TEST(ClientUnread, KeptResponsesAreNamedAsTheReason) {
    tiny_server server(&answer_sized);
    for (const bool by_total : {false, true}) {
        client_options options{.stall_timeout = 500ms};
        options.max_connections = by_total ? 4 : 100;
        client fetcher(options);
        try {
            std::vector<client_response> answers =
                co_await weir::gather(requests(fetcher, server, large_body, 50));
            ADD_FAILURE() << "more responses than connections";
        } catch (const weir::http::request_timed_out& error) {
            EXPECT_EQ(error.which(), weir::http::request_timed_out::limit::stall);
            EXPECT_EQ(std::string(error.what()),
                      "GET " + server.url(target_of(large_body)) +
                          ": timed out while waiting for a connection: all " +
                          (by_total ? "4 connections" : "8 connections to the host") +
                          " have responses that are not read; read, discard or destroy them");
        }
        EXPECT_LE(server.most_open(), 8);
        EXPECT_EQ(fetcher.stats().active, 0U);
        co_await all_closed(server);
        client_response after = co_await fetcher.get(server.url(target_of(10)));
        const std::string text = co_await after.text();
        EXPECT_EQ(text, pattern(10));
    }
    co_await server.stop();
}

// A response that is read slowly is read: a request waits for its connection.
WEIR_IO_TEST(ClientUnread, SlowReadersAreWaitedFor) {
    tiny_server server(&answer_sized);
    client fetcher({.max_per_host = 1, .stall_timeout = 300ms});
    std::optional<client_response> slow(co_await fetcher.get(server.url(target_of(large_body))));
    weir::handle<void> waiting = weir::spawn([&]() -> weir::task<> {
        client_response answer = co_await fetcher.get(server.url(target_of(10)));
        EXPECT_EQ(answer.status(), weir::http::status::ok);
    });
    std::string piece(100, '\0');
    for (int i = 0; i < 45; ++i) {
        co_await weir::sleep(20ms);
        const std::size_t count = co_await slow->read(piece);
        WEIR_ASSERT_EQ(count, piece.size());
    }
    EXPECT_FALSE(waiting.done());
    slow.reset();
    co_await waiting;
    co_await server.stop();
}

}  // namespace
