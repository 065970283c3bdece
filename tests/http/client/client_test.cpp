// SPDX-License-Identifier: MIT
// The client with a server whose responses each test writes: methods, headers, names, invalid
// options, cancellation and destruction.

#include "tiny_server.hpp"
#include <support/io.hpp>

#include <weir/gather.hpp>
#include <weir/http/client.hpp>
#include <weir/io/error.hpp>
#include <weir/io/tcp.hpp>
#include <weir/testing/assertions.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace {

using namespace std::chrono_literals;
using weir::http::client;
using weir::http::client_request;
using weir::http::client_response;
using weir::http::method;
using weir::http::status;
using weir_test::ok_answer;
using weir_test::say;
using weir_test::seen_request;
using weir_test::tiny_server;
using socket = weir::io::socket;

// The error of an awaitable that is expected to throw one.
template <class Error, class T>
weir::task<std::string> failure_of(weir::task<T> work) {
    try {
        co_await std::move(work);
    } catch (const Error& error) {
        co_return error.what();
    }
    co_return "";
}

WEIR_IO_TEST(Client, GetsTextAndKeepsTheConnection) {
    tiny_server server([](seen_request& seen, socket& peer) {
        return say(peer, ok_answer("you asked for " + seen.target(), "X-Colour:  blue \r\n"));
    });
    client fetcher;
    for (int i = 0; i < 3; ++i) {
        client_response answer = co_await fetcher.get(server.url("/a?b=" + std::to_string(i)));
        EXPECT_EQ(answer.status(), status::ok);
        EXPECT_EQ(answer.header("x-colour"), "blue");
        EXPECT_EQ(answer.version(), 11);
        const std::string text = co_await answer.text();
        EXPECT_EQ(text, "you asked for /a?b=" + std::to_string(i));
        const std::string again = co_await answer.text();
        EXPECT_EQ(again, "");
    }
    EXPECT_EQ(server.connections(), 1);
    EXPECT_EQ(fetcher.stats().connections, 1U);
    EXPECT_EQ(fetcher.stats().requests, 3U);
    EXPECT_EQ(fetcher.stats().active, 0U);
    co_await server.stop();
}

// The natural one-liner: the response is a temporary that lives until its text has been read.
WEIR_IO_TEST(Client, GetsATextInOneExpression) {
    tiny_server server([](seen_request& seen, socket& peer) {
        return say(peer, ok_answer("you asked for " + seen.target()));
    });
    client fetcher;
    const std::string text = co_await (co_await fetcher.get(server.url("/a"))).text();
    EXPECT_EQ(text, "you asked for /a");
    EXPECT_EQ(fetcher.stats().active, 0U);
    co_await server.stop();
}

WEIR_IO_TEST(Client, SendsMethodsHeadersAndBodies) {
    std::string last;
    std::string body;
    tiny_server server([&](seen_request& seen, socket& peer) {
        last = seen.head;
        body = seen.body;
        return say(peer,
                   seen.head.starts_with("HEAD")
                       ? "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\n\r\n"
                       : ok_answer("fine"));
    });
    client fetcher({.user_agent = "tests/1"});
    fetcher.default_headers().set("X-Default", "d");

    client_response posted = co_await fetcher.post(server.url("/p"), std::string("data"), "text/x");
    const std::string text = co_await posted.text();
    EXPECT_EQ(text, "fine");
    EXPECT_EQ(body, "data");
    EXPECT_TRUE(last.starts_with("POST /p HTTP/1.1\r\n")) << last;
    for (const char* const expected :
         {"\r\nUser-Agent: tests/1\r\n", "\r\nContent-Type: text/x\r\n", "\r\nX-Default: d\r\n",
          "\r\nContent-Length: 4\r\n", "\r\nAccept-Encoding: gzip, br\r\n"}) {
        EXPECT_NE(last.find(expected), std::string::npos) << expected << " in\n" << last;
    }
    EXPECT_EQ(last.find("Expect"), std::string::npos);

    client_request deleted(method::delete_, server.url("/d"));
    deleted.set_header("X-Default", "mine").set_bearer("secret");
    client_response gone = co_await fetcher.send(std::move(deleted));
    co_await gone.discard();
    EXPECT_TRUE(last.starts_with("DELETE /d HTTP/1.1\r\n")) << last;
    EXPECT_NE(last.find("\r\nX-Default: mine\r\n"), std::string::npos) << last;
    EXPECT_NE(last.find("\r\nAuthorization: Bearer secret\r\n"), std::string::npos) << last;
    EXPECT_EQ(last.find("Content-Length"), std::string::npos);

    client_response head = co_await fetcher.head(server.url("/h"));
    EXPECT_EQ(head.header("Content-Length"), "5");
    EXPECT_EQ(head.header("Content-Encoding"), "gzip");
    const std::string nothing = co_await head.text();
    EXPECT_EQ(nothing, "");
    EXPECT_TRUE(last.starts_with("HEAD /h HTTP/1.1\r\n")) << last;

    // A body does not make a POST of it.
    client_request search(method::get, server.url("/search"));
    search.set_body(std::string("query"));
    client_response hits = co_await fetcher.send(std::move(search));
    co_await hits.discard();
    EXPECT_TRUE(last.starts_with("GET /search HTTP/1.1\r\n")) << last;
    EXPECT_EQ(body, "query");
    client_request streamed(method::get, server.url("/search"));
    streamed.set_body(weir::http::body::stream(
        [](weir::http::body_writer& out) -> weir::task<> { co_await out.write("piece"); }, 5));
    client_response more = co_await fetcher.send(std::move(streamed));
    co_await more.discard();
    EXPECT_TRUE(last.starts_with("GET /search HTTP/1.1\r\n")) << last;
    EXPECT_EQ(body, "piece");
    client_response plain = co_await fetcher.get(server.url("/plain"));
    co_await plain.discard();
    EXPECT_TRUE(last.starts_with("GET /plain HTTP/1.1\r\n")) << last;
    EXPECT_EQ(body, "");

    const std::string large(3'000'000, 'x');
    client_response put = co_await fetcher.put(server.url("/large"), large);
    co_await put.discard();
    EXPECT_EQ(body, large);
    EXPECT_TRUE(last.starts_with("PUT /large HTTP/1.1\r\n")) << last;
    EXPECT_EQ(last.find("Expect"), std::string::npos) << last;

    client_response empty = co_await fetcher.post(server.url("/empty"), std::string());
    co_await empty.discard();
    EXPECT_NE(last.find("\r\nContent-Length: 0\r\n"), std::string::npos) << last;

    client_response odd = co_await fetcher.send(client_request("PURGE", server.url("/odd")));
    co_await odd.discard();
    EXPECT_TRUE(last.starts_with("PURGE /odd HTTP/1.1\r\n")) << last;

    std::string with_user = server.url("/u");
    with_user.insert(7, "ann:p%40ss@");
    client_response authenticated = co_await fetcher.get(with_user);
    co_await authenticated.discard();
    EXPECT_NE(last.find("\r\nAuthorization: Basic YW5uOnBAc3M=\r\n"), std::string::npos) << last;
    EXPECT_EQ(authenticated.url().text().find("ann"), std::string::npos);
    EXPECT_EQ(server.connections(), 1);
    co_await server.stop();
}

WEIR_IO_TEST(Client, ANonSuccessIsAValue) {
    tiny_server server([](seen_request&, socket& peer) {
        return say(peer, "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno");
    });
    client fetcher;
    client_response answer = co_await fetcher.get(server.url("/x"));
    EXPECT_EQ(answer.status(), status::not_found);
    EXPECT_FALSE(answer.is_success());
    try {
        answer.raise_for_status();
        ADD_FAILURE();
    } catch (const weir::http::status_error& error) {
        EXPECT_EQ(error.code(), status::not_found);
        EXPECT_EQ(error.what(), "GET " + server.url("/x") + ": 404 Not Found");
    }
    const std::string text = co_await answer.text();
    EXPECT_EQ(text, "no");
    co_await server.stop();
}

WEIR_IO_TEST(Client, NamesAreLookedUpByOurResolver) {
    tiny_server server(
        [](seen_request& seen, socket& peer) { return say(peer, ok_answer(seen.header("Host"))); });
    client fetcher;
    const std::string url = server.url("/", "localhost");
    client_response answer = co_await fetcher.get(url);
    const std::string host = co_await answer.text();
    EXPECT_EQ(host, "localhost:" + std::to_string(server.address().port()));
    const std::string no_such =
        co_await failure_of<weir::resolve_error>(fetcher.get("http://no-such-host.invalid/x"));
    EXPECT_TRUE(no_such.starts_with("GET http://no-such-host.invalid/x: ")) << no_such;
    co_await server.stop();
}

TEST(Client, RefusesInvalidOptionsAndUrls) {
    client fetcher;
    EXPECT_THROW((void)fetcher.get("ftp://127.0.0.1/"), weir::invalid_argument);
    EXPECT_THROW((void)fetcher.get("http://"), weir::invalid_argument);
    EXPECT_THROW(client({.max_connections = 0}), weir::invalid_argument);
    EXPECT_THROW(client({.timeout = 0s}), weir::invalid_argument);
    EXPECT_THROW(client({.proxy = "ws://127.0.0.1/"}), weir::invalid_argument);
}

WEIR_IO_TEST(Client, CancellingEndsItAtOnce) {
    tiny_server server([](seen_request& seen, socket& peer) -> weir::task<bool> {
        if (seen.target() == "/half") {
            co_await peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf");
        }
        co_await weir::sleep(1h);
        co_return false;
    });
    client fetcher({.max_connections = 1});
    for (int i = 0; i < 20; ++i) {
        weir::handle<client_response> asking = weir::spawn(fetcher.get(server.url("/silent")));
        weir::handle<client_response> waiting = weir::spawn(fetcher.get(server.url("/silent")));
        co_await weir::sleep(1ms * (i % 5));
        waiting.cancel();
        asking.cancel();
        co_await waiting.wait();
        co_await asking.wait();
        EXPECT_TRUE(asking.cancelled());
        EXPECT_EQ(fetcher.stats().active, 0U);
        EXPECT_EQ(fetcher.stats().open, 0U);
    }
    client_response half = co_await fetcher.get(server.url("/half"));
    std::array<char, 100> piece{};
    std::size_t count = co_await half.read(piece);
    EXPECT_EQ(std::string_view(piece.data(), count), "half");
    const bool came = co_await weir::timeout_or(
        5ms,
        [&]() -> weir::task<bool> {
            co_await half.read(piece);
            co_return true;
        },
        false);
    EXPECT_FALSE(came);
    EXPECT_EQ(fetcher.stats().open, 1U);
    {
        const client_response gone = std::move(half);
    }
    EXPECT_EQ(fetcher.stats().open, 0U);
    co_await server.stop();
}

WEIR_IO_TEST(Client, DestroyedInUse) {
    tiny_server server([](seen_request& seen, socket& peer) -> weir::task<bool> {
        if (seen.target() == "/half") {
            co_await peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf");
        }
        co_await weir::sleep(1h);
        co_return false;
    });
    auto fetcher = std::make_unique<client>(weir::http::client_options{.max_connections = 2});
    client_response half = co_await fetcher->get(server.url("/half"));
    weir::handle<client_response> asking = weir::spawn(fetcher->get(server.url("/silent")));
    weir::handle<client_response> waiting = weir::spawn(fetcher->get(server.url("/silent")));
    co_await weir::sleep(5ms);
    fetcher.reset();
    for (const weir::handle<client_response>* each : {&asking, &waiting}) {
        try {
            co_await *each;
            ADD_FAILURE();
        } catch (const weir::http::transport_error& error) {
            EXPECT_EQ(error.why(), weir::http::transport_error::kind::client_closed);
            EXPECT_TRUE(std::string(error.what()).starts_with("GET http://")) << error.what();
        }
    }
    std::array<char, 100> piece{};
    const std::size_t count = co_await half.read(piece);
    EXPECT_EQ(count, 4U);
    std::string failed = co_await failure_of<weir::http::transport_error>(half.text());
    EXPECT_NE(failed.find("the client was closed"), std::string::npos) << failed;
    co_await server.stop();
}

}  // namespace
