// SPDX-License-Identifier: MIT
// The handshake of a client: its request, the answers that it accepts and refuses, and our server.

#include "ws/support.hpp"

#include <weir/http/server.hpp>
#include <weir/ws/accept.hpp>
#include <weir/ws/client.hpp>

#include <array>

namespace {

using namespace ws_test;
namespace http = weir::http;
using http::status;

// The server's answer, with our key's answer where it says KEY.
task<std::string> try_answer(std::string answer, ws::connect_options options = {}) {
    simulated_network net({.link = {.latency = 1ms}});
    auto [near, far] = net.pair();
    auto body = [](ws::connection& peer) -> task<std::string> {
        const std::optional<ws::message> came = co_await peer.receive();
        co_return std::string(peer.protocol()) + ":" + std::string(came ? came->text() : "");
    };
    auto plan = ws::detail::plan("ws://server/chat?a=b#c", options);
    const std::size_t key = answer.find("KEY");
    if (key != std::string::npos) {
        answer.replace(key, 3, plan.accept);
    }
    auto server = weir::spawn(
        [](simulated_stream peer, std::string response) -> task<> {
            std::array<char, 4096> buffer;
            co_await peer.read(buffer);
            co_await peer.write(response);
            co_await peer.close_write();
            co_await peer.read(buffer);
        },
        std::move(far), std::move(answer));
    auto running = ws::detail::run_client_for<std::string, decltype(body)&>(
        std::move(plan), io::any_stream(std::move(near)), body);
    auto result = co_await weir::settle(std::move(running));
    server.cancel();
    co_await server.wait();
    co_return std::move(result).value();
}

const std::string good_answer =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, upgrade\r\n"
    "Sec-WebSocket-Accept: KEY\r\n\r\n";
std::string with_header(std::string_view line) {
    std::string answer = good_answer;
    return answer.insert(answer.size() - 2, std::string(line) + "\r\n");
}

std::string replaced(std::string_view what, std::string_view replacement) {
    std::string answer = good_answer;
    return answer.replace(answer.find(what), what.size(), replacement);
}

WEIR_TEST(Client, AcceptsAValidAnswer) {
    const std::array<std::string_view, 2> offered{"a", "b"};
    ws::connect_options options;
    options.protocols = offered;
    const std::string frames = std::string("\x81\x02hi\x88\x00", 6);
    const std::string plain = co_await try_answer(good_answer + frames, options);
    EXPECT_EQ(plain, ":hi");
    const std::string agreed =
        co_await try_answer(with_header("Sec-WebSocket-Protocol: b") + frames, options);
    EXPECT_EQ(agreed, "b:hi");
    // Interim answers are skipped, as HTTP has it.
    const std::string proceeds = "HTTP/1.1 100 Continue\r\n\r\n";
    const std::string hints = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    const std::string late =
        co_await try_answer(proceeds + hints + hints + good_answer + frames, options);
    EXPECT_EQ(late, ":hi");
}

WEIR_TEST(Client, RefusesOtherAnswers) {
    struct row {
        const char* name;
        std::string answer;
        const char* error;
        unsigned code = 101;
    };
    const row table[]{
        {"nothing", "", "without an answer", 0},
        {"half", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n", "without an answer",
         0},
        {"no HTTP", "SSH-2.0-OpenSSH\r\n\r\n", "not HTTP/1.1", 0},
        {"HTTP/1.0", replaced("HTTP/1.1", "HTTP/1.0"), "not HTTP/1.1", 0},
        {"a bad status", replaced("101", "1x1"), "not HTTP/1.1", 0},
        {"a long status", replaced("101", "1010"), "not HTTP/1.1", 0},
        {"forbidden", "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
         "answered 403 Forbidden", 403},
        {"found", "HTTP/1.1 302 Found\r\nLocation: ws://elsewhere/\r\n\r\n", "answered 302 Found",
         302},
        {"fine", replaced("101 Switching Protocols", "200 OK"), "answered 200 OK", 200},
        {"no upgrade", replaced("Upgrade: WebSocket\r\n", ""), "something else"},
        {"another upgrade", replaced("WebSocket", "h2c"), "something else"},
        {"no connection", replaced("Connection: keep-alive, upgrade\r\n", ""), "something else"},
        {"another connection", replaced("keep-alive, upgrade", "close"), "something else"},
        {"no key", replaced("Sec-WebSocket-Accept: KEY\r\n", ""), "our key"},
        {"another key", replaced("KEY", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "our key"},
        {"the key twice", with_header("Sec-WebSocket-Accept: x"), "our key"},
        {"extensions", with_header("Sec-WebSocket-Extensions: permessage-deflate"), "extension"},
        {"a protocol", with_header("Sec-WebSocket-Protocol: c"), "not offered"},
        {"a header that is none", with_header("nonsense"), "invalid header line", 0},
        {"a folded header", with_header("X: a\r\n b: c"), "", 0},
        {"a blank before the colon", with_header("X : a"), "", 0},
        {"a control character", with_header(std::string("X: a\0b", 6)), "", 0},
        {"too long", with_header("X: " + std::string(20'000, 'x')), "max_header_bytes, 16384", 0},
        {"without end", std::string(40'000, 'x'), "max_header_bytes, 16384", 0},
        {"interim answers without end",
         [] {
             std::string answers;
             while (answers.size() < 40'000) {
                 answers += "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
             }
             return answers + good_answer;
         }(),
         "max_header_bytes, 16384", 0},
        {"only an interim answer", "HTTP/1.1 100 Continue\r\n\r\n", "without an answer", 0},
        {"refused after an interim answer",
         "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 403 Forbidden\r\n\r\n", "answered 403 Forbidden",
         403},
        {"too many",
         [] {
             std::string lines = "X: y";
             for (int count = 0; count < 100; ++count) {
                 lines += "\r\nX: y";
             }
             return with_header(lines);
         }(),
         "100 headers", 0},
    };
    for (const row& each : table) {
        SCOPED_TRACE(each.name);
        auto trial = try_answer(each.answer);
        const auto result = co_await weir::settle(std::move(trial));
        WEIR_ASSERT_TRUE(result.has_error());
        try {
            std::rethrow_exception(result.error());
        } catch (const ws::handshake_error& error) {
            EXPECT_NE(std::string(error.what()).find(each.error), std::string::npos)
                << error.what();
            EXPECT_NE(std::string(error.what()).find("ws://server/chat?a=b"), std::string::npos);
            EXPECT_EQ(http::number_of(error.status()), each.code);
        }
    }
}

TEST(Client, SendsAValidRequest) {
    const std::array<std::string_view, 2> protocols{"a", "b"};
    const std::array<http::header_field, 1> more{{{"X-More", "yes"}}};
    const auto plan =
        ws::detail::plan("ws://me:secret@Example.com:80/x?y#z",
                         {.protocols = protocols, .headers = more, .origin = "https://page"});
    EXPECT_TRUE(plan.request.starts_with("GET /x?y HTTP/1.1\r\nHost: example.com\r\n"))
        << plan.request;
    EXPECT_TRUE(plan.request.ends_with("\r\n\r\n"));
    for (const char* line :
         {"Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
          "Sec-WebSocket-Protocol: a, b", "Origin: https://page", "X-More: yes",
          "Authorization: Basic bWU6c2VjcmV0"}) {
        EXPECT_NE(plan.request.find("\r\n" + std::string(line) + "\r\n"), std::string::npos)
            << line;
    }
    const auto other = ws::detail::plan("ws://example.com", {});
    EXPECT_NE(plan.accept, other.accept);

    const auto refused = [](std::string_view url, const ws::connect_options& options,
                            const char* text) {
        try {
            ws::detail::plan(url, options);
            ADD_FAILURE() << text;
        } catch (const weir::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
        }
    };
    const std::array<std::string_view, 1> bad_protocol{"a b"};
    const std::array<http::header_field, 1> taken{{{"upgrade", "x"}}};
    const std::array<http::header_field, 1> smuggled{{{"X", "a\r\nY: b"}}};
    refused("http://example.com", {}, "not ws:// or wss://");
    refused("nonsense", {}, "nonsense");
    refused("ws://a", {.protocols = bad_protocol}, "'a b'");
    refused("ws://a", {.headers = taken}, "upgrade");
    refused("ws://a", {.headers = smuggled}, "");
    refused("ws://a", {.timeout = 0s}, "timeout is 0 s");
    refused("ws://a", {.connection = {.max_message = 0}}, "max_message is 0");
}

WEIR_TEST(Client, GivesUpAtItsTimeout) {
    simulated_network net;
    auto [near, far] = net.pair();
    const auto began = weir::now();
    auto body = [](ws::connection&) -> task<> { co_return; };
    auto trying =
        ws::with_connection(io::any_stream(std::move(near)), "ws://server/", body, {.timeout = 3s});
    WEIR_EXPECT_TIMEOUT(std::move(trying));
    EXPECT_EQ(weir::now() - began, 3s);
    far.close();
    EXPECT_EQ(net.stats().open, 0u);
}

// Server and client together, over the HTTP server: what is sent behind the handshake at once, the
// subprotocol, a refusal, and a drain.
WEIR_TEST(Client, TalksToOurServer) {
    auto link = weir::testing::link_options::drawn_from(weir::testing::current_seed());
    link.window = 64 << 10;  // not that slow
    link.segment = 1460;
    simulated_network net({.link = link});
    const std::array<std::string_view, 1> protocols{"v2"};
    http::handler app([&](http::request& incoming) -> http::response {
        if (incoming.path() != "/chat") {
            return http::response(status::not_found);
        }
        return ws::accept(incoming, echo, {.protocols = protocols});
    });
    weir::tcp::session session;
    const auto connect = [&]() {
        auto [near, far] = net.pair();
        auto server =
            weir::spawn(http::serve_connection(io::any_stream(std::move(far)), app, {}, session));
        return std::pair(io::any_stream(std::move(near)), server);
    };
    {
        auto [stream, server] = connect();
        auto body = [](ws::connection& peer) -> task<std::string> {
            EXPECT_EQ(peer.protocol(), "v2");
            co_await peer.send("one");
            co_await peer.send(std::string(5000, 'x'));
            const std::optional<ws::message> one = co_await peer.receive();
            const std::optional<ws::message> two = co_await peer.receive();
            EXPECT_EQ(two.value().size(), 5000u);
            co_return std::string(one.value().text());
        };
        const std::string answer = co_await ws::with_connection(
            std::move(stream), "ws://server/chat", body, {.protocols = protocols});
        EXPECT_EQ(answer, "one");
        co_await server;
    }
    {
        auto [stream, server] = connect();
        co_await stream.write("GET /chat HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n");
        const std::string answer = co_await io::read_all(stream, 2000);
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 426 ")) << answer;
        EXPECT_NE(answer.find("\r\nConnection: Upgrade, close\r\n"), std::string::npos) << answer;
        EXPECT_NE(answer.find("\r\nUpgrade: websocket\r\n"), std::string::npos) << answer;
        stream.close();
        co_await server;
    }
    {
        auto [stream, server] = connect();
        auto body = [](ws::connection&) -> task<> { co_return; };
        auto refused = ws::with_connection(std::move(stream), "ws://server/other", body);
        WEIR_EXPECT_THROW_WITH(std::move(refused), ws::handshake_error, "404");
        server.cancel();
        co_await server.wait();
    }
    {
        auto [stream, server] = connect();
        auto body = [&](ws::connection& peer) -> task<> {
            co_await peer.send("before");
            const std::optional<ws::message> echoed = co_await peer.receive();
            EXPECT_TRUE(echoed);
            session.drain();
            const std::optional<ws::message> last = co_await peer.receive();
            EXPECT_FALSE(last);
            EXPECT_EQ(peer.code(), ws::close_code::going_away);
        };
        co_await ws::with_connection(std::move(stream), "ws://server/chat", body);
        co_await server;
    }
    EXPECT_EQ(net.stats().open, 0u);
}

}  // namespace
