// SPDX-License-Identifier: MIT
// Strings and numbers as JSON text.

#include "base/json_text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace {

std::string json_string(std::string_view text) {
    std::string json;
    weir::base::append_json_string(json, text);
    return json;
}

template <class Number>
std::string number(Number value) {
    std::string json = "x";
    weir::base::append_number(json, value);
    return json.substr(1);
}

TEST(JsonText, EscapesWhatJsonRequires) {
    EXPECT_EQ(json_string(""), R"("")");
    EXPECT_EQ(json_string("plain text"), R"("plain text")");
    EXPECT_EQ(json_string("\"\\\n\r\t\b\f"), R"("\"\\\n\r\t\b\f")");
    EXPECT_EQ(json_string(std::string_view("\0\x01\x1f\x7f", 4)), R"("\u0000\u0001\u001f\u007f")");
}

TEST(JsonText, KeepsUtf8AndReplacesOtherBytes) {
    EXPECT_EQ(json_string("é€😀"), "\"é€😀\"");
    EXPECT_EQ(json_string("a\xff"
                          "b"),
              R"("a\ufffdb")");
    EXPECT_EQ(json_string("\xc3"), R"("\ufffd")");
    EXPECT_EQ(json_string("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");  // a surrogate
}

TEST(JsonText, WritesTheShortestNumber) {
    EXPECT_EQ(number(0), "0");
    EXPECT_EQ(number(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
    EXPECT_EQ(number(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
    EXPECT_EQ(number(0.1), "0.1");
    EXPECT_EQ(number(30.0), "30");
}

}  // namespace
