// SPDX-License-Identifier: MIT
// Requests that another implementation could read differently, and requests that no implementation
// should accept.

#include "parse.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::string_literals;
using weir::test::parse_all;
using weir::test::parse_pieces;
using weir::test::parse_result;
using weir::test::parser_limits;

struct attack {
    std::string bytes;
    unsigned status;
};

// With a proper request line and Host in front, and the end of the head behind.
std::string with(const std::string& lines) {
    return "POST / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n";
}
std::string chunked(const std::string& body) {
    return with("Transfer-Encoding: chunked\r\n") + body;
}

std::vector<attack> framing_attacks() {
    return {
        // Two lengths.
        {with("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n", 400},
        {with("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n") + "0\r\n\r\n", 400},
        {with("Transfer-Encoding: gzip\r\nContent-Length: 3\r\n") + "abc", 400},
        {with("Content-Length: 3\r\nContent-Length: 4\r\n") + "abcd", 400},
        {with("Content-Length: 3\r\nContent-Length: 3\r\n") + "abc", 400},
        {with("Content-Length: 3\r\ncontent-length: 3\r\n") + "abc", 400},
        {with("Content-Length: 3, 3\r\n") + "abc", 400},
        {with("Content-Length: 3,\r\n") + "abc", 400},
        // No lengths.
        {with("Content-Length:\r\n"), 400},
        {with("Content-Length: \r\n"), 400},
        {with("Content-Length: +3\r\n") + "abc", 400},
        {with("Content-Length: -3\r\n") + "abc", 400},
        {with("Content-Length: -0\r\n"), 400},
        {with("Content-Length: 3 4\r\n") + "abc", 400},
        {with("Content-Length: 0x3\r\n") + "abc", 400},
        {with("Content-Length: 3.0\r\n") + "abc", 400},
        {with("Content-Length: 3e0\r\n") + "abc", 400},
        {with("Content-Length: \"3\"\r\n") + "abc", 400},
        {with("Content-Length: 3;\r\n") + "abc", 400},
        {with("Content-Length: 3\v\r\n") + "abc", 400},
        {with("Content-Length: \xd9\xa3\r\n") + "abc", 400},
        {with("Content-Length: 18446744073709551616\r\n"), 400},
        {with("Content-Length: 18446744073709551619\r\n"), 400},
        {with("Content-Length: 99999999999999999999999999\r\n"), 400},
        {with("Content-Length: 18446744073709551615\r\n"), 413},
        {with("Content-Length: 1048577\r\n"), 413},
        // Transfer codings.
        {with("Transfer-Encoding: chunked, chunked\r\n"), 400},
        {with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
        {with("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"), 400},
        {with("Transfer-Encoding: identity\r\n"), 400},
        {with("Transfer-Encoding: identity, chunked\r\n"), 400},
        {with("Transfer-Encoding: chunked, identity\r\n"), 400},
        {with("Transfer-Encoding: xchunked\r\n"), 400},
        {with("Transfer-Encoding: chunkedx\r\n"), 400},
        {with("Transfer-Encoding: chunked x\r\n"), 400},
        {with("Transfer-Encoding: \"chunked\"\r\n"), 400},
        {with("Transfer-Encoding: chunked;q=1\r\n"), 400},
        {with("Transfer-Encoding: chunked;\r\n"), 400},
        {with("Transfer-Encoding: ,chunked\r\n"), 400},
        {with("Transfer-Encoding: chunked,\r\n"), 400},
        {with("Transfer-Encoding:\r\n"), 400},
        {with("Transfer-Encoding: gzip\r\n"), 400},
        {with("Transfer-Encoding: chunked, gzip\r\n"), 400},
        {with("Transfer-Encoding: \vchunked\r\n"), 400},
        {with("Transfer-Encoding: chunked\v\r\n"), 400},
        {with("Transfer-Encoding: chunked\x7f\r\n"), 400},
        {with("Transfer-Encoding: chun\xa0ked\r\n"), 400},
        {with("Transfer-Encoding: gzip, chunked\r\n"), 501},
        {with("Transfer-Encoding: x;a=b, chunked\r\n"), 501},
        {"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        // Framing headers in disguise.
        {with("Transfer-Encoding : chunked\r\n"), 400},
        {with("Transfer-Encoding\t: chunked\r\n"), 400},
        {with(" Transfer-Encoding: chunked\r\n"), 400},
        {with("X: y\r\n Transfer-Encoding: chunked\r\n"), 400},
        {with("X: y\r\n\tTransfer-Encoding: chunked\r\n"), 400},
        {with("X: y\r\n \r\n"), 400},
        {with("Transfer-Encoding:\r\n chunked\r\n"), 400},
        {with("Transfer-Encoding\r\n: chunked\r\n"), 400},
        {with("X: y\rTransfer-Encoding: chunked\r\n"), 400},
        {with("X: y\nTransfer-Encoding: chunked\r\n"), 400},
        {with("X: y\r\r\nTransfer-Encoding: chunked\r\n"), 400},
        {with("X: y\0z\r\n"s), 400},
        {with("Transfer-Encoding\0: chunked\r\n"s), 400},
        {with("Content-Length: 3\0\r\n"s) + "abc", 400},
        {with(": chunked\r\n"), 400},
        {with("chunked\r\n"), 400},
        {with("Content Length: 3\r\n") + "abc", 400},
        {with("X: a\x01\r\n"), 400},
        {with("X: a\x7f\r\n"), 400},
        {with("X\xc3\xa4: a\r\n"), 400},
        {with("X@Y: a\r\n"), 400},
        {with("Connection: a b\r\n"), 400},
        {with("Connection: \"close\"\r\n"), 400},
        {with("Expect: 200-ok\r\n"), 417},
    };
}

std::vector<attack> line_attacks() {
    const std::string end = "Host: a\r\n\r\n";
    return {
        {"GET / HTTP/1.1\n", 400},
        {"GET / HTTP/1.1\nHost: a\n\n", 400},
        {"GET / HTTP/1.1\nHost: a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\n\n", 400},
        {"GET / HTTP/1.1\rHost: a\r\r", 0},  // no line yet: nothing but a timeout ends it
        {"GET / HTTP/1.1\r" + end, 400},
        {"\nGET / HTTP/1.1\r\n" + end, 400},
        {"\r\n\r\nGET / HTTP/1.1\r\n" + end, 400},
        {"\rGET / HTTP/1.1\r\n" + end, 400},
        {" GET / HTTP/1.1\r\n" + end, 400},
        {"GET  / HTTP/1.1\r\n" + end, 400},
        {"GET /  HTTP/1.1\r\n" + end, 400},
        {"GET / HTTP/1.1 \r\n" + end, 400},
        {"GET / HTTP/1.1\t\r\n" + end, 400},
        {"GET\t/ HTTP/1.1\r\n" + end, 400},
        {"GET /\tHTTP/1.1\r\n" + end, 400},
        {"GET /a b HTTP/1.1\r\n" + end, 400},
        {"GET HTTP/1.1\r\n" + end, 400},
        {"GET  HTTP/1.1\r\n" + end, 400},
        {"GET /\r\n" + end, 400},
        {"GET /\r\n\r\n", 400},
        {"GET\r\n\r\n", 400},
        {"G(T / HTTP/1.1\r\n" + end, 400},
        {"G\xc3\x89T / HTTP/1.1\r\n" + end, 400},
        {"G\0T / HTTP/1.1\r\n"s + end, 400},
        {"\x16\x03\x01\x02", 400},  // TLS
        {"\0"s, 400},
        {"GET / HTTP/0.9\r\n" + end, 505},
        {"GET / HTTP/1.2\r\n" + end, 505},
        {"GET / HTTP/2.0\r\n" + end, 505},
        {"GET / HTTP/3.1\r\n" + end, 505},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        {"GET / HTTP/2\r\n" + end, 400},
        {"GET / HTTP/11\r\n" + end, 400},
        {"GET / HTTP/1.\r\n" + end, 400},
        {"GET / HTTP/1.10\r\n" + end, 400},
        {"GET / HTTP/01.1\r\n" + end, 400},
        {"GET / HTTP/ 1.1\r\n" + end, 400},
        {"GET / http/1.1\r\n" + end, 400},
        {"GET / HTTPS/1.1\r\n" + end, 400},
        {"GET / ICAP/1.0\r\n" + end, 400},
        // Targets.
        {"GET /a#b HTTP/1.1\r\n" + end, 400},
        {"GET /\xc3\xa4 HTTP/1.1\r\n" + end, 400},
        {"GET /\x01 HTTP/1.1\r\n" + end, 400},
        {"GET /\x7f HTTP/1.1\r\n" + end, 400},
        {"GET /\0 HTTP/1.1\r\n"s + end, 400},
        {"GET /\r HTTP/1.1\r\n" + end, 400},
        {"GET index.html HTTP/1.1\r\n" + end, 400},
        {"GET ?a HTTP/1.1\r\n" + end, 400},
        {"GET a:80 HTTP/1.1\r\n" + end, 400},
        {"GET * HTTP/1.1\r\n" + end, 400},
        {"OPTIONS ** HTTP/1.1\r\n" + end, 400},
        {"CONNECT / HTTP/1.1\r\n" + end, 400},
        {"CONNECT a HTTP/1.1\r\n" + end, 400},
        {"CONNECT b:443 HTTP/1.1\r\n" + end, 400},
        {"CONNECT http://a:80/ HTTP/1.1\r\n" + end, 400},
        {"GET http://b/ HTTP/1.1\r\n" + end, 400},
        {"GET http://a:80/ HTTP/1.1\r\n" + end, 400},
        {"GET http://u@a/ HTTP/1.1\r\n" + end, 400},
        {"GET http://a:b@a/ HTTP/1.1\r\n" + end, 400},
        {"GET http:///a HTTP/1.1\r\n" + end, 400},
        {"GET http:/a HTTP/1.1\r\n" + end, 400},
        {"GET http://a\\@b/ HTTP/1.1\r\n" + end, 400},
        {"GET ftp://a/ HTTP/1.1\r\n" + end, 400},
        {"GET file:///etc/passwd HTTP/1.1\r\n" + end, 400},
        {"GET ://a/ HTTP/1.1\r\n" + end, 400},
        // Host.
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        {"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a:\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: :80\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a:000080\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: ::1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: []\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: [a/b]\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a%00\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: \xc3\xa4\r\n\r\n", 400},
    };
}

std::vector<attack> chunk_attacks() {
    return {
        {chunked("\r\n\r\n"), 400},
        {chunked(";a\r\n\r\n"), 400},
        {chunked("g\r\n"), 400},
        {chunked("+1\r\na\r\n0\r\n\r\n"), 400},
        {chunked("-1\r\na\r\n0\r\n\r\n"), 400},
        {chunked("0x1\r\na\r\n0\r\n\r\n"), 400},
        {chunked(" 1\r\na\r\n0\r\n\r\n"), 400},
        {chunked("1 \r\na\r\n0\r\n\r\n"), 400},
        {chunked("1\t\r\na\r\n0\r\n\r\n"), 400},
        {chunked("1 ;a\r\na\r\n0\r\n\r\n"), 400},
        {chunked("1_0\r\n"), 400},
        {chunked("1,\r\na\r\n"), 400},
        {chunked("1\0\r\na\r\n"s), 400},
        {chunked("1\na\n0\n\n"), 400},
        {chunked("1\r\na\n0\r\n\r\n"), 400},
        {chunked("1\r\na\r0\r\n\r\n"), 400},
        {chunked("1\r\na\rX0\r\n\r\n"), 400},
        {chunked("1\ra\r\n0\r\n\r\n"), 400},
        {chunked("1\rXa\r\n0\r\n\r\n"), 400},
        {chunked("1\r\r\na\r\n0\r\n\r\n"), 400},
        {chunked("1\r\nab\r\n0\r\n\r\n"), 400},
        {chunked("1\r\na0\r\n\r\n"), 400},
        {chunked("2\r\na\r\n0\r\n\r\n"), 400},
        {chunked("ffffffffffffffff0\r\n"), 400},
        {chunked("10000000000000000\r\n"), 400},
        {chunked("00000000000000001\r\na\r\n"), 400},
        {chunked("ffffffffffffffff\r\n"), 413},
        {chunked("8000000000000000\r\n"), 413},
        {chunked("100001\r\n"), 413},
        {chunked("1\r\na\r\n100000\r\n"), 413},
        {chunked("1\r\na\r\nffffffffffffffff\r\n"), 413},
        {chunked("1;a\nb\r\na\r\n0\r\n\r\n"), 400},
        {chunked("1;a\rb\r\na\r\n0\r\n\r\n"), 400},
        {chunked("1;a=\"\r\n\"\r\na\r\n0\r\n\r\n"), 400},
        {chunked("1;a=\x80\r\na\r\n0\r\n\r\n"), 400},
        {chunked("1;a\0b\r\na\r\n0\r\n\r\n"s), 400},
        {chunked("1;" + std::string(16385, 'a')), 413},
        {chunked("0\r\n\n"), 400},
        {chunked("0\r\n\r\r\n"), 400},
        {chunked("0\r\n \r\n\r\n"), 400},
        {chunked("0\r\na\r\n\r\n"), 400},
        {chunked("0\r\n: a\r\n\r\n"), 400},
        {chunked("0\r\nA : a\r\n\r\n"), 400},
        {chunked("0\r\nA: a\n\r\n"), 400},
        {chunked("0\r\nA: a\rb\r\n\r\n"), 400},
        {chunked("0\r\nA: a\r\n b\r\n\r\n"), 400},
        {chunked("0\r\nA: a\0\r\n\r\n"s), 400},
        {chunked("0\r\nContent-Length: 3\r\n\r\n"), 400},
        {chunked("0\r\nA: b\r\nContent-Length: 3\r\n\r\n"), 400},
        {chunked("0\r\ntransfer-encoding: chunked\r\n\r\n"), 400},
        {chunked("0\r\nHOST: b\r\n\r\n"), 400},
        {chunked("0\r\nA: " + std::string(16384, 'a')), 431},
    };
}

std::vector<attack> all_attacks() {
    std::vector<attack> all = framing_attacks();
    for (const auto& more : {line_attacks(), chunk_attacks()}) {
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

std::string shown(const std::string& bytes) {
    return ::testing::PrintToString(bytes.substr(0, 200));
}

TEST(RequestAttacks, AreRefusedWithTheRightStatus) {
    for (const attack& each : all_attacks()) {
        const parse_result result = parse_all(each.bytes);
        EXPECT_EQ(result.status, each.status) << shown(each.bytes) << ": " << result.detail;
        EXPECT_TRUE(result.requests.empty()) << shown(each.bytes);
        EXPECT_EQ(result.detail.empty(), each.status == 0);
    }
}

TEST(RequestAttacks, AreRefusedInPiecesOfAnySize) {
    for (const attack& each : all_attacks()) {
        const std::size_t smallest = each.bytes.size() > 1000 ? 100 : 1;
        for (std::size_t piece = smallest; piece < smallest + 6; ++piece) {
            const parse_result result =
                parse_pieces(each.bytes, {}, [&] { return piece; }, [] { return std::size_t{3}; });
            EXPECT_EQ(result.status, each.status) << piece << ": " << shown(each.bytes);
            EXPECT_TRUE(result.requests.empty()) << shown(each.bytes);
        }
    }
}

TEST(RequestAttacks, NoPrefixOfOneIsARequest) {
    for (const attack& each : all_attacks()) {
        const std::size_t step = each.bytes.size() > 1000 ? 97 : 1;
        for (std::size_t size = 0; size < each.bytes.size(); size += step) {
            const std::string prefix = each.bytes.substr(0, size);
            const parse_result result = parse_all(prefix);
            EXPECT_TRUE(result.requests.empty()) << shown(prefix);
            EXPECT_TRUE(result.status == 0 || result.status == each.status)
                << result.status << ": " << shown(prefix);
        }
    }
}

// The attack is not refused for the wrong reason: what the table wraps its lines in is good.
TEST(RequestAttacks, FramesOfTheTableAreGood) {
    EXPECT_EQ(parse_all(with("")).requests.size(), 1u);
    EXPECT_EQ(parse_all(with("Content-Length: 3\r\n") + "abc").requests.size(), 1u);
    EXPECT_EQ(parse_all(with("content-length:003\r\n") + "abc").requests.size(), 1u);
    EXPECT_EQ(parse_all(chunked("1;a=\"b c\"\r\na\r\n00\r\nA: b\r\n\r\n")).requests.size(), 1u);
    EXPECT_EQ(parse_all(with("Transfer-Encoding: \t CHUNKED \t\r\n") + "0\r\n\r\n").requests.size(),
              1u);
    EXPECT_EQ(parse_all("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").requests.size(), 1u);
    for (const char* host : {"a", "a:0", "a:65535", "A-b_c.d~e", "127.0.0.1:80", "[::1]",
                             "[::ffff:1.2.3.4]:80", "xn--nxasmq6b"}) {
        const auto result = parse_all("GET / HTTP/1.1\r\nHost: " + std::string(host) + " \r\n\r\n");
        EXPECT_EQ(result.requests.size(), 1u) << host;
    }
}

// A prefix of a good request, too, is never a request.
TEST(RequestAttacks, AHeadIsNotThereBeforeItsLastByte) {
    const std::string text = chunked("3;x\r\nabc\r\n0\r\nA: b\r\n\r\n");
    for (std::size_t size = 0; size < text.size(); ++size) {
        const parse_result result = parse_all(text.substr(0, size));
        EXPECT_TRUE(result.requests.empty()) << size;
        EXPECT_EQ(result.status, 0u) << size;
        EXPECT_EQ(result.wants_more, size != 0) << size;
    }
    EXPECT_EQ(parse_all(text).requests.size(), 1u);
    EXPECT_EQ(parse_all(text).used, text.size());
}

}  // namespace
