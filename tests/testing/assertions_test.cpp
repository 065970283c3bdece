// SPDX-License-Identifier: MIT
// The assertions: each passes where it should and fails where it should.

#include "verdict.hpp"

#include <weir/testing/testing.hpp>

namespace {

TEST(Assertions, Comparisons) {
    EXPECT_PASSES(WEIR_ASSERT_TRUE(true); WEIR_ASSERT_FALSE(false); WEIR_ASSERT_EQ(1, 1) << "text";
                  WEIR_ASSERT_NE(1, 2); WEIR_ASSERT_LT(1, 2); WEIR_ASSERT_LE(1, 1);
                  WEIR_ASSERT_GT(2, 1); WEIR_ASSERT_GE(2, 2));
    EXPECT_LEAVES(WEIR_ASSERT_TRUE(false));
    EXPECT_LEAVES(WEIR_ASSERT_FALSE(true));
    EXPECT_LEAVES(WEIR_ASSERT_EQ(1, 2));
    EXPECT_LEAVES(WEIR_ASSERT_NE(1, 1));
    EXPECT_LEAVES(WEIR_ASSERT_LT(1, 1));
    EXPECT_LEAVES(WEIR_ASSERT_LE(2, 1));
    EXPECT_LEAVES(WEIR_ASSERT_GT(1, 1));
    EXPECT_LEAVES(WEIR_ASSERT_GE(1, 2));
}

TEST(Assertions, Strings) {
    EXPECT_PASSES(WEIR_ASSERT_STREQ("a", "a"); WEIR_ASSERT_STRNE("a", "b");
                  WEIR_ASSERT_STRCASEEQ("a", "A"); WEIR_ASSERT_STRCASENE("a", "b"));
    EXPECT_LEAVES(WEIR_ASSERT_STREQ("a", "b"));
    EXPECT_LEAVES(WEIR_ASSERT_STRNE("a", "a"));
    EXPECT_LEAVES(WEIR_ASSERT_STRCASEEQ("a", "B"));
    EXPECT_LEAVES(WEIR_ASSERT_STRCASENE("a", "A"));
}

TEST(Assertions, Numbers) {
    EXPECT_PASSES(WEIR_ASSERT_FLOAT_EQ(0.1F + 0.2F, 0.3F); WEIR_ASSERT_DOUBLE_EQ(0.1 + 0.2, 0.3);
                  WEIR_ASSERT_NEAR(1.0, 1.05, 0.1));
    EXPECT_LEAVES(WEIR_ASSERT_FLOAT_EQ(0.1F, 0.2F));
    EXPECT_LEAVES(WEIR_ASSERT_DOUBLE_EQ(0.1, 0.2));
    EXPECT_LEAVES(WEIR_ASSERT_NEAR(1.0, 1.5, 0.1));
    EXPECT_LEAVES(WEIR_FAIL() << "so");
}

TEST(Assertions, NestInIfAndElse) {
    EXPECT_PASSES(if (reached_end) WEIR_ASSERT_TRUE(false); else WEIR_ASSERT_TRUE(true));
}

TEST(Assertions, SkippingLeavesWithoutAVerdict) {
    const testing_test::verdict got = testing_test::judge(BODY(WEIR_SKIP() << "as an example"));
    EXPECT_EQ(got.failures, 0u) << got.text;
    EXPECT_FALSE(got.reached_end);
}

}  // namespace
