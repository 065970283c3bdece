// SPDX-License-Identifier: MIT
// A connection that is warm parses its requests without an allocation.

#include "allocations/counting.hpp"
#include "http/server/request_parser.hpp"

#include <string>
#include <string_view>

namespace {

TEST(Allocations, HttpRequestParser) {
    const std::string_view head =
        "POST http://www.example.com/tasks/123?expand=all HTTP/1.1\r\nHost: www.example.com\r\n"
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0\r\n"
        "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
        "Connection: keep-alive\r\nCookie: session=0123456789abcdef0123456789abcdef\r\n"
        "Transfer-Encoding: chunked\r\n\r\n";
    const std::string_view body = "3;x\r\nabc\r\n0\r\nTrailer-Of-Some-Length: value\r\n\r\n";
    weir::http::detail::request_parser parser({});
    weir::http::detail::request_head parsed;
    std::string memory(100, ' ');
    const auto once = [&] {
        ASSERT_EQ(parser.parse_head(head.substr(0, 100), parsed), 0u);
        ASSERT_EQ(parser.parse_head(head, parsed), head.size());
        ASSERT_EQ(parser.parse_body(body, memory).used, body.size());
        ASSERT_TRUE(parser.is_body_done());
        parser.reset();
    };
    once();
    once();
    const std::uint64_t before = counting::allocations();
    for (int i = 0; i < 100; ++i) {
        once();
    }
    EXPECT_EQ(counting::allocations(), before);
}

}  // namespace
