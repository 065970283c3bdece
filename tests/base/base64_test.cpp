// SPDX-License-Identifier: MIT
// Base64 and base64url: known values, malformed input, and a round trip of random bytes.

#include "base/base64.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

TEST(Base64, IsThatOfItsStandardAndStrict) {
    const std::pair<std::string_view, std::string_view> known[] = {{"", ""},
                                                                   {"f", "Zg=="},
                                                                   {"fo", "Zm8="},
                                                                   {"foo", "Zm9v"},
                                                                   {"foob", "Zm9vYg=="},
                                                                   {"fooba", "Zm9vYmE="},
                                                                   {"foobar", "Zm9vYmFy"},
                                                                   {"\xfb\xff", "+/8="}};
    for (const auto& [bytes, text] : known) {
        EXPECT_EQ(weir::base::encode_base64(bytes), text);
        EXPECT_EQ(weir::base::decode_base64(text), bytes);
        EXPECT_EQ(weir::base::decode_base64url(weir::base::encode_base64url(bytes)), bytes);
    }
    EXPECT_EQ(weir::base::encode_base64url("\xfb\xff"), "-_8");
    for (const char* wrong : {"Z", "Zg", "Zg=", "Zg===", "====", "Z===", "Zm9v=", "Zg==Zg==",
                              "Zm 9", "Zm9v\n", "-_8=", "Zm\x80v"}) {
        EXPECT_EQ(weir::base::decode_base64(wrong), std::nullopt) << wrong;
    }
    for (const char* wrong : {"Z", "Zm9vY", "Zg==", "+/8", "Z g"}) {
        EXPECT_EQ(weir::base::decode_base64url(wrong), std::nullopt) << wrong;
    }
    std::mt19937 random(7);
    for (std::size_t size = 0; size < 100; ++size) {
        std::string bytes(size, '\0');
        for (char& each : bytes) {
            each = static_cast<char>(random());
        }
        EXPECT_EQ(weir::base::decode_base64(weir::base::encode_base64(bytes)), bytes);
        EXPECT_EQ(weir::base::decode_base64url(weir::base::encode_base64url(bytes)), bytes);
    }
}
