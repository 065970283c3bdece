// SPDX-License-Identifier: MIT
// Character references, in text and in attributes.

#include "crawl/html/character_references.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace character_references_test {

using namespace weir::crawl::detail;

std::string in_text(std::string_view raw) {
    return decode_references(raw, reference_context::text);
}
std::string in_attribute(std::string_view raw) {
    return decode_references(raw, reference_context::attribute);
}

TEST(CrawlReferences, NamesInText) {
    EXPECT_EQ(in_text("a&amp;b"), "a&b");
    EXPECT_EQ(in_text("&lt&gt"), "<>");
    EXPECT_EQ(in_text("&notit;"), "\xC2\xACit;");
    EXPECT_EQ(in_text("&notin;"), "\xE2\x88\x89");
    EXPECT_EQ(in_text("&notin"), "\xC2\xACin");
    EXPECT_EQ(in_text("&CounterClockwiseContourIntegral;"), "\xE2\x88\xB3");
    EXPECT_EQ(in_text("&NotEqualTilde;"), "\xE2\x89\x82\xCC\xB8");
    EXPECT_EQ(in_text("&AMP &Amp;"), "& &Amp;");
    EXPECT_EQ(in_text("&zwnj;&zwj;"), "\xE2\x80\x8C\xE2\x80\x8D");
    EXPECT_EQ(in_text("&; & &x; &unknown; &"), "&; & &x; &unknown; &");
    EXPECT_EQ(in_text("&ampamp;"), "&amp;");
}

TEST(CrawlReferences, T32_QueriesInAttributesAreNotMangled) {
    EXPECT_EQ(in_attribute("/?a=1&amp;b=2"), "/?a=1&b=2");
    EXPECT_EQ(in_attribute("/?a=1&p=2"), "/?a=1&p=2");
    EXPECT_EQ(in_attribute("/?a=1&copy=1"), "/?a=1&copy=1");
    EXPECT_EQ(in_attribute("/?a=1&copy2"), "/?a=1&copy2");
    EXPECT_EQ(in_attribute("/?a=1&copy;=1"), "/?a=1\xC2\xA9=1");
    EXPECT_EQ(in_attribute("/?a=1&copy"), "/?a=1\xC2\xA9");
    EXPECT_EQ(in_attribute("/?a=1&copy&amp;"), "/?a=1\xC2\xA9&");
    EXPECT_EQ(in_attribute("/?a&notin=1"), "/?a&notin=1");
    EXPECT_EQ(in_attribute("&amp;amp;amp;"), "&amp;amp;");
}

TEST(CrawlReferences, Numbers) {
    EXPECT_EQ(in_attribute("&#65;&#x41;&#X41&#65"), "AAAA");
    EXPECT_EQ(in_attribute("&#xe4;"), "\xC3\xA4");
    EXPECT_EQ(in_attribute("&#x1F600;"), "\xF0\x9F\x98\x80");
    EXPECT_EQ(in_attribute("&#128;&#x99;"), "\xE2\x82\xAC\xE2\x84\xA2");  // windows-1252
    EXPECT_EQ(in_attribute("&#129;"), "\xC2\x81");
    for (const std::string_view invalid :
         {"&#0;", "&#xD800;", "&#x110000;", "&#99999999999999999999;", "&#xFFFFFFFFFFFFFFFF;"}) {
        EXPECT_EQ(in_attribute(invalid), "\xEF\xBF\xBD") << invalid;
    }
    EXPECT_EQ(in_attribute("&#; &#x; &#xg &#a"), "&#; &#x; &#xg &#a");
}

TEST(CrawlReferences, LineEndsAndNul) {
    EXPECT_EQ(in_text("a\r\nb\rc\n"), "a\nb\nc\n");
    EXPECT_EQ(in_text(std::string_view("a\0b", 3)),
              "a\xEF\xBF\xBD"
              "b");
}

}  // namespace character_references_test
