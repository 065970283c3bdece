// SPDX-License-Identifier: MIT
// What a principal may do.

#include <weir/http/principal.hpp>

#include <gtest/gtest.h>

namespace {

using weir::http::principal;

TEST(Principal, MayWhatItsScopesSay) {
    const principal alice{"alice", "read  write:own"};
    EXPECT_TRUE(alice.may("read"));
    EXPECT_TRUE(alice.may("write:own"));
    EXPECT_FALSE(alice.may("write"));
    EXPECT_FALSE(alice.may("rea"));
    EXPECT_FALSE(alice.may("read  write:own"));
}

TEST(Principal, MayNothingWithoutScopes) {
    const principal nobody;
    EXPECT_FALSE(nobody.may("read"));
    EXPECT_FALSE(nobody.may(""));
    const principal spaced{"bob", "  "};
    EXPECT_FALSE(spaced.may(""));
}

}  // namespace
