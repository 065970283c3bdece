// SPDX-License-Identifier: MIT
// Responses, odd and hostile ones among them: incomplete bodies, endless heads, decompression
// bombs; redirects, and backpressure.

#include "tiny_server.hpp"
#include <support/io.hpp>

#include <weir/cancel.hpp>
#include <weir/http/client.hpp>
#include <weir/io/error.hpp>
#include <weir/outcome.hpp>
#include <weir/spawn.hpp>
#include <weir/sync/event.hpp>
#include <weir/testing/assertions.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <brotli/encode.h>
#include <zlib.h>

#include <array>
#include <functional>
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
using weir_test::seen_request;
using weir_test::tiny_server;
using kind = weir::http::transport_error::kind;
using socket = weir::io::socket;

std::string deflated(std::string_view text, int window_bits) {
    z_stream state{};
    EXPECT_EQ(deflateInit2(&state, 4, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string packed(deflateBound(&state, text.size()) + 64, '\0');
    state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    state.avail_in = static_cast<uInt>(text.size());
    state.next_out = reinterpret_cast<Bytef*>(packed.data());
    state.avail_out = static_cast<uInt>(packed.size());
    EXPECT_EQ(deflate(&state, Z_FINISH), Z_STREAM_END);
    packed.resize(state.total_out);
    deflateEnd(&state);
    return packed;
}

std::string brotli(std::string_view text) {
    std::string packed(BrotliEncoderMaxCompressedSize(text.size()) + 64, '\0');
    std::size_t size = packed.size();
    EXPECT_TRUE(BrotliEncoderCompress(5, 22, BROTLI_MODE_GENERIC, text.size(),
                                      reinterpret_cast<const std::uint8_t*>(text.data()), &size,
                                      reinterpret_cast<std::uint8_t*>(packed.data())));
    packed.resize(size);
    return packed;
}

// Responds to each target with the bytes in the table, and closes the connection where it says so.
class scripted_server {
public:
    void on(const std::string& target, std::string answer, bool closes = false) {
        answers_[target] = {std::move(answer), closes};
    }
    tiny_server::handler handler() {
        return [this](seen_request& seen, socket& peer) { return answer(seen, peer); };
    }
    std::vector<seen_request> seen;

private:
    struct scripted {
        std::string text;
        bool closes = false;
    };
    weir::task<bool> answer(seen_request& received, socket& peer) {
        seen.push_back(received);
        const scripted& found = answers_[received.target()];
        co_await peer.write(found.text);
        co_return !found.closes;
    }
    std::map<std::string, scripted> answers_;
};

// The text of the complete response, or the error.
weir::task<std::string> result_of(client& fetcher, std::string url) {
    try {
        client_response answer = co_await fetcher.get(url);
        std::string text = co_await answer.text(1'000'000);
        co_return text;
    } catch (const weir::http::transport_error& error) {
        const bool named = std::string(error.what()).starts_with("GET " + url + ": ");
        co_return (named ? "" : "UNNAMED ") + std::to_string(static_cast<int>(error.why()));
    } catch (const weir::limit_exceeded& error) {
        co_return std::string("limit: ") + (error.what() + url.size() + 6);
    } catch (const weir::http::redirect_error& error) {
        co_return std::string("redirect: ") + error.what();
    }
}

WEIR_IO_TEST(ClientResponse, BodiesEndAsTheyShouldOrFail) {
    scripted_server script;
    tiny_server server(script.handler());
    client fetcher({.max_header_count = 50, .max_header_bytes = 20'000});
    const std::string ok = "HTTP/1.1 200 OK\r\n";
    const auto code = [](kind why) { return std::to_string(static_cast<int>(why)); };
    struct {
        const char* name;
        std::string answer;
        bool closes;
        std::string expected;
    } const cases[] = {
        {"/close", ok + "\r\nall until the end", true, "all until the end"},
        {"/old", "HTTP/1.0 200 OK\r\n\r\nold", true, "old"},
        {"/chunked",
         ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: r\r\n\r\n",
         false, "abcde"},
        {"/none", "HTTP/1.1 204 No Content\r\n\r\n", false, ""},
        {"/informed",
         "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
         "2\r\n\r\nok",
         false, "ok"},
        {"/cut", ok + "Content-Length: 10\r\n\r\nshort", true, code(kind::closed)},
        {"/cut-chunk", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nabc", true, code(kind::closed)},
        {"/cut-chunks", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", true,
         code(kind::closed)},
        {"/bad-chunk", ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", true, code(kind::closed)},
        {"/nothing", "", true, code(kind::closed)},
        {"/half-head", "HTTP/1.1 200 OK\r\nContent-Le", true, code(kind::closed)},
        {"/no-http", "220 smtp.example ESMTP\r\n", true, code(kind::protocol)},
        {"/two-lengths", ok + "Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde", true,
         code(kind::protocol)},
        {"/list", ok + "Content-Length: 3, 3\r\n\r\nabc", true, code(kind::protocol)},
        {"/same-length", ok + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", false, "abc"},
        {"/both", ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", true,
         code(kind::protocol)},
        {"/bad-line", ok + "no colon here\r\nContent-Length: 0\r\n\r\n", true,
         code(kind::protocol)},
        {"/control", ok + "X: a\x01z\r\nContent-Length: 0\r\n\r\n", true, code(kind::protocol)},
        {"/folded-control", ok + "X: a\r\n b\x01z\r\nContent-Length: 0\r\n\r\n", true,
         code(kind::protocol)},
        {"/large", ok + "Content-Length: 1000001\r\n\r\n" + std::string(1'000'001, 'x'), true,
         "limit: the body has more than 1000000 bytes"},
        {"/exact", ok + "Content-Length: 1000000\r\n\r\n" + std::string(1'000'000, 'x'), false,
         std::string(1'000'000, 'x')},
    };
    for (const auto& each : cases) {
        script.on(each.name, each.answer, each.closes);
        const std::string got = co_await result_of(fetcher, server.url(each.name));
        EXPECT_TRUE(got == each.expected) << each.name << ": " << got.substr(0, 200);
    }
    std::string many = ok;
    for (int i = 0; i < 60; ++i) {
        many += "X-" + std::to_string(i) + ": y\r\n";
    }
    script.on("/many", many + "\r\n", true);
    std::string got = co_await result_of(fetcher, server.url("/many"));
    EXPECT_EQ(got, "limit: the response's head has more than 50 fields");
    script.on("/wide", ok + "X: " + std::string(30'000, 'w') + "\r\n\r\n", true);
    got = co_await result_of(fetcher, server.url("/wide"));
    EXPECT_EQ(got, "limit: the response's head has more than 20000 bytes");
    script.on("/folded", ok + "X-Folded: one\r\n  two \r\n\tthree\r\nContent-Length: 0\r\n\r\n");
    client_response folded = co_await fetcher.get(server.url("/folded"));
    EXPECT_EQ(folded.header("X-Folded"), "one two three");
    EXPECT_EQ(fetcher.stats().active, 0U);
    co_await server.stop();
}

WEIR_IO_TEST(ClientResponse, AnEndlessHeadIsCutOff) {
    tiny_server server([](seen_request&, socket& peer) -> weir::task<bool> {
        co_await peer.write("HTTP/1.1 200 OK\r\n");
        const std::string line = "X-Endless: " + std::string(1000, 'e') + "\r\n";
        for (;;) {
            co_await peer.write(line);
        }
    });
    client fetcher;
    std::string got = co_await result_of(fetcher, server.url());
    EXPECT_EQ(got, "limit: the response's head has more than 256 fields");
    EXPECT_EQ(fetcher.stats().open, 0U);
    co_await server.stop();
}

WEIR_IO_TEST(ClientResponse, Decompresses) {
    std::string text;
    for (int i = 0; i < 20'000; ++i) {
        text += "line " + std::to_string(i * 7919 % 1000) + "\n";
    }
    scripted_server script;
    tiny_server server(script.handler());
    client fetcher({.max_decompressed = 10'000'000});
    const std::string gzip = deflated(text, 15 + 16);
    const auto add = [&](const std::string& name, const std::string& coding,
                         const std::string& body) {
        script.on(name, ok_answer(body, "Content-Encoding: " + coding + "\r\n"));
    };
    add("/gzip", "gzip", gzip);
    add("/x-gzip", "X-GZIP", gzip);
    add("/zlib", "deflate", deflated(text, 15));
    add("/raw", "deflate", deflated(text, -15));
    add("/br", "br", brotli(text));
    add("/members", "gzip",
        deflated(text.substr(0, 1000), 15 + 16) + deflated(text.substr(1000), 15 + 16));
    add("/garbage-behind", "gzip", gzip + "garbage");
    for (const char* const each :
         {"/gzip", "/x-gzip", "/zlib", "/raw", "/br", "/members", "/garbage-behind"}) {
        client_response answer = co_await fetcher.get(server.url(each));
        EXPECT_FALSE(answer.headers().contains("Content-Encoding"));
        EXPECT_FALSE(answer.headers().contains("Content-Length"));
        std::string got;
        std::array<char, 777> piece{};
        for (;;) {
            const std::size_t count = co_await answer.read(piece);
            if (count == 0) {
                break;
            }
            got.append(piece.data(), count);
        }
        EXPECT_TRUE(got == text) << each << ": " << got.size();
    }
    // Left encoded: a coding that was not requested, an unknown one, several.
    add("/zstd", "zstd", "zz");
    add("/twice", "gzip, gzip", "gg");
    std::string got = co_await result_of(fetcher, server.url("/zstd"));
    EXPECT_EQ(got, "zz");
    got = co_await result_of(fetcher, server.url("/twice"));
    EXPECT_EQ(got, "gg");
    client_request own(method::get, server.url("/gzip"));
    own.set_header("Accept-Encoding", "gzip");
    client_response raw = co_await fetcher.send(std::move(own));
    got = co_await raw.text();
    EXPECT_TRUE(got == gzip);
    EXPECT_EQ(raw.header("Content-Encoding"), "gzip");

    const std::string bad = std::to_string(static_cast<int>(kind::protocol));
    add("/cut", "gzip", gzip.substr(0, gzip.size() / 2));
    add("/cut-br", "br", brotli(text).substr(0, 500));
    add("/broken", "gzip", "this is no gzip");
    add("/broken-br", "br", std::string(100, '\xff'));
    add("/empty", "gzip", "");
    for (const char* const each : {"/cut", "/cut-br", "/broken", "/broken-br"}) {
        got = co_await result_of(fetcher, server.url(each));
        EXPECT_EQ(got, bad) << each;
    }
    got = co_await result_of(fetcher, server.url("/empty"));
    EXPECT_EQ(got, "");
    co_await server.stop();
}

WEIR_IO_TEST(ClientResponse, BombsAreDefused) {
    const std::string zeros(16'000'000, '\0');
    scripted_server script;
    tiny_server server(script.handler());
    script.on("/gzip", ok_answer(deflated(zeros, 15 + 16), "Content-Encoding: gzip\r\n"));
    script.on("/br", ok_answer(brotli(zeros), "Content-Encoding: br\r\n"));
    client fetcher({.max_decompressed = 2'000'000});
    for (const char* const each : {"/gzip", "/br"}) {
        client_response answer = co_await fetcher.get(server.url(each));
        std::array<char, 5000> piece{};
        std::size_t total = 0;
        try {
            for (;;) {
                const std::size_t count = co_await answer.read(piece);
                total += count;
            }
        } catch (const weir::limit_exceeded& error) {
            EXPECT_EQ(error.what(), "GET " + server.url(each) +
                                        ": the body has more than 2000000 bytes when decompressed");
        }
        EXPECT_LE(total, 2'000'000U);
        std::string got = co_await result_of(fetcher, server.url(each));
        EXPECT_EQ(got, "limit: the body has more than 1000000 bytes");
    }
    co_await server.stop();
}

WEIR_IO_TEST(ClientResponse, RedirectsAreFollowedByTheRules) {
    scripted_server script;
    tiny_server server(script.handler());
    scripted_server other_script;
    tiny_server other(other_script.handler());
    client fetcher({.max_redirects = 3});
    const auto redirect = [](int code, const std::string& location) {
        return "HTTP/1.1 " + std::to_string(code) + " Moved\r\nLocation: " + location +
               "\r\nContent-Length: 4\r\n\r\nmove";
    };
    script.on("/final", ok_answer("final"));
    script.on("/a", redirect(301, "b?x=1"));
    script.on("/b?x=1", redirect(302, "/c d"));
    script.on("/c%20d", redirect(307, server.url("/final#part")));
    client_response answer = co_await fetcher.get(server.url("/a"));
    EXPECT_EQ(answer.redirects(), 3);
    EXPECT_EQ(answer.url().text(), server.url("/final"));
    std::string got = co_await answer.text();
    EXPECT_EQ(got, "final");
    EXPECT_EQ(server.connections(), 1);

    script.on("/loop", redirect(302, "/loop"));
    got = co_await result_of(fetcher, server.url("/loop"));
    EXPECT_EQ(got, "redirect: GET " + server.url("/loop") + ": more than 3 redirects");
    script.on("/ftp", redirect(302, "ftp://127.0.0.1/"));
    got = co_await result_of(fetcher, server.url("/ftp"));
    EXPECT_NE(got.find("not an http or https URL"), std::string::npos) << got;
    script.on("/bad", redirect(302, "http://[bad/"));
    got = co_await result_of(fetcher, server.url("/bad"));
    EXPECT_NE(got.find("not an http or https URL"), std::string::npos) << got;

    // The method and the body: as the status says.
    struct {
        int code;
        const char* method;
        const char* then;
        const char* body;
    } const cases[] = {
        {301, "POST", "GET", ""},    {302, "POST", "GET", ""},    {303, "POST", "GET", ""},
        {303, "PUT", "GET", ""},     {301, "PUT", "PUT", "data"}, {307, "POST", "POST", "data"},
        {308, "PUT", "PUT", "data"}, {303, "HEAD", "HEAD", ""},   {302, "PATCH", "PATCH", "data"}};
    for (const auto& each : cases) {
        script.on("/from", redirect(each.code, "/to"));
        script.on("/to", ok_answer(std::string_view(each.method) == "HEAD" ? "" : "there"));
        if (std::string_view(each.method) == "HEAD") {
            script.on("/from", "HTTP/1.1 303 See\r\nLocation: /to\r\nContent-Length: 0\r\n\r\n");
        }
        client_request request(each.method, server.url("/from"));
        if (std::string_view(each.method) != "HEAD") {
            request.set_body(std::string("data"), "text/x");
        }
        client_response answered = co_await fetcher.send(std::move(request));
        co_await answered.discard();
        const seen_request& last = script.seen.back();
        EXPECT_TRUE(last.head.starts_with(std::string(each.then) + " /to ")) << last.head;
        EXPECT_EQ(last.body, each.body) << each.code << each.method;
        EXPECT_EQ(last.header("Content-Type").empty(), std::string_view(each.body).empty());
    }

    // Secrets stay with the origin they were meant for.
    script.on("/away", redirect(302, other.url("/there")));
    other_script.on("/there", ok_answer("elsewhere"));
    script.on("/here", redirect(302, "/to"));
    for (const bool leaves : {true, false}) {
        client_request request(method::get, server.url(leaves ? "/away" : "/here"));
        request.set_bearer("secret").set_header("Cookie", "a=b").set_header("X-Mine", "m");
        client_response answered = co_await fetcher.send(std::move(request));
        co_await answered.discard();
        const seen_request& last = leaves ? other_script.seen.back() : script.seen.back();
        EXPECT_EQ(last.header("Authorization").empty(), leaves) << last.head;
        EXPECT_EQ(last.header("Cookie").empty(), leaves) << last.head;
        EXPECT_EQ(last.header("X-Mine"), "m");
    }
    std::string with_user = other.url("/there");
    script.on("/user", redirect(302, with_user.insert(7, "eve:pw@")));
    client_response anonymous = co_await fetcher.get(server.url("/user"));
    co_await anonymous.discard();
    EXPECT_EQ(other_script.seen.back().header("Authorization"), "");

    client_request same(method::get, server.url("/away"));
    same.set_redirects(weir::http::redirects::same_host);
    client_response stays = co_await fetcher.send(std::move(same));
    EXPECT_EQ(stays.status(), status::found);
    got = co_await stays.text();
    EXPECT_EQ(got, "move");
    client_request none(method::get, server.url("/here"));
    none.set_redirects(weir::http::redirects::none);
    client_response itself = co_await fetcher.send(std::move(none));
    EXPECT_EQ(itself.header("Location"), "/to");
    itself = co_await fetcher.get(server.url("/final"));

    script.on("/stream", redirect(307, "/to"));
    client_request streamed(method::post, server.url("/stream"));
    streamed.set_body(weir::http::body::stream(
        [](weir::http::body_writer& out) -> weir::task<> { co_await out.write("abc"); }, 3));
    try {
        client_response no = co_await fetcher.send(std::move(streamed));
        ADD_FAILURE();
    } catch (const weir::http::redirect_error& error) {
        EXPECT_NE(std::string(error.what()).find("cannot be sent again"), std::string::npos);
    }

    // So do those that go with every request, and a length that was given for the body.
    client known;
    known.default_headers().set("Authorization", "Bearer default");
    known.default_headers().set("X-Mine", "m");
    client_response far = co_await known.get(server.url("/away"));
    co_await far.discard();
    EXPECT_EQ(other_script.seen.back().header("Authorization"), "");
    EXPECT_EQ(other_script.seen.back().header("X-Mine"), "m");
    client_response near = co_await known.get(server.url("/here"));
    co_await near.discard();
    EXPECT_EQ(script.seen.back().header("Authorization"), "Bearer default");
    script.on("/from", redirect(303, "/to"));
    client_request sized(method::post, server.url("/from"));
    sized.set_body(std::string("data")).set_header("Content-Length", "4");
    client_response seen_other = co_await known.send(std::move(sized));
    co_await seen_other.discard();
    EXPECT_EQ(script.seen.back().header("Content-Length"), "");
    co_await server.stop();
    co_await other.stop();
}

// An error in a body may be found while a task waits for more of it: then libcurl is running.
WEIR_IO_TEST(ClientResponse, ABodyThatTurnsBadWhileItIsAwaited) {
    weir::event waits;
    weir::event over;
    std::string bad;
    tiny_server server([&](seen_request&, socket& peer) -> weir::task<bool> {
        co_await peer.write(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 10000000\r\n\r\n");
        co_await waits.wait();
        co_await peer.write(bad);
        co_await over.wait();
        co_await peer.write(std::string(1000, 'x'));
        co_return true;
    });
    client fetcher({.max_decompressed = 100'000});
    const auto reads = [&](client_response& answer) -> weir::task<> {
        std::array<char, 8192> piece{};
        std::size_t count = 1;
        while (count > 0) {
            count = co_await answer.read(piece);
        }
    };
    for (const bool is_bomb : {false, true}) {
        bad = is_bomb ? deflated(std::string(1'000'000, 'z'), 15 + 16) : "this is no gzip at all";
        waits.clear();
        over.clear();
        {
            client_response answer = co_await fetcher.get(server.url("/"));
            auto reading = weir::spawn(reads(answer));
            co_await weir::sleep(5ms);
            waits.set();
            const auto ended = co_await weir::settle(std::move(reading));
            WEIR_ASSERT_TRUE(ended.has_error());
            try {
                ended.value();
            } catch (const weir::limit_exceeded&) {
                EXPECT_TRUE(is_bomb);
            } catch (const weir::http::transport_error& error) {
                EXPECT_FALSE(is_bomb);
                EXPECT_EQ(error.why(), kind::protocol);
            }
            EXPECT_EQ(fetcher.stats().active, 0U);
        }
        over.set();
        co_await weir::sleep(5ms);
        EXPECT_EQ(fetcher.stats().active, 0U);
        EXPECT_EQ(fetcher.stats().open, 0U);
    }
    co_await server.stop();
}

// Neither memory nor time without bounds: fields behind the body, and lines folded ten thousand
// times.
WEIR_IO_TEST(ClientResponse, TrailersAndFoldedLinesHaveLimits) {
    scripted_server script;
    tiny_server server(script.handler());
    client fetcher({.max_header_bytes = 100'000});
    std::string trailers = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n";
    for (int i = 0; i < 5000; ++i) {
        trailers += "X-Trailer: " + std::string(40, 'x') + "\r\n";
    }
    script.on("/trailers", trailers + "\r\n");
    std::string got = co_await result_of(fetcher, server.url("/trailers"));
    EXPECT_EQ(got, "limit: the response's head and trailers have more than 100000 bytes");
    std::string folded = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n";
    for (int i = 0; i < 200; ++i) {
        folded += "X-Many: 1\r\n";
    }
    folded += "X-Folded: 0";
    std::string unfolded = "0";
    for (int i = 0; i < 10'000; ++i) {
        folded += "\r\n " + std::to_string(i % 10);
        unfolded += " " + std::to_string(i % 10);
    }
    script.on("/folded", folded + "\r\n\r\nok");
    client_response answer = co_await fetcher.get(server.url("/folded"));
    EXPECT_EQ(answer.header("X-Folded"), unfolded);
    got = co_await answer.text();
    EXPECT_EQ(got, "ok");
    co_await server.stop();
}

WEIR_IO_TEST(ClientResponse, HoldsBackTheServerWhileNothingReads) {
    constexpr std::size_t size = 20'000'000;
    const std::string content = pattern(size);
    std::size_t sent = 0;
    tiny_server server([&](seen_request&, socket& peer) -> weir::task<bool> {
        co_await peer.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) +
                            "\r\n\r\n");
        for (sent = 0; sent < size;) {
            const std::size_t count = std::min<std::size_t>(100'000, size - sent);
            co_await peer.write(std::string_view(content).substr(sent, count));
            sent += count;
        }
        co_return true;
    });
    client fetcher;
    client_request request(method::get, server.url());
    request.set_stall_timeout(400ms);  // ours, not the server's
    client_response answer = co_await fetcher.send(std::move(request));
    std::size_t before = 0;
    do {
        before = sent;
        co_await weir::sleep(600ms);
    } while (sent != before);
    EXPECT_LT(sent, size);
    std::string got;
    got.reserve(size);
    std::vector<char> piece(70'000);
    for (;;) {
        const std::size_t count = co_await answer.read(piece);
        if (count == 0) {
            break;
        }
        got.append(piece.data(), count);
    }
    EXPECT_TRUE(got == content);
    co_await server.stop();
}

}  // namespace
