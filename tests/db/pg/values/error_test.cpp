// SPDX-License-Identifier: MIT
// What an error of the server says, and whether a retry may help.

#include "support.hpp"

#include <weir/db/pg/error.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace weir;
using namespace std::chrono_literals;
using pg_test::plain_connection;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::sys_time;
using std::chrono::system_clock;
using microsecond_time = sys_time<std::chrono::microseconds>;

TEST(Error, HasFieldsAndAdvice) {
    const auto advice = [](const char* state) {
        return pg::error(pg::error_fields{.sqlstate = state}).advice();
    };
    for (const char* state : {"40001", "40P01", "55P03", "53300", "53100", "57P01", "57P03"}) {
        EXPECT_EQ(advice(state), db::retry_advice::yes) << state;
    }
    for (const char* state : {"08006", "08003", "40003"}) {
        EXPECT_EQ(advice(state), db::retry_advice::if_harmless) << state;
    }
    for (const char* state : {"23505", "42601", "57014", "22021", "08P01", "", "P0001"}) {
        EXPECT_EQ(advice(state), db::retry_advice::no) << state;
    }
    const pg::error crashed(pg::error_fields{.sqlstate = "08P01", .severity = "FATAL"});
    EXPECT_EQ(crashed.advice(), db::retry_advice::if_harmless);
    const pg::error error({.sqlstate = "22P02",
                           .severity = "ERROR",
                           .message = "invalid input syntax for type integer: \"my \"secret\"\""},
                          "SELECT  $1::int,\n\t 'x'");
    EXPECT_STREQ(
        error.what(),
        "invalid input syntax for type integer: \"...\" (SQLSTATE 22P02) in: SELECT $1::int, "
        "'x'");
    EXPECT_EQ(error.message(), "invalid input syntax for type integer: \"my \"secret\"\"");
    EXPECT_EQ(error.sqlstate(), "22P02");
    const pg::error copy = error;
    EXPECT_EQ(copy.severity(), "ERROR");
    const std::string long_query = "SELECT " + std::string(1000, 'x');
    EXPECT_LT(std::string(pg::error({.sqlstate = "42601"}, long_query).what()).size(), 200U);
}

}  // namespace
