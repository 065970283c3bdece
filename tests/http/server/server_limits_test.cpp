// SPDX-License-Identifier: MIT
// What a server does about clients that do not behave: too much, too slow, or not HTTP at all.

#include "conversation.hpp"

#include <vector>

namespace {

using namespace std::chrono_literals;
using http_test::answer;
using http_test::conversation;
namespace http = weir::http;

weir::task<http::response> echoes(http::request& incoming) {
    std::string body = co_await incoming.text();
    co_return http::response::text(std::move(body));
}

// Bytes, and the status that they are refused with. After each the connection ends, and the bytes
// that follow are ignored.
struct attack {
    const char* name;
    std::string bytes;
    int status;
};

std::string head_of(std::string_view lines) {
    return "POST / HTTP/1.1\r\nHost: a\r\n" + std::string(lines) + "\r\n";
}

std::vector<attack> attacks() {
    return {
        {"both framings",
         head_of("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n", 400},
        {"both framings, other order",
         head_of("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n") + "0\r\n\r\n", 400},
        {"two lengths", head_of("Content-Length: 3\r\nContent-Length: 4\r\n") + "abcd", 400},
        {"the same length twice", head_of("Content-Length: 3\r\nContent-Length: 3\r\n") + "abc",
         400},
        {"a list of lengths", head_of("Content-Length: 3, 3\r\n") + "abc", 400},
        {"a length with a sign", head_of("Content-Length: +3\r\n") + "abc", 400},
        {"a negative length", head_of("Content-Length: -3\r\n") + "abc", 400},
        {"a length that overflows", head_of("Content-Length: 18446744073709551616\r\n"), 400},
        {"chunked twice", head_of("Transfer-Encoding: chunked, chunked\r\n") + "0\r\n\r\n", 400},
        {"chunked not last", head_of("Transfer-Encoding: chunked, gzip\r\n") + "0\r\n\r\n", 400},
        {"a folded header", head_of("X: a\r\n b\r\nContent-Length: 0\r\n"), 400},
        {"a folded framing header", head_of("Transfer-Encoding:\r\n chunked\r\n") + "0\r\n\r\n",
         400},
        {"a blank before the colon", head_of("Content-Length : 3\r\n") + "abc", 400},
        {"a bare line feed", "GET / HTTP/1.1\nHost: a\n\n", 400},
        {"a bare carriage return", head_of("X: a\rContent-Length: 5\r\n"), 400},
        {"a zero byte", std::string("GET / HTTP/1.1\r\nHost: a\r\nX: a") + '\0' + "b\r\n\r\n", 400},
        {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
        {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        {"no HTTP", "hello there\r\n\r\n", 400},
        {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        {"a body too long", head_of("Content-Length: 1048577\r\n"), 413},
        {"a chunk size with blanks",
         head_of("Transfer-Encoding: chunked\r\n") + "5 \r\nhello\r\n0\r\n\r\n", 400},
        {"a chunk size in C",
         head_of("Transfer-Encoding: chunked\r\n") + "0x5\r\nhello\r\n0\r\n\r\n", 400},
        {"a negative chunk", head_of("Transfer-Encoding: chunked\r\n") + "-1\r\nhello\r\n0\r\n\r\n",
         400},
        {"a chunk size that overflows",
         head_of("Transfer-Encoding: chunked\r\n") + "10000000000000005\r\nhello\r\n0\r\n\r\n",
         400},
        {"a chunk longer than it says",
         head_of("Transfer-Encoding: chunked\r\n") + "3\r\nhello\r\n0\r\n\r\n", 400},
        {"chunks too long in all", head_of("Transfer-Encoding: chunked\r\n") + "100001\r\n", 413},
        {"a header too long", head_of("X: " + std::string(20'000, 'x') + "\r\n"), 431},
        {"too long a target", "GET /" + std::string(20'000, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n",
         414},
    };
}

WEIR_TEST(ServerLimits, ATableOfAttacksIsRefused) {
    for (const attack& each : attacks()) {
        conversation talk(echoes);
        co_await talk.say(each.bytes + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
        const answer got = co_await talk.answers.next();
        EXPECT_EQ(got.status, each.status) << each.name << ": " << got.body;
        EXPECT_EQ(got.headers.get("connection"), "close") << each.name;
        const std::string rest = co_await talk.answers.rest();
        EXPECT_EQ(rest, "") << each.name;
        co_await talk.end();
    }
}

WEIR_TEST(ServerLimits, AMillionHeadersAreNotKept) {
    conversation talk(echoes);
    auto sends = [&]() -> weir::task<> {
        co_await talk.say("GET / HTTP/1.1\r\nHost: a\r\n");
        std::string many;
        for (int i = 0; i < 1000; ++i) {
            many += "X: y\r\n";
        }
        for (int i = 0; i < 1000; ++i) {
            co_await talk.say(many);
        }
    };
    auto sending = weir::spawn(sends());
    const answer got = co_await talk.answers.next();
    EXPECT_EQ(got.status, 431);
    co_await talk.serving.wait();
    sending.cancel();
    (void)co_await weir::settle(sending.wait());
    co_await talk.end();
}

WEIR_TEST(ServerLimits, AnEndlessBodyIsCutOffAtTheLimit) {
    for (const bool is_chunked : {false, true}) {
        std::size_t taken = 0;
        conversation talk(
            [&taken](http::request& incoming) -> weir::task<http::response> {
                incoming.limit_body(100'000);
                char buffer[1000];
                for (;;) {
                    const std::size_t count = co_await incoming.read(buffer);
                    taken += count;
                    if (count == 0) {
                        co_return http::response::text("all of it");
                    }
                }
            },
            {.max_body_bytes = std::uint64_t{1} << 40});
        auto sends = [&]() -> weir::task<> {
            co_await talk.say(head_of(is_chunked ? "Transfer-Encoding: chunked\r\n"
                                                 : "Content-Length: 1073741824\r\n"));
            std::string piece = is_chunked ? "1000\r\n" : "";
            piece += std::string(4096, 'x');
            piece += is_chunked ? "\r\n" : "";
            for (;;) {
                co_await talk.say(piece);
            }
        };
        auto sending = weir::spawn(sends());
        const answer got = co_await talk.answers.next();
        EXPECT_EQ(got.status, 413);
        EXPECT_LE(taken, 100'000U);
        co_await talk.serving.wait();
        sending.cancel();
        (void)co_await weir::settle(sending.wait());
        co_await talk.end();
    }
}

WEIR_TEST(ServerLimits, OfSeveralTheLowestCounts) {
    for (const bool is_chunked : {false, true}) {
        for (const bool begins_first : {false, true}) {
            conversation talk(
                [=](http::request& incoming) -> weir::task<http::response> {
                    char buffer[3];
                    if (begins_first) {
                        co_await incoming.read(buffer);
                    }
                    incoming.limit_body(8);
                    incoming.limit_body(1000);
                    std::string body = co_await incoming.text();
                    co_return http::response::text(std::move(body));
                },
                // Without a limit in time, which must not come out as one in the past.
                {.body_timeout = weir::clock::duration::max(), .min_body_rate = 1});
            co_await talk.say(
                head_of(is_chunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: 10\r\n"));
            co_await talk.say(is_chunked ? "5\r\nhello\r\n" : "hello");
            co_await weir::sleep(1s);
            co_await talk.say(is_chunked ? "5\r\nworld\r\n0\r\n\r\n" : "world");
            const answer got = co_await talk.answers.next();
            EXPECT_EQ(got.status, 413) << is_chunked << begins_first;
            co_await talk.end();
        }
    }
    conversation patient(echoes,
                         {.body_timeout = weir::clock::duration::max(), .min_body_rate = 1});
    co_await patient.say(head_of("Content-Length: 10\r\n"));
    co_await weir::sleep(1s);
    co_await patient.say("hello");
    co_await weir::sleep(1h);
    co_await patient.say("world");
    const answer got = co_await patient.answers.next();
    EXPECT_EQ(got.body, "helloworld");
    co_await patient.end();
}

// Time passes in the simulation alone.
WEIR_TEST(ServerLimits, SlowHeadersAreCutOff) {
    conversation silent(echoes);
    const auto began = weir::now();
    const std::string nothing = co_await silent.answers.rest();
    EXPECT_EQ(nothing, "");
    EXPECT_EQ(weir::now() - began, 10s);
    // One byte a second: 10 s from the first, however busy it is.
    conversation dripping(echoes);
    auto drips = [&]() -> weir::task<> {
        for (const char each : std::string("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")) {
            co_await dripping.say(std::string(1, each));
            co_await weir::sleep(1s);
        }
    };
    auto dripped = weir::spawn(drips());
    const answer got = co_await dripping.answers.next();
    EXPECT_EQ(got.status, 408);
    EXPECT_EQ(got.headers.get("connection"), "close");
    co_await dripping.serving.wait();
    dripped.cancel();
    (void)co_await weir::settle(dripped.wait());
    co_await dripping.end();
    co_await silent.end();
}

WEIR_TEST(ServerLimits, SlowBodiesAreCutOffAndSteadyOnesAreNot) {
    for (const bool is_chunked : {false, true}) {
        conversation talk(echoes);
        const auto began = weir::now();
        auto drips = [&]() -> weir::task<> {
            co_await talk.say(head_of(is_chunked ? "Transfer-Encoding: chunked\r\n"
                                                 : "Content-Length: 1000\r\n"));
            for (int i = 0; i < 1000; ++i) {
                co_await talk.say(is_chunked ? "1\r\nx\r\n" : "x");
                co_await weir::sleep(1s);
            }
        };
        auto dripped = weir::spawn(drips());
        const answer got = co_await talk.answers.next();
        EXPECT_EQ(got.status, 408);
        EXPECT_LE(weir::now() - began, 32s);
        co_await talk.serving.wait();
        dripped.cancel();
        (void)co_await weir::settle(dripped.wait());
        co_await talk.end();
    }
    // 2 KiB a second for five minutes.
    conversation steady(echoes);
    auto sends = [&]() -> weir::task<> {
        co_await steady.say(head_of("Content-Length: 614400\r\n"));
        for (int i = 0; i < 300; ++i) {
            co_await steady.say(std::string(2048, 'x'));
            co_await weir::sleep(1s);
        }
    };
    auto sending = weir::spawn(sends());
    const answer got = co_await steady.answers.next();
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.body.size(), 614'400U);
    co_await sending.wait();
    co_await steady.end();
}

WEIR_TEST(ServerLimits, IdleConnectionsEnd) {
    conversation talk(echoes);
    co_await talk.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    co_await talk.answers.next();
    const auto began = weir::now();
    const std::string nothing = co_await talk.answers.rest();
    EXPECT_EQ(nothing, "");
    EXPECT_EQ(weir::now() - began, 60s);
    co_await talk.end();
}

WEIR_TEST(ServerLimits, ClientsThatDoNotReadAreCutOff) {
    conversation talk([](http::request&) {
        return http::response::stream("text/plain", [](http::body_writer& out) -> weir::task<> {
            for (;;) {
                co_await out.write(std::string(10'000, 'x'));
            }
        });
    });
    co_await talk.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto began = weir::now();
    co_await talk.serving.wait();
    EXPECT_EQ(weir::now() - began, 30s);
    // Whole texts too.
    conversation text(
        [](http::request&) { return http::response::text(std::string(1 << 20, 'x')); });
    co_await text.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    co_await text.serving.wait();
    EXPECT_EQ(weir::now() - began, 60s);
    co_await text.end();
    co_await talk.end();
}

TEST(ServerOptions, AreChecked) {
    const auto server_with = [](const http::server_options& options) {
        return http::server([] { return http::response(); }, options);
    };
    EXPECT_THROW(server_with({.max_header_bytes = 0}), weir::invalid_argument);
    EXPECT_THROW(server_with({.max_headers = 0}), weir::invalid_argument);
    EXPECT_THROW(server_with({.header_timeout = 0s}), weir::invalid_argument);
    EXPECT_THROW(server_with({.body_timeout = -1s}), weir::invalid_argument);
    EXPECT_THROW(server_with({.min_body_rate = 0}), weir::invalid_argument);
    EXPECT_THROW(server_with({.max_requests = 0}), weir::invalid_argument);
    EXPECT_THROW(server_with({.server_name = "a\r\nb"}), weir::invalid_argument);
    EXPECT_THROW(server_with({.connections = {.max_connections = 0}}), weir::invalid_argument);
    EXPECT_THROW(http::server{http::handler()}, weir::invalid_argument);
}

}  // namespace
