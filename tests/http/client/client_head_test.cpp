// SPDX-License-Identifier: MIT
// Heads of responses that are too large, ambiguous or slow.

#include "tiny_server.hpp"
#include <support/io.hpp>

#include <weir/http/client.hpp>
#include <weir/io/error.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace std::chrono_literals;
using weir::http::client;
using weir::http::client_response;
using weir::http::transport_error;
using weir_test::seen_request;
using weir_test::tiny_server;
using socket = weir::io::socket;

constexpr std::string_view large =
    "limit: the response's head has more than 300 KiB, or a line of "
    "more than 100 KiB";

// The body, or the error without the request.
weir::task<std::string> result_of(client& fetcher, std::string url) {
    const std::size_t request = url.size() + 6;  // 'GET ', ': '
    try {
        client_response answer = co_await fetcher.get(url);
        std::string text = co_await answer.text();
        co_return text;
    } catch (const weir::limit_exceeded& error) {
        co_return std::string("limit: ") + (error.what() + request);
    } catch (const transport_error& error) {
        co_return std::string(error.why() == transport_error::kind::protocol ? "protocol: "
                                                                             : "other: ") +
            (error.what() + request);
    }
}

// libcurl has limits of its own, which it reports in several ways.
WEIR_IO_TEST(ClientHead, IsLimitedWhateverLibcurlDoes) {
    tiny_server server([](seen_request& seen, socket& peer) -> weir::task<bool> {
        const std::size_t size = std::stoul(seen.target().substr(6));
        std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n";
        if (seen.target().starts_with("/line/")) {
            head += "X: " + std::string(size, 'a') + "\r\n";
        }
        for (std::size_t lines = seen.target().starts_with("/many/") ? size : 0; lines > 0;
             --lines) {
            head += "X: " + std::string(1000, 'a') + "\r\n";
        }
        co_await peer.write(head + "\r\nok");
        co_return true;
    });
    client fetcher({.max_header_count = 2000, .max_header_bytes = 1 << 20});
    for (const std::string_view target :
         {"/line/16000", "/line/60000", "/line/100000", "/many/250"}) {
        const std::string got = co_await result_of(fetcher, server.url(target));
        EXPECT_EQ(got, "ok") << target;
    }
    for (const std::string_view target : {"/line/102400", "/line/110000", "/line/200000",
                                          "/line/250000", "/line/900000", "/many/350"}) {
        const std::string got = co_await result_of(fetcher, server.url(target));
        EXPECT_EQ(got, large) << target;
    }
    client strict({.max_header_bytes = 20'000});
    const std::string got = co_await result_of(strict, server.url("/line/30000"));
    EXPECT_EQ(got, "limit: the response's head has more than 20000 bytes");
    EXPECT_EQ(fetcher.stats().active + strict.stats().active, 0U);
    co_await server.stop();
}

WEIR_IO_TEST(ClientHead, MustFrameTheBodyUnambiguously) {
    std::string fields;
    tiny_server server([&](seen_request&, socket& peer) -> weir::task<bool> {
        co_await peer.write(fields + "\r\n\r\nok");
        co_return false;
    });
    client fetcher({.stall_timeout = 20s});
    const std::string ok = "HTTP/1.1 200 OK\r\n";
    struct {
        std::string fields;
        std::string_view result;
    } const cases[] = {
        {ok + "Content-Length: 2", "ok"},
        {ok + "Content-Length: 99999999999999999999999",
         "protocol: the response's Content-Length has more than 63 bits"},
        {ok + "Content-Length: 9223372036854775808",
         "protocol: the response's Content-Length has more than 63 bits"},
        {ok + "Transfer-Encoding: gzip, chunked",
         "protocol: the response's Transfer-Encoding is 'gzip, chunked'; only 'chunked' was "
         "offered"},
        {ok + "Transfer-Encoding: foo",
         "protocol: the response's Transfer-Encoding is 'foo'; only 'chunked' was offered"},
        {ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
         "protocol: the response's Transfer-Encoding is 'chunked, chunked'; only 'chunked' was "
         "offered"},
        {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade",
         "protocol: the server switches to another protocol, which was not asked for"},
    };
    for (const auto& each : cases) {
        fields = each.fields;
        const std::string got = co_await result_of(fetcher, server.url());
        EXPECT_EQ(got, each.result) << each.fields;
    }
    co_await server.stop();
}

// Each byte counts as activity, also those of a line that is not complete.
WEIR_IO_TEST(ClientHead, MayArriveByteByByte) {
    tiny_server server([](seen_request& seen, socket& peer) -> weir::task<bool> {
        co_await peer.write("HTTP/1.1 200 OK\r\nX");
        if (seen.target() == "/silent") {
            co_await weir::sleep(1min);
        }
        for (const char each : std::string_view("-Slow: slowly")) {
            co_await weir::sleep(100ms);
            co_await peer.write(std::string_view(&each, 1));
        }
        co_await peer.write("\r\nContent-Length: 2\r\n\r\nok");
        co_return true;
    });
    client fetcher({.timeout = 30s, .stall_timeout = 1s});
    const std::string got = co_await result_of(fetcher, server.url());
    EXPECT_EQ(got, "ok");
    try {
        client_response answer = co_await fetcher.get(server.url("/silent"));
        ADD_FAILURE();
    } catch (const weir::http::request_timed_out& error) {
        EXPECT_EQ(error.which(), weir::http::request_timed_out::limit::stall) << error.what();
    }
    co_await server.stop();
}

}  // namespace
