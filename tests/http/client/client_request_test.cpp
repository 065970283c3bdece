// SPDX-License-Identifier: MIT
// Requests: streamed bodies, framing headers, and what is sent again when a kept connection has
// been closed.

#include "tiny_server.hpp"
#include <support/io.hpp>
#include <support/peers/nginx.hpp>

#include <weir/cancel.hpp>
#include <weir/gather.hpp>
#include <weir/http/client.hpp>
#include <weir/io/error.hpp>
#include <weir/io/tcp.hpp>
#include <weir/io/tls_certificate.hpp>
#include <weir/outcome.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::http::client;
using weir::http::client_request;
using weir::http::client_response;
using weir::http::method;
using weir::http::status;
using weir_test::ok_answer;
using weir_test::pattern;
using weir_test::say;
using weir_test::seen_request;
using weir_test::tiny_server;
using kind = weir::http::transport_error::kind;
using socket = weir::io::socket;

WEIR_IO_TEST(ClientRequest, BodiesAreStreamedUp) {
    weir_test::nginx origin(
        "client_max_body_size 0; location /put { root www; dav_methods PUT; create_full_put_path "
        "on; }"
        "location /refuse { return 403 'no'; }",
        {.http = "client_body_buffer_size 16k;"});
    client fetcher;
    const std::string content = pattern(3'000'000);
    for (const bool size_known : {true, false}) {
        std::size_t pieces = 0;
        auto write = [&](weir::http::body_writer& out) -> weir::task<> {
            for (std::size_t at = 0; at < content.size(); at += 150'000) {
                co_await out.write(std::string_view(content).substr(at, 150'000));
                if (at % 900'000 == 0) {
                    co_await weir::sleep(2ms);
                }
                ++pieces;
            }
        };
        client_request request(method::put, origin.url(size_known ? "/put/a" : "/put/b"));
        std::optional<std::uint64_t> size;
        if (size_known) {
            size = content.size();
        }
        request.set_body(weir::http::body::stream(write, size));
        client_response answer = co_await fetcher.send(std::move(request));
        EXPECT_EQ(answer.status(), status::created);
        EXPECT_EQ(pieces, 20U);
        const std::string kept = origin.folder().read(size_known ? "www/put/a" : "www/put/b");
        EXPECT_TRUE(kept == content) << kept.size();
        co_await answer.discard();
    }
    // An answer that comes early ends the stream; the stream's own errors come out as they are.
    bool was_stopped = false;
    bool began = false;
    auto endless = [&](weir::http::body_writer& out) -> weir::task<> {
        struct note {
            bool& at;
            ~note() { at = true; }
        } const mark{was_stopped};
        began = true;
        for (;;) {
            co_await out.write(std::string(10'000, 'x'));
        }
    };
    client_request refused(method::post, origin.url("/refuse"));
    refused.set_body(weir::http::body::stream(endless));
    try {
        client_response answer = co_await fetcher.send(std::move(refused));
        EXPECT_EQ(answer.status(), status::forbidden);
    } catch (const weir::http::transport_error& error) {
        EXPECT_EQ(error.why(), kind::closed);  // nginx resets such a connection
    }
    EXPECT_EQ(was_stopped, began);  // nginx may be so quick that it never did
    auto failing = [](weir::http::body_writer& out) -> weir::task<> {
        co_await out.write("some");
        throw std::logic_error("of the stream");
    };
    client_request broken(method::put, origin.url("/put/c"));
    broken.set_body(weir::http::body::stream(failing));
    try {
        client_response answer = co_await fetcher.send(std::move(broken));
        ADD_FAILURE();
    } catch (const std::logic_error& error) {
        EXPECT_STREQ(error.what(), "of the stream");
    }
    client_request lying(method::put, origin.url("/put/d"));
    lying.set_body(weir::http::body::stream(
        [](weir::http::body_writer& out) -> weir::task<> { co_await out.write("123"); }, 5));
    try {
        client_response answer = co_await fetcher.send(std::move(lying));
        ADD_FAILURE();
    } catch (const weir::invalid_state& error) {
        EXPECT_NE(std::string(error.what()).find("2 bytes before its size"), std::string::npos);
    }
    EXPECT_EQ(fetcher.stats().active, 0U);
}

// What stands behind the length that was given would be the next request on the connection.
WEIR_IO_TEST(ClientRequest, ALengthThatIsNotTheBodysIsRefused) {
    tiny_server server([&](seen_request& seen, socket& peer) -> weir::task<bool> {
        co_await peer.write(ok_answer(seen.body));
        co_return true;
    });
    client fetcher;
    const auto outcome = [&](method verb, std::string body, const char* name,
                             const char* value) -> weir::task<std::string> {
        client_request request(verb, server.url());
        request.set_header(name, value);
        if (!body.empty()) {
            request.set_body(std::move(body));
        }
        try {
            client_response answer = co_await fetcher.send(std::move(request));
            co_return co_await answer.text();
        } catch (const weir::invalid_argument& error) {
            co_return std::string(error.what()).find(name) != std::string::npos ? "refused"
                                                                                : error.what();
        }
    };
    const std::string smuggled = "GET /other HTTP/1.1\r\nHost: b\r\n\r\n";
    for (const char* length : {"0", "1", "-1", "x", "", "1000", "0037", "37, 37"}) {
        const std::string result =
            co_await outcome(method::post, smuggled, "Content-Length", length);
        EXPECT_EQ(result, "refused") << length;
    }
    const std::string empty = co_await outcome(method::get, "", "Content-Length", "5");
    EXPECT_EQ(empty, "refused");
    const std::string right = co_await outcome(method::post, "12345", "Content-Length", "5");
    EXPECT_EQ(right, "12345");
    for (const char* coding : {"gzip", "identity", "chunked, gzip", "xchunked", ""}) {
        const std::string result =
            co_await outcome(method::post, "12345", "Transfer-Encoding", coding);
        EXPECT_EQ(result, "refused") << coding;
    }
    EXPECT_EQ(server.requests(), 1);
    co_await server.stop();
}

WEIR_IO_TEST(ClientRequest, ContinueIsWaitedForWhenAsked) {
    bool body_came_first = false;
    tiny_server server([&](seen_request& seen, socket& peer) -> weir::task<bool> {
        std::array<char, 100> some{};
        const bool early = co_await weir::timeout_or(
            30ms,
            [&]() -> weir::task<bool> {
                const std::size_t count = co_await peer.read(some);
                co_return count > 0;
            },
            false);
        body_came_first = early;
        EXPECT_EQ(seen.header("Expect"), "100-continue");
        co_await peer.write("HTTP/1.1 100 Continue\r\n\r\n");
        const std::size_t count = co_await peer.read(some);
        co_await peer.write(ok_answer(std::string_view(some.data(), count)));
        co_return true;
    });
    client fetcher;
    client_request request(method::post, server.url());
    request.set_body(std::string("body")).set_header("Expect", "100-continue");
    client_response answer = co_await fetcher.send(std::move(request));
    const std::string text = co_await answer.text();
    EXPECT_EQ(text, "body");
    EXPECT_FALSE(body_came_first);
    co_await server.stop();
}

// A kept connection may be closed in the moment in which it is used again. What can be repeated
// without harm is, on another connection; a POST is not.
WEIR_IO_TEST(ClientRequest, NothingIsSentTwiceUnlessItMayBe) {
    std::vector<std::string> seen_requests;
    tiny_server server([&](seen_request& seen, socket& peer) -> weir::task<bool> {
        seen_requests.push_back(seen.head.substr(0, seen.head.find(' ')) + " " + seen.body);
        if (seen_requests.size() % 2 == 0) {
            co_return false;  // read, and no answer
        }
        co_await peer.write(ok_answer("fine"));
        co_return true;
    });
    client fetcher;
    const auto outcome = [&](client_request request) -> weir::task<std::string> {
        seen_requests.clear();
        client_response first = co_await fetcher.get(server.url("/first"));
        co_await first.discard();
        try {
            client_response second = co_await fetcher.send(std::move(request));
            std::string text = co_await second.text();
            co_return text;
        } catch (const weir::http::transport_error& error) {
            EXPECT_EQ(error.why(), kind::closed);
            co_return "closed";
        }
    };
    std::string got = co_await outcome(client_request(method::get, server.url("/again")));
    EXPECT_EQ(got, "fine");
    EXPECT_EQ(seen_requests.size(), 3U);
    client_request put(method::put, server.url("/again"));
    put.set_body(std::string("data"));
    got = co_await outcome(std::move(put));
    EXPECT_EQ(got, "fine");
    EXPECT_EQ(seen_requests.back(), "PUT data");
    client_request post(method::post, server.url("/once"));
    post.set_body(std::string("data"));
    got = co_await outcome(std::move(post));
    EXPECT_EQ(got, "closed");
    EXPECT_EQ(seen_requests.size(), 2U);
    client_request keyed(method::post, server.url("/keyed"));
    keyed.set_body(std::string("data")).set_header("Idempotency-Key", "k1");
    got = co_await outcome(std::move(keyed));
    EXPECT_EQ(got, "fine");
    client_request streamed(method::put, server.url("/stream"));
    streamed.set_body(weir::http::body::stream(
        [](weir::http::body_writer& out) -> weir::task<> { co_await out.write("data"); }, 4));
    got = co_await outcome(std::move(streamed));
    EXPECT_EQ(got, "closed");
    EXPECT_EQ(seen_requests.size(), 2U);
    co_await server.stop();
}

// Its function is called once, even if the connection fails while it runs.
WEIR_IO_TEST(ClientRequest, AStreamIsMadeOnce) {
    tiny_server server([&](seen_request& seen, socket& peer) -> weir::task<bool> {
        if (seen.head.starts_with("GET")) {
            co_return co_await say(peer, ok_answer("fine"));
        }
        const linger now{1, 0};  // a reset, in the middle of the body
        ::setsockopt(peer.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
        co_return false;
    });
    client fetcher;
    for (int i = 0; i < 5; ++i) {
        client_response first = co_await fetcher.get(server.url("/first"));
        co_await first.discard();
        int calls = 0;
        client_request put(method::put, server.url("/stream"));
        put.set_body(weir::http::body::stream([&](weir::http::body_writer& out) -> weir::task<> {
            ++calls;
            const std::string piece(10'000, 'x');
            for (int n = 0; n < 1000; ++n) {
                co_await out.write(piece);
            }
        }));
        const auto ended = co_await weir::settle(fetcher.send(std::move(put)));
        EXPECT_TRUE(ended.has_error());
        EXPECT_EQ(calls, 1);
    }
    co_await server.stop();
}

}  // namespace
