// SPDX-License-Identifier: MIT
// Messages: texts and bytes.

#include <weir/ws/message.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace {

using weir::ws::message;

TEST(Message, IsTextOrBytes) {
    const message text("abc", true);
    EXPECT_TRUE(text.is_text());
    EXPECT_FALSE(text.is_binary());
    EXPECT_EQ(text.text(), "abc");
    EXPECT_EQ(text.size(), 3U);
    const message bytes(std::string("\0\1", 2), false);
    EXPECT_TRUE(bytes.is_binary());
    EXPECT_EQ(bytes.bytes().size(), 2U);
    EXPECT_EQ(bytes.text(), std::string_view("\0\1", 2));
}

TEST(Message, GivesItsContentAway) {
    message large(std::string(1000, 'x'), true);
    const char* const place = large.text().data();
    const std::string taken = std::move(large).take();
    EXPECT_EQ(taken.data(), place);
    EXPECT_EQ(message().size(), 0U);
}

}  // namespace
