// SPDX-License-Identifier: MIT
// Rows of a real server become structs; what does not fit says what was there and what was wanted.

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

struct user {
    std::int64_t id;
    std::string name;
    std::optional<double> score;
};

template <class Body>
std::string refusal_of(Body body) {
    try {
        body();
    } catch (const db::mapping_error& refused) {
        EXPECT_EQ(refused.advice(), db::retry_advice::no);
        return refused.what();
    }
    return "nothing was refused";
}

TEST(PgMapping, rows_become_structs) {
    plain_connection server;
    pg::rows found = server.query(
        "SELECT * FROM (VALUES (1::bigint, 'Ann', 1.5::float8), (2, 'Bob', NULL)) "
        "AS v(id, name, score)");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found.columns(), (std::vector<std::string>{"id", "name", "score"}));
    const std::vector<user> users = found.as<user>();
    EXPECT_EQ(users[0].id, 1);
    EXPECT_EQ(users[0].name, "Ann");
    EXPECT_EQ(users[0].score, 1.5);
    EXPECT_EQ(users[1].score, std::nullopt);
    EXPECT_EQ(found.first<user>()->name, "Ann");

    // A row stays good when its rows are moved, or one copy of them goes.
    const pg::row second = found[1];
    std::optional<pg::rows> copy = found;
    const pg::rows moved = std::move(found);
    copy.reset();
    EXPECT_EQ(second.get<std::string_view>("name"), "Bob");
    EXPECT_TRUE(second["score"].is_null());
    EXPECT_EQ(second["id"].type(), 20U);
    std::string names;
    for (const pg::row each : moved) {
        names += each.get<std::string>(1);
    }
    EXPECT_EQ(names, "AnnBob");

    EXPECT_EQ(server.query("SELECT 7").one<int>(), 7);
    EXPECT_EQ(server.query("SELECT 7 WHERE false").first<int>(), std::nullopt);
    EXPECT_EQ(server.query("SELECT NULL::int").first<std::optional<int>>().value(), std::nullopt);
}

TEST(PgMapping, nothing_is_no_rows) {
    const pg::rows nothing;
    EXPECT_TRUE(nothing.empty());
    EXPECT_TRUE(nothing.columns().empty());
    EXPECT_EQ(nothing.affected(), 0U);
    EXPECT_TRUE(nothing.as<user>().empty());
    EXPECT_EQ(nothing.first<int>(), std::nullopt);
    EXPECT_EQ(refusal_of([&] { nothing.one<int>(); }), "one row was expected, and there are 0");
    EXPECT_TRUE(nothing.begin() == nothing.end());
}

TEST(PgMapping, affected_counts_what_was_changed) {
    plain_connection server;
    server.query("CREATE TEMPORARY TABLE counted (n int)");
    EXPECT_EQ(server.query("INSERT INTO counted SELECT generate_series(1, 70000)").affected(),
              70'000U);
    EXPECT_EQ(server.query("UPDATE counted SET n = n + 1 WHERE n <= 3").affected(), 3U);
    EXPECT_EQ(server.query("DELETE FROM counted WHERE false").affected(), 0U);
    EXPECT_EQ(server.query("SELECT * FROM counted LIMIT 5").affected(), 5U);
    EXPECT_EQ(server.query("SET work_mem = '1MB'").affected(), 0U);
}

TEST(PgMapping, what_does_not_fit_is_named) {
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
    EXPECT_EQ(
        refusal_of([&] { row.get<int>("missing"); }),
        "there is no column 'missing' among big, nothing, letter, real, numbers, matrix, moment, "
        "raw");
    EXPECT_EQ(refusal_of([&] { row.get<int>(8); }), "column 8 of a row that has 8");
    EXPECT_EQ(refusal_of([&] { row.as<user>(); }), "a row of 8 columns is read into 3 members");
    EXPECT_EQ(refusal_of([&] { found.as<int>(); }), "a row of 8 columns is read into 1 member");
    EXPECT_EQ(refusal_of([&] { server.query("SELECT generate_series(1,3)").one<int>(); }),
              "one row was expected, and there are 3");
    EXPECT_EQ(
        refusal_of([&] { server.query("SELECT -1").one<std::uint16_t>(); }),
        "column 0 '?column?' of type integer cannot be read as an integer of 16 bits without a "
        "sign");
    EXPECT_EQ(refusal_of([&] { server.query("SELECT ARRAY[1,NULL]").one<std::vector<int>>(); }),
              "column 0 'array' of type integer is null and is read as an integer");
}

TEST(PgMapping, types_without_one_of_their_own_are_text) {
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

TEST(PgMapping, numbers) {
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

TEST(PgMapping, points_in_time) {
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

TEST(PgMapping, bytes_in_both_forms) {
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

TEST(PgErrors, fields_and_advice) {
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
