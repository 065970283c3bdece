// SPDX-License-Identifier: MIT
// Columns of a real server, read as C++ types; errors name the column, its type and the wanted
// type.

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
using pg_test::refusal_of;
using pg_test::user;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::sys_time;
using std::chrono::system_clock;
using microsecond_time = sys_time<std::chrono::microseconds>;

TEST(Value, NamesWhatDoesNotFit) {
    plain_connection server;
    const pg::rows found = server.query(
        "SELECT 300::int AS big, NULL::text AS nothing, 'x'::text AS letter, 1.5::float8 AS real, "
        "ARRAY[1,2] AS numbers, ARRAY[[1,2],[3,4]] AS matrix, now() AS moment, '\\x01'::bytea AS "
        "raw");
    const pg::row row = found[0];
    EXPECT_EQ(refusal_of([&] { row.get<std::int8_t>("big"); }),
              "column 0 'big' of type integer cannot be read as an integer of 8 bits");
    EXPECT_EQ(refusal_of([&] { row.get<std::string>("big"); }),
              "column 0 'big' of type integer cannot be read as text");
    EXPECT_EQ(refusal_of([&] { row.get<bool>("big"); }),
              "column 0 'big' of type integer cannot be read as a bool");
    EXPECT_EQ(refusal_of([&] { row.get<std::string>("nothing"); }),
              "column 1 'nothing' of type text is null and is read as text");
    EXPECT_EQ(refusal_of([&] { row.get<int>("letter"); }),
              "column 2 'letter' of type text cannot be read as an integer");
    EXPECT_EQ(refusal_of([&] { row.get<double>("letter"); }),
              "column 2 'letter' of type text cannot be read as a number");
    EXPECT_EQ(refusal_of([&] { row.get<std::vector<int>>("letter"); }),
              "column 2 'letter' of type text cannot be read as an array");
    EXPECT_EQ(refusal_of([&] { row.get<int>("real"); }),
              "column 3 'real' of type double precision cannot be read as an integer");
    EXPECT_EQ(refusal_of([&] { row.get<std::vector<std::string>>("numbers"); }),
              "column 4 'numbers' of type integer cannot be read as text");
    EXPECT_EQ(refusal_of([&] { row.get<int>("numbers"); }),
              "column 4 'numbers' of type integer[] cannot be read as an integer");
    EXPECT_EQ(
        refusal_of([&] { row.get<std::vector<int>>("matrix"); }),
        "column 5 'matrix' of type integer[] cannot be read as an array: it has more than one "
        "dimension");
    EXPECT_EQ(row.get<std::string>("matrix"), "{{1,2},{3,4}}");
    EXPECT_EQ(refusal_of([&] { row.get<pg::blob>("letter"); }),
              "column 2 'letter' of type text cannot be read as bytes");
    EXPECT_EQ(refusal_of([&] { row.get<system_clock::time_point>("letter"); }),
              "column 2 'letter' of type text cannot be read as a point in time");
    EXPECT_EQ(refusal_of([&] { row.get<int>("missing"); }),
              "column 'missing' does not exist; the columns are big, nothing, letter, real, "
              "numbers, matrix, moment, "
              "raw");
    EXPECT_EQ(refusal_of([&] { row.get<int>(8); }),
              "column 8 does not exist: the row has 8 columns");
    EXPECT_EQ(refusal_of([&] { row.as<user>(); }),
              "a row of 8 columns cannot be read as 3 members");
    EXPECT_EQ(refusal_of([&] { found.as<int>(); }),
              "a row of 8 columns cannot be read as 1 member");
    EXPECT_EQ(refusal_of([&] { server.query("SELECT generate_series(1,3)").one<int>(); }),
              "one row was expected, but there are 3");
    EXPECT_EQ(
        refusal_of([&] { server.query("SELECT -1").one<std::uint16_t>(); }),
        "column 0 '?column?' of type integer cannot be read as an integer of 16 bits without a "
        "sign");
    EXPECT_EQ(refusal_of([&] { server.query("SELECT ARRAY[1,NULL]").one<std::vector<int>>(); }),
              "column 0 'array' of type integer is null and is read as an integer");
}

TEST(Value, OtherTypesAreText) {
    plain_connection server;
    const auto text = [&](const std::string& expression) {
        return server.query("SELECT " + expression).one<std::string>();
    };
    EXPECT_EQ(text("'{\"a\": 1}'::json"), "{\"a\": 1}");
    EXPECT_EQ(text("'{\"a\":1}'::jsonb"), "{\"a\": 1}");
    EXPECT_EQ(text("'6d1e1f5e-0000-4000-8000-000000000000'::uuid"),
              "6d1e1f5e-0000-4000-8000-000000000000");
    EXPECT_EQ(text("'10.0.0.1'::inet"), "10.0.0.1");
    EXPECT_EQ(text("'1 day'::interval"), "1 day");
    EXPECT_EQ(text("12345678901234567890.5::numeric"), "12345678901234567890.5");
    EXPECT_EQ(text("'ab'::char(4)"), "ab  ");
    EXPECT_EQ(text("current_user"), "weir");
    EXPECT_EQ(server.query("SELECT 'free'").one<std::string>(), "free");
    server.query("CREATE TYPE pg_temp.mood AS ENUM ('sad', 'very \"happy\"')");
    EXPECT_EQ(text("'sad'::pg_temp.mood"), "sad");
    EXPECT_EQ(server.query("SELECT ARRAY['sad', 'very \"happy\"', NULL]::pg_temp.mood[]")
                  .one<std::vector<std::optional<std::string>>>(),
              (std::vector<std::optional<std::string>>{"sad", "very \"happy\"", std::nullopt}));
    server.query("CREATE DOMAIN pg_temp.positive AS int CHECK (value > 0)");
    EXPECT_EQ(server.query("SELECT 5::pg_temp.positive").one<int>(), 5);
}

TEST(Value, ReadsNumbers) {
    plain_connection server;
    EXPECT_EQ(server.query("SELECT 4294967295::oid").one<std::uint32_t>(), 4'294'967'295U);
    EXPECT_EQ(server.query("SELECT 0.1::float4").one<float>(), 0.1F);
    EXPECT_EQ(server.query("SELECT 2.50::numeric").one<double>(), 2.5);
    EXPECT_EQ(server.query("SELECT 7::bigint").one<double>(), 7.0);
    EXPECT_TRUE(std::isnan(server.query("SELECT 'NaN'::numeric").one<double>()));
    EXPECT_EQ(server.query("SELECT '-Infinity'::float4").one<double>(),
              -std::numeric_limits<double>::infinity());
    EXPECT_EQ(refusal_of([&] { server.query("SELECT ('1e400')::numeric").one<double>(); }),
              "column 0 'numeric' of type numeric cannot be read as a number of its range");
    EXPECT_EQ(server.query("SELECT '[0:2]={7,8,9}'::int[]").one<std::vector<int>>(),
              (std::vector<int>{7, 8, 9}));
    EXPECT_EQ(server.query("SELECT '{}'::int[]").one<std::vector<int>>(), std::vector<int>());
}

TEST(Value, ReadsPointsInTime) {
    plain_connection server;
    const auto read = [&](const std::string& literal) {
        return server.query("SELECT " + literal).one<system_clock::time_point>();
    };
    const sys_days leap_day = sys_days(std::chrono::year(2024) / 2 / 29);
    EXPECT_EQ(read("'2024-02-29 12:30:00.25+00'::timestamptz"), leap_day + 12h + 30min + 250ms);
    EXPECT_EQ(read("'2024-02-29 12:30:00.000001'::timestamp"), leap_day + 12h + 30min + 1us);
    EXPECT_EQ(read("'2024-02-29'::date"), leap_day);
    EXPECT_EQ(read("'1969-12-31 23:59:59.999999+00'::timestamptz"),
              system_clock::time_point() - 1us);
    for (const char* zone : {"Asia/Kolkata", "America/St_Johns", "Pacific/Kiritimati", "UTC"}) {
        server.query(std::string("SET TIME ZONE '") + zone + "'");
        EXPECT_EQ(read("'2024-02-29 12:30:00.25+00'::timestamptz"), leap_day + 12h + 30min + 250ms)
            << zone;
        // Offsets had seconds once.
        EXPECT_EQ(read("'1850-01-01 00:00:00+00'::timestamptz"),
                  sys_days(std::chrono::year(1850) / 1 / 1))
            << zone;
    }
    EXPECT_EQ(read("'infinity'::timestamptz"), system_clock::time_point::max());
    EXPECT_EQ(read("'-infinity'::date"), system_clock::time_point::min());
    const auto far = server.query("SELECT '9999-12-31 23:59:59.999999+00'::timestamptz");
    EXPECT_EQ(far.one<microsecond_time>(), microsecond_time(253'402'300'799'999'999us));
    EXPECT_EQ(
        refusal_of([&] { far.one<system_clock::time_point>(); }),
        "column 0 'timestamptz' of type timestamptz cannot be read as a point in time that its "
        "type can hold");
    const auto farther = server.query("SELECT '294276-12-31'::date");
    EXPECT_EQ(
        refusal_of([&] { farther.one<microsecond_time>(); }),
        "column 0 'date' of type date cannot be read as a point in time that its type can hold");
    // The day of the first Julian date, by the Gregorian calendar.
    EXPECT_EQ(
        server.query("SELECT '4714-11-24 BC'::date").one<sys_days>().time_since_epoch().count(),
        -2'440'588);
    EXPECT_EQ(server.query("SELECT '1969-12-31 23:59:59.5+00'::timestamptz").one<sys_seconds>(),
              sys_seconds(-1s));
    EXPECT_EQ(server.query("SELECT ARRAY['2024-02-29'::date, NULL, 'infinity']")
                  .one<std::vector<std::optional<sys_days>>>(),
              (std::vector<std::optional<sys_days>>{leap_day, std::nullopt, sys_days::max()}));
    server.query("SET DateStyle = 'German'");
    EXPECT_EQ(refusal_of([&] { read("'2024-02-29'::date"); }),
              "column 0 'date' of type date cannot be read as a point in time: DateStyle of the "
              "session must be ISO");
}

TEST(Value, ReadsBytesInBothForms) {
    plain_connection server;
    pg::blob all;
    for (int each = 0; each < 256; ++each) {
        all.push_back(static_cast<std::byte>(each));
    }
    for (const char* form : {"hex", "escape"}) {
        server.query(std::string("SET bytea_output = ") + form);
        EXPECT_EQ(server.query("SELECT $1::bytea", all).one<pg::blob>(), all) << form;
        EXPECT_EQ(server.query("SELECT $1::bytea", pg::blob()).one<pg::blob>(), pg::blob()) << form;
        const std::vector<pg::blob> two = {all, {}};
        EXPECT_EQ(server.query("SELECT $1::bytea[]", two).one<std::vector<pg::blob>>(), two)
            << form;
    }
}

}  // namespace
