// SPDX-License-Identifier: MIT
// Query parameters: read, changed, written, and limited in number.

#include <weir/error.hpp>
#include <weir/http/query.hpp>
#include <weir/http/url.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

using weir::http::query_parameters;
using weir::http::url;

TEST(Query, ReadsAndWrites) {
    auto read = query_parameters::parse("a=1&b=x+y%26&&c&=d&a=2&e=f=g");
    EXPECT_EQ(read.size(), 6u);
    EXPECT_EQ(read.get("a"), "1");
    EXPECT_EQ(read.get("b"), "x y&");
    EXPECT_EQ(read.find("c"), "");
    EXPECT_EQ(read.find("C"), std::nullopt);
    EXPECT_EQ(read.get(""), "d");
    EXPECT_EQ(read.get("e"), "f=g");
    EXPECT_EQ(read.all("a"), (std::vector<std::string_view>{"1", "2"}));
    EXPECT_EQ(read.text(), "a=1&b=x%20y%26&c=&=d&a=2&e=f%3Dg");
    EXPECT_EQ(query_parameters::parse(read.text()), read);
    read.set("a", read.get("b"));
    read.set("new", "ü");
    EXPECT_EQ(read.remove("e") + read.remove("c") + read.remove("zz"), 2u);
    EXPECT_EQ(read.text(), "a=x%20y%26&b=x%20y%26&=d&new=%C3%BC");
    EXPECT_EQ(url::parse("http://x/?old").with_query({{"q", "a&b"}, {"n", "1"}}).text(),
              "http://x/?q=a%26b&n=1");
    EXPECT_TRUE(query_parameters::parse("").empty());
    EXPECT_TRUE(query_parameters::parse("&&").empty());
    EXPECT_THROW(query_parameters::parse("a=%zz"), weir::invalid_argument);
    EXPECT_EQ(query_parameters::parse("a&b&c", 3).size(), 3u);
    EXPECT_THROW(query_parameters::parse("a&b&c&d", 3), weir::invalid_argument);
}
