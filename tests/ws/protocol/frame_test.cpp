// SPDX-License-Identifier: MIT
// Frames and their copies.

#include "ws/support.hpp"

namespace {

using namespace ws_test;

TEST(Frame, CopiesShareTheirBytes) {
    const ws::frame one = ws::frame::text("abc");
    ws::frame two = one;
    EXPECT_EQ(two.wire().data(), one.wire().data());
    EXPECT_EQ(one.wire().text(),
              "\x81\x03"
              "abc");
    EXPECT_TRUE(one.is_text());
    two = ws::frame::binary(std::string(70'000, 'x'));
    EXPECT_EQ(two.size(), 70'010u);
    EXPECT_EQ(two.content().size(), 70'000u);
    EXPECT_FALSE(two.is_text());
    EXPECT_THROW(ws::frame::text("\xC3"), weir::invalid_argument);
    EXPECT_FALSE(ws::frame());
    EXPECT_EQ(ws::frame().size(), 0u);
    const ws::frame masked =
        ws::frame::make(ws::detail::opcode::text, "abc", ws::frame::masked::yes);
    EXPECT_EQ(masked.size(), 9u);
}

}  // namespace
