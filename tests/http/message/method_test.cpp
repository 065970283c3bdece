// SPDX-License-Identifier: MIT
// Methods and their names.

#include <weir/http/method.hpp>

#include <gtest/gtest.h>

#include <array>

namespace {

namespace http = weir::http;
using http::method;

TEST(Method, IsFoundByItsName) {
    constexpr std::array all = {method::get,     method::head,    method::post,
                                method::put,     method::patch,   method::delete_,
                                method::options, method::connect, method::trace};
    for (const method each : all) {
        EXPECT_FALSE(http::name_of(each).empty());
        EXPECT_EQ(http::method_of(http::name_of(each)), each) << http::name_of(each);
    }
    EXPECT_EQ(http::name_of(method::delete_), "DELETE");
    EXPECT_EQ(http::name_of(method::other), "");
}

TEST(Method, NamesAreCaseSensitive) {
    EXPECT_EQ(http::method_of("get"), method::other);
    EXPECT_EQ(http::method_of("PROPFIND"), method::other);
    EXPECT_EQ(http::method_of(""), method::other);
}

TEST(Method, SaysWhetherARepetitionIsHarmless) {
    EXPECT_TRUE(http::is_idempotent(method::get));
    EXPECT_TRUE(http::is_idempotent(method::put));
    EXPECT_TRUE(http::is_idempotent(method::delete_));
    EXPECT_FALSE(http::is_idempotent(method::post));
    EXPECT_FALSE(http::is_idempotent(method::patch));
    EXPECT_FALSE(http::is_idempotent(method::other));
}

}  // namespace
