// SPDX-License-Identifier: MIT
// The head of a response line by line, as libcurl passes it on.

#include "http/transfer/received_head.hpp"

#include <weir/http/client_error.hpp>
#include <weir/io/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using weir::http::status;
using weir::http::transport_error;
using weir::http::detail::head_limits;
using weir::http::detail::received_head;

constexpr head_limits generous{10'000, 100};

// Adds the lines of a text, and returns whether the last completed the head.
bool add(received_head& head, std::string_view text, const head_limits& limits = generous) {
    bool is_complete = false;
    while (!text.empty()) {
        const std::size_t size = text.find('\n') + 1;
        is_complete = head.add_line(text.substr(0, size), limits);
        text.remove_prefix(size);
    }
    return is_complete;
}

std::string error_of(std::string_view text) {
    received_head head;
    try {
        add(head, text);
    } catch (const transport_error& error) {
        EXPECT_EQ(error.why(), transport_error::kind::protocol);
        return error.what();
    }
    return "";
}

TEST(ReceivedHead, ReadsStatusVersionAndFields) {
    received_head head;
    EXPECT_TRUE(add(head, "HTTP/1.1 404 Not Found\r\nA:  b \r\nEmpty:\r\n\r\n"));
    EXPECT_TRUE(head.is_complete());
    EXPECT_EQ(head.status(), status::not_found);
    EXPECT_EQ(head.version(), 11);
    EXPECT_EQ(head.fields().get("a"), "b");
    EXPECT_EQ(head.fields().find("Empty"), "");
    head.reset();
    EXPECT_FALSE(head.is_complete());
    EXPECT_EQ(head.version(), 0);
    EXPECT_TRUE(head.fields().empty());
    EXPECT_TRUE(add(head, "HTTP/2 200\r\n\r\n"));
    EXPECT_EQ(head.version(), 20);
}

TEST(ReceivedHead, SkipsInterimResponses) {
    received_head head;
    EXPECT_FALSE(add(head, "HTTP/1.1 100 Continue\r\nX: early\r\n\r\n"));
    EXPECT_FALSE(head.is_complete());
    EXPECT_TRUE(add(head, "HTTP/1.1 200 OK\r\nY: final\r\n\r\n"));
    EXPECT_FALSE(head.fields().contains("X"));
    EXPECT_EQ(head.fields().get("Y"), "final");
}

TEST(ReceivedHead, JoinsFoldedFields) {
    received_head head;
    add(head, "HTTP/1.1 200 OK\r\nA: 1\r\nB: one\r\n\t two \r\n three\r\nC:\r\n c\r\n\r\n");
    EXPECT_EQ(head.fields().get("A"), "1");
    EXPECT_EQ(head.fields().get("B"), "one two three");
    EXPECT_EQ(head.fields().get("C"), "c");
}

TEST(ReceivedHead, RefusesMalformedFieldsAndAmbiguousFraming) {
    const std::string begin = "HTTP/1.1 200 OK\r\n";
    EXPECT_EQ(error_of(begin + "no colon\r\n"),
              "the response's head has a line that is not a header field");
    EXPECT_EQ(error_of(begin + "A: \x01\r\n"),
              "the response header 'A' contains control characters");
    for (const std::string_view lengths :
         {"Content-Length: 1\r\nContent-Length: 2\r\n", "Content-Length: -1\r\n",
          "Content-Length: 1, 1\r\n", "Content-Length:\r\n"}) {
        EXPECT_EQ(error_of(begin + std::string(lengths) + "\r\n"),
                  "the response has no unambiguous Content-Length")
            << lengths;
    }
    EXPECT_EQ(error_of(begin + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
              "the response has both Content-Length and Transfer-Encoding");
    EXPECT_EQ(error_of(begin + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"), "");
    EXPECT_EQ(error_of(begin + "Content-Length: 9223372036854775807\r\n\r\n"), "");
    EXPECT_EQ(error_of(begin + "Content-Length: 00000000000000000000000007\r\n\r\n"), "");
    for (const std::string_view length :
         {"9223372036854775808", "18446744073709551617", "99999999999999999999999"}) {
        EXPECT_EQ(error_of(begin + "Content-Length: " + std::string(length) + "\r\n\r\n"),
                  "the response's Content-Length has more than 63 bits");
    }
    EXPECT_EQ(error_of(begin + "Transfer-Encoding: Chunked\r\n\r\n"), "");
    for (const std::string_view codings :
         {"gzip, chunked", "foo", "chunked, chunked", "identity", "chunked, gzip"}) {
        EXPECT_EQ(error_of(begin + "Transfer-Encoding: " + std::string(codings) + "\r\n\r\n"),
                  "the response's Transfer-Encoding is '" + std::string(codings) +
                      "'; only 'chunked' was offered");
    }
    EXPECT_EQ(error_of("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
              "the server switches to another protocol, which was not asked for");
}

TEST(ReceivedHead, LimitsBytesAndFieldsTrailersIncluded) {
    received_head head;
    EXPECT_THROW(add(head, "HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", {10'000, 2}),
                 weir::limit_exceeded);
    head.reset();
    EXPECT_THROW(add(head, "HTTP/1.1 200 OK\r\nA: 1234567890\r\n\r\n", {20, 100}),
                 weir::limit_exceeded);
    head.reset();
    EXPECT_TRUE(add(head, "HTTP/1.1 200 OK\r\n\r\n", {30, 100}));
    EXPECT_FALSE(add(head, "T: 1\r\n", {30, 100}));
    EXPECT_FALSE(head.fields().contains("T"));
    EXPECT_THROW(add(head, "T: 2\r\n", {30, 100}), weir::limit_exceeded);
}

}  // namespace
