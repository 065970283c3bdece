// SPDX-License-Identifier: MIT
// Origins: one normal form for each, and which pages belong to a host.

#include <weir/http/origin.hpp>

#include <gtest/gtest.h>

using weir::http::is_same_host;
using weir::http::normal_origin;

namespace {

TEST(Origin, HasOneNormalForm) {
    EXPECT_EQ(normal_origin("HTTPS://Example.com"), "https://example.com");
    EXPECT_EQ(normal_origin("https://example.com:443"), "https://example.com");
    EXPECT_EQ(normal_origin("http://example.com:8080"), "http://example.com:8080");
    EXPECT_NE(normal_origin("http://example.com"), normal_origin("https://example.com"));
}

TEST(Origin, IsEmptyForWhatIsNone) {
    for (const char* each : {"", "null", "example.com", "file:///etc/passwd", "https://",
                             "https://user@example.com", "https://a:b@example.com"}) {
        EXPECT_EQ(normal_origin(each), std::nullopt) << each;
    }
}

TEST(Origin, BelongsToTheHostThatServedIt) {
    EXPECT_TRUE(is_same_host("http://tasks.example:8080", "tasks.example:8080"));
    EXPECT_TRUE(is_same_host("https://Tasks.example", "tasks.example"));
    EXPECT_TRUE(is_same_host("https://tasks.example", "tasks.example:443"));
    EXPECT_TRUE(is_same_host("http://[::1]:8080", "[::1]:8080"));

    EXPECT_FALSE(is_same_host("http://evil.example", "tasks.example"));
    EXPECT_FALSE(is_same_host("http://tasks.example:81", "tasks.example"));
    EXPECT_FALSE(is_same_host("http://tasks.example.evil.example", "tasks.example"));
    EXPECT_FALSE(is_same_host("null", "tasks.example"));
    EXPECT_FALSE(is_same_host("http://tasks.example", ""));
}

}  // namespace
