// SPDX-License-Identifier: MIT
// The incremental check against a plain decoder: all combinations of the bytes at the edges of the
// ranges, and random texts, each cut in two.

#include "base/utf8.hpp"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>
#include <string_view>

namespace {

using namespace weir;

// Against a decoder that is written differently: all sequences of up to three bytes of interest,
// and random ones of four.
bool is_plainly_utf8(std::string_view given) {
    for (std::size_t at = 0; at < given.size();) {
        const auto byte = [&](std::size_t offset) {
            return at + offset < given.size() ? static_cast<unsigned char>(given[at + offset]) : 0U;
        };
        const unsigned lead = byte(0);
        const std::size_t size = lead < 0x80   ? 1
                                 : lead < 0xC0 ? 0
                                 : lead < 0xE0 ? 2
                                 : lead < 0xF0 ? 3
                                 : lead < 0xF8 ? 4
                                               : 0;
        if (size == 0 || at + size > given.size()) {
            return false;
        }
        unsigned value = size == 1 ? lead : lead & (0xFFU >> (size + 1));
        for (std::size_t next = 1; next < size; ++next) {
            if ((byte(next) & 0xC0U) != 0x80U) {
                return false;
            }
            value = value << 6 | (byte(next) & 0x3FU);
        }
        const unsigned least = size == 1 ? 0 : size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
        if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
            return false;
        }
        at += size;
    }
    return true;
}

TEST(Utf8, AgreesWithAPlainDecoder) {
    std::mt19937 random(3);
    const std::string_view edges(
        "\x00\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC1\xC2\xDF\xE0\xE1\xEC\xED\xEE\xEF\xF0\xF1\xF3\xF4"
        "\xF5\xFF",
        24);
    const auto agree = [&](std::string_view given) {
        base::utf8_check check;
        const std::span bytes = std::as_bytes(std::span(given));
        const std::size_t cut = random() % (given.size() + 1);
        const bool good =
            check.feed(bytes.first(cut)) && check.feed(bytes.subspan(cut)) && check.is_complete();
        ASSERT_EQ(good, is_plainly_utf8(given)) << ::testing::PrintToString(std::string(given));
        ASSERT_EQ(base::is_utf8(given), good);
    };
    for (const char a : edges) {
        for (const char b : edges) {
            for (const char c : edges) {
                agree(std::string{a, b, c});
                agree(std::string{a, b, c, '\x80'});
                agree("12345678" + std::string{a, b} + "1234567890" + c);
            }
        }
    }
    for (int round = 0; round < 5000; ++round) {
        std::string given(random() % 24, 'a');
        for (char& each : given) {
            each = random() % 2 == 0 ? edges[random() % edges.size()] : static_cast<char>(random());
        }
        agree(given);
    }
}

TEST(Utf8, AppendsCodePoints) {
    std::string text;
    for (const char32_t each : {U'a', U'\u00E9', U'\u20AC', U'\U0001F600', U'\U0010FFFF'}) {
        weir::base::append_utf8(text, each);
    }
    EXPECT_EQ(text, "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF");
    text.clear();
    weir::base::append_utf8(text, 0xD800);
    weir::base::append_utf8(text, 0x110000);
    EXPECT_EQ(text, "\xEF\xBF\xBD\xEF\xBF\xBD");
}

}  // namespace
