// SPDX-License-Identifier: MIT
// What is accepted and what becomes of it; limits, met exactly and exceeded by one; input without
// an end.

#include "parse.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

using weir::http::method;
using weir::http::protocol_error;
using weir::http::detail::chunk_decoder;
using weir::test::parse_all;
using weir::test::parse_result;
using weir::test::parsed_request;
using weir::test::parser_limits;
using weir::test::request_head;
using weir::test::request_parser;

request_head head_of(const std::string& text) {
    const parse_result result = parse_all(text);
    EXPECT_EQ(result.requests.size(), 1u) << text << ": " << result.detail;
    return result.requests.empty() ? request_head{} : result.requests.front().head;
}

unsigned status_of(const std::string& text, const parser_limits& limits) {
    const parse_result result = parse_all(text, limits);
    return result.status != 0 ? result.status : result.requests.empty() ? 0 : 200;
}

TEST(RequestParser, GivesThePartsOfAHead) {
    const request_head head = head_of(
        "PATCH /a%20b?c=d HTTP/1.1\r\nHost: example.org:8080\r\nX-Empty:\r\nX-Tabs:\t a\tb \t\r\n"
        "X-Same: 1\r\nx-same: 2\r\nX-Obs: \xe4\r\n\r\n");
    EXPECT_EQ(head.method, method::patch);
    EXPECT_EQ(head.method_name, "PATCH");
    EXPECT_EQ(head.target, "/a%20b?c=d");
    EXPECT_EQ(head.minor_version, 1u);
    ASSERT_EQ(head.fields.size(), 6u);
    EXPECT_EQ(head.fields[0].name, "Host");
    EXPECT_EQ(head.fields.get("host"), "example.org:8080");
    EXPECT_EQ(head.fields.find("x-empty"), "");
    EXPECT_EQ(head.fields.get("x-tabs"), "a\tb");
    EXPECT_EQ(head.fields.joined("X-Same"), "1, 2");
    EXPECT_EQ(head.fields.get("X-Obs"), "\xe4");
    EXPECT_TRUE(head.keep_alive);
    EXPECT_FALSE(head.expects_continue || head.wants_upgrade || head.is_chunked);
    EXPECT_EQ(head.content_length, std::nullopt);
    EXPECT_EQ(head_of("PURGE / HTTP/1.1\r\nHost: a\r\n\r\n").method, method::other);
    EXPECT_EQ(head_of("get / HTTP/1.1\r\nHost: a\r\n\r\n").method_name, "get");
}

TEST(RequestParser, ForgetsTheRequestBefore) {
    const parse_result result = parse_all(
        "POST / HTTP/1.0\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\nx"
        "POST /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\nExpect: "
        "100-continue\r\n"
        "Transfer-Encoding: chunked\r\n\r\n1\r\ny\r\n0\r\n\r\n"
        "GET /b HTTP/1.1\r\nHost: b\r\n\r\n");
    ASSERT_EQ(result.requests.size(), 3u) << result.detail;
    // The same head for all of them, as connections have it.
    request_parser parser({});
    request_head head;
    const std::string first =
        "POST /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\nUpgrade: x\r\n"
        "Expect: 100-continue\r\nContent-Length: 1\r\n\r\n";
    ASSERT_EQ(parser.parse_head(first, head), first.size());
    EXPECT_TRUE(head.wants_upgrade && head.expects_continue && !head.keep_alive);
    EXPECT_FALSE(parser.is_body_done());
    parser.reset();
    const std::string second = "GET /b HTTP/1.1\r\nHost: b\r\n\r\n";
    ASSERT_EQ(parser.parse_head(second, head), second.size());
    EXPECT_FALSE(head.wants_upgrade || head.expects_continue || head.is_chunked);
    EXPECT_TRUE(head.keep_alive && parser.is_body_done());
    EXPECT_EQ(head.content_length, std::nullopt);
    EXPECT_EQ(head.fields.size(), 1u);
    EXPECT_EQ(parser.direct_bytes(), 0u);
    const std::string third = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    ASSERT_EQ(parser.parse_head(third, head), third.size());
    EXPECT_TRUE(head.is_chunked && !parser.is_body_done());
    parser.reset();
    ASSERT_EQ(parser.parse_head(second, head), second.size());
    EXPECT_FALSE(head.is_chunked || !parser.is_body_done());
}

TEST(RequestParser, TargetsHaveFourForms) {
    const auto target_of = [](const std::string& line, const std::string& host) {
        return head_of(line + "\r\nHost: " + host + "\r\n\r\n").target;
    };
    EXPECT_EQ(target_of("GET http://a/b?c HTTP/1.1", "a"), "/b?c");
    EXPECT_EQ(target_of("GET HTTPS://A:81 HTTP/1.1", "a:81"), "/");
    EXPECT_EQ(target_of("GET http://[::1]?c HTTP/1.1", "[::1]"), "/?c");
    EXPECT_EQ(target_of("GET http://a//b:c@d HTTP/1.1", "a"), "//b:c@d");
    EXPECT_EQ(target_of("OPTIONS http://a HTTP/1.1", "a"), "*");
    EXPECT_EQ(target_of("OPTIONS http://a/ HTTP/1.1", "a"), "/");
    EXPECT_EQ(target_of("OPTIONS * HTTP/1.1", "a"), "*");
    EXPECT_EQ(target_of("CONNECT a:443 HTTP/1.1", "a:443"), "a:443");
    EXPECT_EQ(target_of("GET //a/../%00|^{}\"<>\\[] HTTP/1.1", "a"), "//a/../%00|^{}\"<>\\[]");
    EXPECT_EQ(head_of("GET http://a:8/b HTTP/1.0\r\n\r\n").fields.get("Host"), "a:8");
    EXPECT_TRUE(head_of("GET /b HTTP/1.0\r\n\r\n").fields.empty());
}

TEST(RequestParser, ConnectionSaysWhetherItStaysOpen) {
    const auto keeps = [](const std::string& version, const std::string& lines) {
        return head_of("GET / HTTP/" + version + "\r\nHost: a\r\n" + lines + "\r\n").keep_alive;
    };
    EXPECT_TRUE(keeps("1.1", ""));
    EXPECT_TRUE(keeps("1.1", "Connection: keep-alive\r\n"));
    EXPECT_TRUE(keeps("1.1", "Connection:\r\n"));
    EXPECT_TRUE(keeps("1.1", "Proxy-Connection: close\r\n"));
    EXPECT_FALSE(keeps("1.1", "Connection: CLOSE\r\n"));
    EXPECT_FALSE(keeps("1.1", "Connection: keep-alive, close\r\n"));
    EXPECT_FALSE(keeps("1.1", "Connection: close\r\nConnection: keep-alive\r\n"));
    EXPECT_FALSE(keeps("1.0", ""));
    EXPECT_TRUE(keeps("1.0", "Connection: x , Keep-Alive\r\n"));
    EXPECT_FALSE(keeps("1.0", "Connection: keep-alive\r\nConnection: close\r\n"));
    EXPECT_FALSE(keeps("1.0", "Proxy-Connection: keep-alive\r\n"));
}

TEST(RequestParser, ExpectationsAndUpgradesNeedTheirCounterpart) {
    const auto parsed = [](const std::string& line, const std::string& lines,
                           const std::string& body = "") {
        return head_of(line + "\r\nHost: a\r\n" + lines + "\r\n" + body);
    };
    const std::string post = "POST / HTTP/1.1";
    EXPECT_TRUE(
        parsed(post, "Expect: 100-Continue\r\nContent-Length: 1\r\n", "x").expects_continue);
    EXPECT_FALSE(parsed(post, "Expect: 100-continue\r\nContent-Length: 0\r\n").expects_continue);
    EXPECT_FALSE(parsed(post, "Expect: 100-continue\r\n").expects_continue);
    EXPECT_FALSE(parsed("POST / HTTP/1.0", "Expect: 100-continue\r\nContent-Length: 1\r\n", "x")
                     .expects_continue);
    EXPECT_TRUE(parsed(post, "Connection: a, upgrade\r\nUpgrade: websocket\r\n").wants_upgrade);
    EXPECT_FALSE(parsed(post, "Connection: upgrade\r\n").wants_upgrade);
    EXPECT_FALSE(parsed(post, "Upgrade: websocket\r\n").wants_upgrade);
    EXPECT_FALSE(
        parsed("GET / HTTP/1.0", "Connection: upgrade\r\nUpgrade: websocket\r\n").wants_upgrade);
}

TEST(RequestParser, DataWithALengthMayGoPastIt) {
    request_parser parser({});
    request_head head;
    const std::string text = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123";
    const std::size_t size = parser.parse_head(text, head);
    ASSERT_EQ(size, text.size() - 4);
    EXPECT_EQ(parser.direct_bytes(), 10u);
    std::string memory(3, ' ');
    const auto [used, produced] = parser.parse_body(std::string_view(text).substr(size), memory);
    EXPECT_EQ(used, 3u);
    EXPECT_EQ(produced, 3u);
    EXPECT_EQ(memory, "012");
    EXPECT_EQ(parser.direct_bytes(), 7u);
    parser.count_direct(6);
    EXPECT_FALSE(parser.is_body_done());
    parser.count_direct(1);
    EXPECT_TRUE(parser.is_body_done());
    EXPECT_EQ(parser.parse_body("GET", memory).used, 0u);
}

TEST(RequestParser, FramingIsUsedUpWithoutRoomForData) {
    request_parser parser({});
    request_head head;
    const std::string text = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    ASSERT_EQ(parser.parse_head(text, head), text.size());
    EXPECT_EQ(parser.direct_bytes(), 0u);
    std::string memory(2, ' ');
    const std::string body = "2\r\nab\r\n0\r\nA: b\r\n\r\nGET";
    EXPECT_EQ(parser.parse_body(body, weir::io::bytes()).used, 3u);
    const auto [used, produced] = parser.parse_body(body.substr(3), memory);
    EXPECT_EQ(used, body.size() - 3 - 3);
    EXPECT_EQ(produced, 2u);
    EXPECT_TRUE(parser.is_body_done());
    EXPECT_EQ(parser.parse_body("1", memory).used, 0u);
}

TEST(RequestParserLimits, OfTheHeadAreMetExactly) {
    const std::string line = "GET / HTTP/1.1\r\n";
    const std::string host = "Host: a\r\n";
    const std::size_t size = 200;
    const std::string start = line + host + "X: ";
    const std::string text = start + std::string(size - start.size() - 4, 'x') + "\r\n\r\n";
    ASSERT_EQ(text.size(), size);
    EXPECT_EQ(status_of(text, {.header_bytes = size}), 200u);
    EXPECT_EQ(status_of(text + "more", {.header_bytes = size}), 200u);
    EXPECT_EQ(status_of(text, {.header_bytes = size - 1}), 431u);
    EXPECT_EQ(status_of(text.substr(0, size - 1), {.header_bytes = size}), 0u);
    EXPECT_EQ(status_of("\r\n" + text, {.header_bytes = size + 1}), 431u);
    EXPECT_EQ(status_of("\r\n" + text, {.header_bytes = size + 2}), 200u);
    EXPECT_EQ(status_of(line, {.header_bytes = line.size()}), 431u);
    EXPECT_EQ(status_of(line, {.header_bytes = line.size() - 1}), 414u);
    EXPECT_EQ(status_of("GET /" + std::string(16384, 'a'), {}), 414u);

    EXPECT_EQ(status_of(line + host + "A:\r\nB:\r\n\r\n", {.header_count = 3}), 200u);
    EXPECT_EQ(status_of(line + host + "A:\r\nB:\r\nC:\r\n\r\n", {.header_count = 3}), 431u);
    EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n", {.header_count = 0}), 200u);
    EXPECT_EQ(status_of("GET / HTTP/1.0\r\nA:\r\n\r\n", {.header_count = 0}), 431u);
}

TEST(RequestParserLimits, OfTheBodyAreMetExactly) {
    const std::string start = "POST / HTTP/1.1\r\nHost: a\r\n";
    const auto sized = [&](const std::string& body) {
        return start + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    };
    EXPECT_EQ(status_of(sized("abc"), {.body_bytes = 3}), 200u);
    EXPECT_EQ(status_of(sized("abcd"), {.body_bytes = 3}), 413u);
    EXPECT_EQ(status_of(sized(""), {.body_bytes = 0}), 200u);
    const std::string chunked = start + "Transfer-Encoding: chunked\r\n\r\n";
    EXPECT_EQ(status_of(chunked + "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", {.body_bytes = 3}), 200u);
    EXPECT_EQ(status_of(chunked + "2\r\nab\r\n2\r\n", {.body_bytes = 3}), 413u);
    EXPECT_EQ(status_of(chunked + "0\r\n\r\n", {.body_bytes = 0}), 200u);
    EXPECT_EQ(status_of(chunked + "1\r\n", {.body_bytes = 0}), 413u);
    EXPECT_EQ(status_of(chunked + "ffffffffffffffff\r\nabc",
                        {.body_bytes = std::numeric_limits<std::uint64_t>::max()}),
              0u);
    EXPECT_EQ(status_of(chunked + "1\r\na\r\nffffffffffffffff\r\nabc",
                        {.body_bytes = std::numeric_limits<std::uint64_t>::max()}),
              413u);
}

TEST(RequestParserLimits, OfOneBodyCanBeSetAfterItsHead) {
    const auto limited = [](const std::string& lines, const std::string& body,
                            std::uint64_t limit) {
        request_parser parser({.body_bytes = 100});
        request_head head;
        std::string memory(100, ' ');
        try {
            parser.parse_head("POST / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n", head);
            parser.set_body_limit(limit);
            parser.parse_body(body, memory);
            EXPECT_TRUE(parser.is_body_done());
            return 200u;
        } catch (const protocol_error& error) {
            return weir::http::number_of(error.code());
        }
    };
    EXPECT_EQ(limited("Content-Length: 3\r\n", "abc", 3), 200u);
    EXPECT_EQ(limited("Content-Length: 3\r\n", "abc", 2), 413u);
    EXPECT_EQ(limited("", "", 0), 200u);
    const std::string coding = "Transfer-Encoding: chunked\r\n";
    EXPECT_EQ(limited(coding, "3\r\nabc\r\n0\r\n\r\n", 3), 200u);
    EXPECT_EQ(limited(coding, "3\r\nabc\r\n0\r\n\r\n", 2), 413u);
    EXPECT_EQ(limited(coding, "65\r\n" + std::string(101, 'x') + "\r\n0\r\n\r\n", 50), 413u);
}

// One limit for all extensions of a body, one for all trailers.
TEST(RequestParserLimits, OfChunkFramingAreMetExactly) {
    const auto decoded = [](const std::string& body) {
        chunk_decoder decoder;
        decoder.start(
            {.body_bytes = 100, .extension_bytes = 10, .trailer_bytes = 20, .trailer_count = 2});
        std::string memory(100, ' ');
        try {
            decoder.decode(body, memory);
            EXPECT_TRUE(decoder.is_done());
            return 200u;
        } catch (const protocol_error& error) {
            return weir::http::number_of(error.code());
        }
    };
    EXPECT_EQ(decoded("1;1234567890\r\na\r\n0\r\n\r\n"), 200u);
    EXPECT_EQ(decoded("1;12345678901\r\na\r\n0\r\n\r\n"), 413u);
    EXPECT_EQ(decoded("1;12345\r\na\r\n1;1234\r\na\r\n0;1\r\n\r\n"), 200u);
    EXPECT_EQ(decoded("1;12345\r\na\r\n1;1234\r\na\r\n0;12\r\n\r\n"), 413u);
    EXPECT_EQ(decoded("0\r\na: 345678901234\r\n1:\r\n\r\n"), 431u);
    EXPECT_EQ(decoded("0\r\na: 3456789\r\n1: 3\r\n\r\n"), 200u);
    EXPECT_EQ(decoded("0\r\na: 34567890\r\n1: 3\r\n\r\n"), 431u);
    EXPECT_EQ(decoded("0\r\na:\r\nb:\r\n\r\n"), 200u);
    EXPECT_EQ(decoded("0\r\na:\r\nb:\r\nc:\r\n\r\n"), 431u);
}

// ';' name ['=' value], with blanks around them but not at the end.
TEST(RequestParser, ChunkExtensionsFollowTheGrammar) {
    const auto status_of = [](const std::string& extension) {
        chunk_decoder decoder;
        decoder.start({.body_bytes = 100});
        std::string memory(100, ' ');
        try {
            decoder.decode("1" + extension + "\r\na\r\n0\r\n\r\n", memory);
            EXPECT_TRUE(decoder.is_done());
            return 200u;
        } catch (const protocol_error& error) {
            return weir::http::number_of(error.code());
        }
    };
    for (const char* const valid :
         {"", ";a", ";a=b", ";a=\"\"", ";a=\"b;c=\\\"d\"", "; a", "; a = b", ";a;b", ";a=b;c",
          ";a=\"b\" ;c", ";a ;b", ";!#$%&'*+-.^_`|~0=1"}) {
        EXPECT_EQ(status_of(valid), 200u) << valid;
    }
    for (const char* const invalid :
         {";",     "; ",     ";;",    ";a;",    ";a; ",   ";=b",    ";a=",       ";a= ",
          ";a=;b", ";a ",    ";a=b ", ";a b",   ";a=b c", ";a=\"b", ";a=\"b\"c", ";a=\"b\\\"",
          ";a==b", ";a=b=c", ";(a)",  ";a=(b)", ";\"a\"", ";a\n",   ";a=\"\n\"", ";\xc3\xa9"}) {
        EXPECT_EQ(status_of(invalid), 400u) << invalid;
    }
}

// How much has to be received until such input is refused; the parser keeps none of it.
std::size_t refused_after(const std::string& start, const std::string& repeated, unsigned status,
                          const parser_limits& limits = {}) {
    request_parser parser(limits);
    request_head head;
    std::string received = start;
    std::size_t before = 0;
    std::string memory(4096, ' ');
    try {
        bool in_body = false;
        for (std::size_t total = 0; total < 100'000'000; total += repeated.size()) {
            if (!in_body) {
                if (const std::size_t size = parser.parse_head(received, head); size != 0) {
                    received.erase(0, size);
                    in_body = true;
                }
            }
            if (in_body) {
                while (!received.empty()) {
                    const auto [used, produced] = parser.parse_body(received, memory);
                    before += used;
                    received.erase(0, used);
                }
            }
            received += repeated;
        }
    } catch (const protocol_error& error) {
        EXPECT_EQ(weir::http::number_of(error.code()), status) << error.what();
        return before + received.size();
    }
    ADD_FAILURE() << "never refused";
    return 0;
}

TEST(RequestParserLimits, InputWithoutAnEndIsRefusedInTime) {
    const std::string line = "POST / HTTP/1.1\r\n";
    const std::string chunked = line + "Host: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    // A million headers; and in one piece.
    EXPECT_LE(refused_after(line, "a: b\r\n", 431), 1000u);
    std::string million = line;
    for (int i = 0; i < 1'000'000; ++i) {
        million += "a: b\r\n";
    }
    EXPECT_EQ(status_of(million, {}), 431u);
    EXPECT_LE(refused_after(line, "a", 431), 16384u);
    EXPECT_LE(refused_after(line + "a: ", "a", 431), 16384u);
    EXPECT_LE(refused_after("", "a", 414), 16384u);
    EXPECT_LE(refused_after("", "\r\n", 400), 8u);
    // Chunk lines, extensions, trailers, data.
    EXPECT_LE(refused_after(chunked, "0", 400), 20u);
    EXPECT_LE(refused_after(chunked + "1;", "a", 413), 16400u);
    EXPECT_LE(refused_after(chunked, "1;aaaaaaaaaaaaaa\r\na\r\n", 413), 30000u);
    EXPECT_LE(refused_after(chunked + "0\r\na: ", "a", 431), 16400u);
    EXPECT_LE(refused_after(chunked + "0\r\n", "a:\r\n", 431), 500u);
    EXPECT_LE(refused_after(chunked + "0\r\n", "a", 431), 16400u);
    EXPECT_LE(refused_after(chunked, "1\r\na\r\n", 413), 6u * ((1 << 20) + 1));
    EXPECT_LE(refused_after(chunked, "400\r\n" + std::string(1024, 'x') + "\r\n", 413), 1100000u);
}

}  // namespace
