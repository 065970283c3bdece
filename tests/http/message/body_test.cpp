// SPDX-License-Identifier: MIT
// The kinds of bodies, and what is known of each.

#include <weir/http/body.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace {

using namespace weir;
using http::body;
using http::body_writer;

TEST(Body, IsEmptyAtFirst) {
    const body none;
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(none.size(), 0U);
    EXPECT_FALSE(none.is_stream());
    EXPECT_EQ(none.text(), "");
}

TEST(Body, HoldsTextsOfSeveralKinds) {
    const body own(std::string("abc"));
    EXPECT_EQ(own.text(), "abc");
    EXPECT_EQ(own.size(), 3U);
    const body literal("abcd");
    EXPECT_EQ(literal.text(), "abcd");

    static constexpr char forever[] = "forever";
    const body fixed = body::fixed(forever);
    EXPECT_EQ(fixed.text().data(), forever);

    const auto text = std::make_shared<const std::string>("shared");
    const body shared = body::shared(text);
    EXPECT_EQ(shared.text().data(), text->data());
    EXPECT_EQ(text.use_count(), 2);
    EXPECT_EQ(body::shared(nullptr).text(), "");
}

TEST(Body, AStreamMayHaveASize) {
    body unknown = body::stream([](body_writer&) -> task<> { co_return; });
    EXPECT_TRUE(unknown.is_stream());
    EXPECT_FALSE(unknown.size().has_value());
    EXPECT_FALSE(unknown.empty());
    EXPECT_EQ(unknown.text(), "");
    ASSERT_NE(unknown.as_stream(), nullptr);

    const body sized = body::stream([](body_writer&) -> task<> { co_return; }, 7);
    EXPECT_EQ(sized.size(), 7U);
    body text("abc");
    EXPECT_EQ(text.as_stream(), nullptr);
}

}  // namespace
