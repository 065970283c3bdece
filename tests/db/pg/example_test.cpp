// SPDX-License-Identifier: MIT
// The example runs against a real server here; on its own it has none.

#include <support/peers/postgres.hpp>

#include <gtest/gtest.h>

#define main example_main
#include "../../../examples/postgres_at_once.cpp"
#undef main

TEST(PgExample, FetchesAtOnce) {
    std::string url = weir_test::shared_postgres().url();
    char* arguments[] = {url.data(), url.data(), nullptr};
    testing::internal::CaptureStdout();
    EXPECT_EQ(example_main(2, arguments), 0);
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "Ann of Berlin, phone unknown\n"
              "  order 10: a lamp for 19.5\n"
              "  order 11: a desk for 120\n"
              "Bob of Oslo, phone 555-0100\n"
              "  order 12: a pen for 2\n"
              "Eve has no profile: one row was expected, but there are 0\n");
}
