// SPDX-License-Identifier: MIT
// Settings of the role, the database or the URL do not change the values that a client reads.

#include "db/pg/session/session_setup.hpp"

#include "../support.hpp"

#include <weir/testing/expect.hpp>

#include <limits>

namespace {

using namespace weir;
using namespace weir_test;

std::string url_with(const std::string& settings) {
    return pg_url() + "&options=" + settings;
}

WEIR_IO_TEST(SessionSetup, DoublesAreExact) {
    pg::connection own = co_await pg::connect({.url = url_with("-c%20extra_float_digits%3D0")});
    for (const double each : {0.1 + 0.2, 1.0 / 3, std::numeric_limits<double>::denorm_min(),
                              std::numeric_limits<double>::max(), -1e-300 / 7}) {
        const double got = co_await one<double>(own, "SELECT $1::float8", each);
        EXPECT_EQ(got, each);
    }
}

WEIR_IO_TEST(SessionSetup, TheFormsOfValuesAreFixed) {
    pg::connection own = co_await pg::connect(
        {.url = url_with("-c%20datestyle%3DGerman,DMY%20-c%20intervalstyle%3Diso_8601%20-c%20"
                         "bytea_output%3Descape%20-c%20standard_conforming_strings%3Doff")});
    const auto day = co_await one<std::string>(own, "SELECT '01.02.2030'::date::text");
    EXPECT_EQ(day, "2030-02-01");  // the order of days and months stays the session's
    const auto time = co_await one<std::chrono::sys_days>(own, "SELECT DATE '2030-12-31'");
    EXPECT_EQ(time, std::chrono::sys_days(std::chrono::year(2030) / 12 / 31));
    const auto interval = co_await one<std::string>(own, "SELECT INTERVAL '1 day 2 hours'");
    EXPECT_EQ(interval, "1 day 02:00:00");
    const auto bytes = co_await one<std::string>(own, "SELECT ('\\x00ff'::bytea)::text");
    EXPECT_EQ(bytes, "\\x00ff");
}

WEIR_IO_TEST(SessionSetup, TimesAtTheEnds) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    using days = std::chrono::sys_days;
    std::string refused;
    try {
        co_await one<days>(own, "SELECT DATE '5874897-12-31'");  // PostgreSQL's last day
    } catch (const db::mapping_error& error) {
        refused = error.what();
    }
    EXPECT_NE(refused.find("that its type can hold"), std::string::npos) << refused;
    const auto late = co_await one<days>(own, "SELECT DATE '294246-12-31'");
    EXPECT_EQ(late.time_since_epoch().count(), 106'751'981);
    const auto endless = co_await one<days>(own, "SELECT DATE 'infinity'");
    EXPECT_EQ(endless, days::max());
    const auto begin = co_await one<days>(own, "SELECT DATE '-infinity'");
    EXPECT_EQ(begin, days::min());
    using microseconds = std::chrono::sys_time<std::chrono::microseconds>;
    const auto far =
        co_await one<microseconds>(own, "SELECT TIMESTAMPTZ '40000-01-01 00:00:00+00'");
    EXPECT_EQ(far.time_since_epoch().count(), 1'200'110'860'800'000'000);
}

}  // namespace
