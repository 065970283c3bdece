// SPDX-License-Identifier: MIT
// Errors of Redis: their kind, and whether a retry may help.

#include <weir/db/redis/error.hpp>

#include <gtest/gtest.h>

namespace {

namespace redis = weir::redis;
using weir::db::retry_advice;

TEST(Error, AReplyNamesItsKind) {
    const redis::reply_error error("WRONGTYPE Operation against a key");
    EXPECT_EQ(error.kind(), "WRONGTYPE");
    EXPECT_STREQ(error.what(), "WRONGTYPE Operation against a key");
    EXPECT_EQ(error.advice(), retry_advice::no);
    EXPECT_EQ(redis::reply_error("ERR").kind(), "ERR");
}

TEST(Error, ARetryMayHelpWhileRedisIsBusy) {
    for (const char* message :
         {"BUSY a script runs", "LOADING the dataset", "TRYAGAIN later", "MASTERDOWN link"}) {
        EXPECT_EQ(redis::reply_error(message).advice(), retry_advice::yes) << message;
    }
}

TEST(Error, AConnectionErrorHasTheAdviceThatItIsGiven) {
    const redis::connection_error error("redis at a:1: refused", retry_advice::if_harmless);
    EXPECT_EQ(error.advice(), retry_advice::if_harmless);
    const weir::db::error& base = error;
    EXPECT_STREQ(base.what(), "redis at a:1: refused");
}

}  // namespace
