// SPDX-License-Identifier: MIT
// The errors of a client: their types, what they carry, and that their messages name the request.

#include "tiny_server.hpp"
#include <support/io.hpp>

#include <weir/error.hpp>
#include <weir/http/client.hpp>
#include <weir/http/client_error.hpp>
#include <weir/io/tcp.hpp>
#include <weir/testing/assertions.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::http::client;
using weir::http::client_request;
using weir::http::client_response;
using weir::http::method;
using weir::http::redirect_error;
using weir::http::request_timed_out;
using weir::http::status;
using weir::http::status_error;
using weir::http::transport_error;
using weir_test::seen_request;
using weir_test::tiny_server;
using socket = weir::io::socket;

TEST(ClientError, TypesCarryTheirReason) {
    const transport_error closed(transport_error::kind::closed, "GET http://x/: closed");
    EXPECT_EQ(closed.why(), transport_error::kind::closed);
    EXPECT_STREQ(closed.what(), "GET http://x/: closed");
    const request_timed_out stalled(request_timed_out::limit::stall, "GET http://x/: stalled");
    EXPECT_EQ(stalled.which(), request_timed_out::limit::stall);
    EXPECT_STREQ(stalled.what(), "GET http://x/: stalled");
    const status_error missing(status::not_found, "GET http://x/: 404 Not Found");
    EXPECT_EQ(missing.code(), status::not_found);
    EXPECT_STREQ(missing.what(), "GET http://x/: 404 Not Found");
}

TEST(ClientError, CanBeCaughtByTheirBases) {
    EXPECT_TRUE((std::is_base_of_v<weir::http::error, transport_error>));
    EXPECT_TRUE((std::is_base_of_v<weir::http::error, redirect_error>));
    EXPECT_TRUE((std::is_base_of_v<weir::http::error, status_error>));
    EXPECT_TRUE((std::is_base_of_v<weir::timed_out, request_timed_out>));
}

WEIR_IO_TEST(ClientError, NamesTheRequestWithoutItsPassword) {
    std::string refused_url;
    {
        weir::io::listener closed = weir::io::listen(weir::io::address::loopback(0));
        refused_url =
            "http://ann:secret@127.0.0.1:" + std::to_string(closed.local_address().port()) + "/";
    }
    client fetcher;
    try {
        client_response response = co_await fetcher.get(refused_url);
        ADD_FAILURE();
    } catch (const weir::http::transport_error& error) {
        EXPECT_EQ(error.why(), weir::http::transport_error::kind::connect) << error.what();
        EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
        EXPECT_TRUE(std::string(error.what()).starts_with("GET http://127.0.0.1:")) << error.what();
    }
}

WEIR_IO_TEST(ClientError, SaysWhichTimeLimitExpired) {
    tiny_server server([](seen_request& seen, socket& peer) -> weir::task<bool> {
        if (seen.target() == "/drip") {
            co_await peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
            for (int i = 0; i < 1000; ++i) {
                co_await peer.write("x");
                co_await weir::sleep(10ms);
            }
        }
        if (seen.target() == "/half") {
            co_await peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf");
        }
        co_await weir::sleep(1h);
        co_return false;
    });
    client fetcher;
    using limit = weir::http::request_timed_out::limit;
    const auto limit_of = [&](client_request request) -> weir::task<limit> {
        try {
            client_response response = co_await fetcher.send(std::move(request));
            co_await response.text();
        } catch (const weir::http::request_timed_out& error) {
            EXPECT_TRUE(std::string(error.what()).starts_with("GET http://127.0.0.1"))
                << error.what();
            co_return error.which();
        }
        ADD_FAILURE();
        co_return limit::connect;
    };
    client_request silent(method::get, server.url("/silent"));
    silent.set_timeout(60ms);
    limit reached = co_await limit_of(std::move(silent));
    EXPECT_EQ(reached, limit::total);
    client_request stalls(method::get, server.url("/half"));
    stalls.set_stall_timeout(60ms);
    reached = co_await limit_of(std::move(stalls));
    EXPECT_EQ(reached, limit::stall);
    client_request drips(method::get, server.url("/drip"));
    drips.set_stall_timeout(500ms).set_timeout(150ms);
    reached = co_await limit_of(std::move(drips));
    EXPECT_EQ(reached, limit::total);
    EXPECT_EQ(fetcher.stats().active, 0U);

    // The backlog is full and nothing accepts: connecting never ends.
    weir::io::listener full = weir::io::listen(weir::io::address::loopback(0), {.backlog = 1});
    std::vector<socket> fillers;
    for (int i = 0; i < 2; ++i) {
        socket filler = co_await weir::tcp::connect(full.local_address().text());
        fillers.push_back(std::move(filler));
    }
    client_request unanswered(
        method::get, "http://127.0.0.1:" + std::to_string(full.local_address().port()) + "/");
    unanswered.set_connect_timeout(80ms);
    reached = co_await limit_of(std::move(unanswered));
    EXPECT_EQ(reached, limit::connect);
    co_await server.stop();
}

}  // namespace
