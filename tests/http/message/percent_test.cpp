// SPDX-License-Identifier: MIT
// Percent-encoding: every byte there and back, and malformed input.

#include <weir/error.hpp>
#include <weir/http/percent.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

using weir::http::encode_component;
using weir::http::percent_decode;

TEST(Percent, EncodesAndDecodes) {
    std::string all;
    for (int i = 0; i < 256; ++i) {
        all += static_cast<char>(i);
    }
    EXPECT_EQ(percent_decode(encode_component(all)), all);
    EXPECT_EQ(encode_component("a b/c?d=é~-._"), "a%20b%2Fc%3Fd%3D%C3%A9~-._");
    EXPECT_EQ(percent_decode("%41%4a%4A+"), "AJJ+");
    EXPECT_EQ(percent_decode(""), "");
    for (const std::string_view bad : {"%", "%4", "a%", "%4g", "%g4", "%%41", "%-1", "% 1"}) {
        EXPECT_THROW(percent_decode(bad), weir::invalid_argument) << bad;
        EXPECT_FALSE(weir::http::try_percent_decode(bad).has_value());
    }
}
