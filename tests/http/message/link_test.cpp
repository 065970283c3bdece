// SPDX-License-Identifier: MIT
// The header Link: all forms, malformed ones, and its limits.

#include <weir/http/headers.hpp>
#include <weir/http/link.hpp>

#include <gtest/gtest.h>

#include <string>

using weir::http::find_link;
using weir::http::parse_links;

TEST(Link, Reads) {
    const auto all = parse_links(
        "<https://x/?page=2>; rel=\"Next\"; title=\"a, b; <c>\" , </s.css>;rel=stylesheet;"
        "crossorigin,, <../up>; rel=\"prev first\";rel=ignored");
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].target, "https://x/?page=2");
    EXPECT_EQ(all[0].relation, "next");
    ASSERT_EQ(all[0].parameters.size(), 1u);
    EXPECT_EQ(all[0].parameters[0].second, "a, b; <c>");
    EXPECT_EQ(all[1].parameters[0].first, "crossorigin");
    EXPECT_TRUE(all[2].has_relation("FIRST") && all[2].has_relation("prev"));
    EXPECT_FALSE(all[2].has_relation("prev first") || all[2].has_relation("ignored") ||
                 all[2].has_relation(""));
    EXPECT_EQ(parse_links("<a>;rel=x, b, <c>").size(), 1u);
    EXPECT_EQ(parse_links("<a>;rel=\"x, <b>").size(), 0u);
    EXPECT_EQ(parse_links("<a> <b>").size(), 0u);
    EXPECT_TRUE(parse_links("").empty() && parse_links(",,").empty() && parse_links("<").empty());
    std::string many;
    for (int i = 0; i < 1000; ++i) {
        many += "<a>,";
    }
    EXPECT_EQ(parse_links(many).size(), 100u);
    weir::http::headers fields;
    fields.add("Link", "<1>; rel=prev");
    fields.add("link", "<3>; rel=\"last next\"");
    ASSERT_TRUE(find_link(fields, "next").has_value());
    EXPECT_EQ(find_link(fields, "next")->target, "3");
    EXPECT_FALSE(find_link(fields, "up").has_value());
}
