// SPDX-License-Identifier: MIT
// The errors that all databases share.

#include <weir/db/error.hpp>

#include <gtest/gtest.h>

namespace {

namespace db = weir::db;

TEST(Error, CarriesItsMessageAndAdvice) {
    const db::error error("connection lost", db::retry_advice::if_harmless);
    EXPECT_STREQ(error.what(), "connection lost");
    EXPECT_EQ(error.advice(), db::retry_advice::if_harmless);
    const std::runtime_error& base = error;
    EXPECT_STREQ(base.what(), "connection lost");
}

TEST(Error, AMappingErrorIsNotWorthARetry) {
    const db::mapping_error error("no such column");
    EXPECT_EQ(error.advice(), db::retry_advice::no);
    const db::error& base = error;
    EXPECT_STREQ(base.what(), "no such column");
}

}  // namespace
