// SPDX-License-Identifier: MIT
// Times as text, both ways, and texts that are no times.

#include "base/rfc3339.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <string>

namespace {

using namespace std::chrono_literals;
using weir::base::parse_rfc3339;
using weir::base::to_rfc3339;
using calendar_time = std::chrono::sys_time<std::chrono::microseconds>;

const calendar_time now = std::chrono::sys_days(std::chrono::year(2026) / 11 / 15) + 12h;

TEST(Rfc3339, TimesAreReadAsTheyWereWritten) {
    EXPECT_EQ(to_rfc3339(now + 250ms), "2026-11-15T12:00:00.250000Z");
    EXPECT_EQ(to_rfc3339(calendar_time()), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(parse_rfc3339("2026-11-15T13:30:00+01:30"), now);
    EXPECT_EQ(parse_rfc3339("2026-11-15 09:00:00.0000009-03:00"), now);
    EXPECT_EQ(parse_rfc3339("2024-02-29T00:00:00z"), parse_rfc3339("2024-02-29t00:00:00Z"));
    EXPECT_EQ(parse_rfc3339("2016-12-31T23:59:60Z"), parse_rfc3339("2017-01-01T00:00:00Z"));
    for (const std::string bad : {"",
                                  "2026-11-15",
                                  "2026-11-15T12:00:00",
                                  "2026-11-15T12:00Z",
                                  "2026-02-29T00:00:00Z",
                                  "2026-13-01T00:00:00Z",
                                  "2026-00-01T00:00:00Z",
                                  "2026-11-15T24:00:00Z",
                                  "2026-11-15T12:60:00Z",
                                  "2026-11-15T12:00:61Z",
                                  "2026-11-15T12:00:00.Z",
                                  "2026-11-15T12:00:00+1:00",
                                  "2026-11-15T12:00:00+24:00",
                                  "2026-11-15T12:00:00Z ",
                                  " 2026-11-15T12:00:00Z",
                                  "1969-12-31T23:59:59Z",
                                  "1970-01-01T00:00:00+00:01",
                                  "9999-12-31T23:59:59-00:01",
                                  "+026-11-15T12:00:00Z",
                                  "2026-11-15T12:00:00ZZ",
                                  "now"}) {
        EXPECT_FALSE(parse_rfc3339(bad)) << bad;
    }
    std::mt19937_64 random(1);
    for (int i = 0; i < 2000; ++i) {
        constexpr std::uint64_t end = 253402300800000000;  // the year 10000
        const calendar_time at(
            std::chrono::microseconds(static_cast<std::int64_t>(random() % end)));
        EXPECT_EQ(parse_rfc3339(to_rfc3339(at)), at);
    }
}

}  // namespace
