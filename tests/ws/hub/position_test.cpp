// SPDX-License-Identifier: MIT
// Positions as text, and back.

#include <weir/ws/position.hpp>

#include <gtest/gtest.h>

namespace {

namespace ws = weir::ws;

TEST(Position, IsATextOfOneForm) {
    const ws::position here{0x0123456789abcdefU, 42};
    EXPECT_EQ(here.text(), "0123456789abcdef-42");
    EXPECT_EQ(ws::position::parse(here.text()), here);
    const ws::position last{~0ULL, ~0ULL};
    EXPECT_EQ(ws::position::parse(last.text()), last);
    EXPECT_EQ(ws::position::parse("0000000000000001-0"), (ws::position{1, 0}));
    const char* const wrong[] = {"",
                                 "-",
                                 "1",
                                 "0123456789abcdef",
                                 "0123456789abcdef-",
                                 "0123456789abcdef-x",
                                 "0123456789abcdef- 1",
                                 "0123456789abcdef--1",
                                 "0123456789abcdef-01",
                                 "0123456789abcdef-1 ",
                                 "0123456789abcdef-18446744073709551616",
                                 "0123456789abcdeg-1",
                                 "-123456789abcdef-1",
                                 "0x23456789abcdef-1",
                                 "0123456789abcdef_1",
                                 "+123456789abcdef-1"};
    for (const char* const bad : wrong) {
        EXPECT_FALSE(ws::position::parse(bad)) << bad;
    }
}

TEST(Position, NothingIsMissedAtFirst) {
    const ws::catch_up found;
    EXPECT_TRUE(found.is_known);
    EXPECT_EQ(found.replayed, 0U);
    EXPECT_EQ(found.missed, 0U);
    EXPECT_EQ(found.at, ws::position());
}

}  // namespace
