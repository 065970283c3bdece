// SPDX-License-Identifier: MIT
// Dates of headers, compared with those of the C library.

#include <weir/error.hpp>
#include <weir/http/date.hpp>

#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <string>

using namespace std::chrono_literals;
using weir::http::format_date;
using weir::http::parse_date;
using clock_type = std::chrono::system_clock;

namespace {

clock_type::time_point at(std::time_t seconds) {
    return clock_type::time_point(std::chrono::seconds(seconds));
}

std::string written(std::time_t when, const char* format) {
    std::tm fields{};
    ::gmtime_r(&when, &fields);
    char text[64];
    return {text, std::strftime(text, sizeof text, format, &fields)};
}

constexpr const char* fixed = "%a, %d %b %Y %H:%M:%S GMT";
constexpr const char* rfc850 = "%A, %d-%b-%y %H:%M:%S GMT";
constexpr const char* asctime_form = "%a %b %e %H:%M:%S %Y";

}  // namespace

TEST(Date, AgreesWithTheSystem) {
    std::mt19937_64 random(1);
    const auto now = at(1'800'000'000);
    for (int i = 0; i < 5'000; ++i) {
        // 1677 to 2262, what the clock can express.
        const auto when = static_cast<std::time_t>(random() % 18'400'000'000) - 9'200'000'000;
        ASSERT_EQ(format_date(at(when)), written(when, fixed));
        ASSERT_EQ(format_date(at(when) + 999ms), written(when, fixed));
        ASSERT_EQ(parse_date(written(when, fixed)), at(when)) << written(when, fixed);
        ASSERT_EQ(parse_date(written(when, asctime_form)), at(when));
        const auto recent = static_cast<std::time_t>(random() % 4'000'000'000) - 600'000'000;
        if (recent > 1'800'000'000 - 49ll * 31'556'952 &&
            recent < 1'800'000'000 + 49ll * 31'556'952) {
            ASSERT_EQ(parse_date(written(recent, rfc850), now), at(recent));
        }
    }
    // Each day and each second of a day, over two leap years.
    for (std::time_t day = 0; day < 1500; ++day) {
        const std::time_t when = 1'577'836'800 + day * 86'400 + day * 61 % 86'400;
        ASSERT_EQ(format_date(at(when)), written(when, fixed));
        ASSERT_EQ(parse_date(format_date(at(when))), at(when));
    }
}

TEST(Date, ReadsThreeForms) {
    const auto expected = at(784'111'777);
    EXPECT_EQ(parse_date("Sun, 06 Nov 1994 08:49:37 GMT"), expected);
    EXPECT_EQ(parse_date("Sunday, 06-Nov-94 08:49:37 GMT"), expected);
    EXPECT_EQ(parse_date("Sun Nov  6 08:49:37 1994"), expected);
    EXPECT_EQ(parse_date("Wed Nov 16 08:49:37 1994"), expected + 240h);
    // Fifty years ahead of 2026 is 2076; a year later is 1977.
    const auto now = at(1'790'000'000);
    EXPECT_EQ(format_date(*parse_date("Wednesday, 01-Jan-76 00:00:00 GMT", now)),
              "Wed, 01 Jan 2076 00:00:00 GMT");
    EXPECT_EQ(format_date(*parse_date("Saturday, 01-Jan-77 00:00:00 GMT", now)),
              "Sat, 01 Jan 1977 00:00:00 GMT");
    EXPECT_EQ(parse_date("Sat, 31 Dec 2016 23:59:60 GMT"),
              parse_date("Sun, 01 Jan 2017 00:00:00 GMT"));
    EXPECT_EQ(parse_date("Fri, 31 Dec 9999 23:59:59 GMT"), clock_type::time_point::max());
    EXPECT_EQ(parse_date("Sat, 01 Jan 0000 00:00:00 GMT"), clock_type::time_point::min());
    EXPECT_EQ(format_date(clock_type::time_point::max()), "Fri, 11 Apr 2262 23:47:16 GMT");
    EXPECT_EQ(format_date(clock_type::time_point::min()), "Tue, 21 Sep 1677 00:12:43 GMT");
    EXPECT_EQ(format_date(at(-1)), "Wed, 31 Dec 1969 23:59:59 GMT");
}

TEST(Date, RefusesAllElse) {
    for (const std::string_view bad : {"",
                                       "0",
                                       "-1",
                                       "120",
                                       "Sun",
                                       "Sunday",
                                       "Sun,",
                                       "Sun, 06 Nov 1994 08:49:37",
                                       "Sun, 06 Nov 1994 08:49:37 UTC",
                                       "Sun, 06 Nov 1994 08:49:37 GMT ",
                                       " Sun, 06 Nov 1994 08:49:37 GMT",
                                       "Sun, 6 Nov 1994 08:49:37 GMT",
                                       "sun, 06 nov 1994 08:49:37 gmt",
                                       "Mon, 06 Nov 1994 08:49:37 GMT",
                                       "Sun, 06 Nov 94 08:49:37 GMT",
                                       "Sun, 06 Nov 1994 24:00:00 GMT",
                                       "Sun, 06 Nov 1994 08:60:37 GMT",
                                       "Sun, 06 Nov 1994 08:49:61 GMT",
                                       "Sun, 06 Nov 1994 8:49:37 GMT",
                                       "Sun, 06 Nov 1994 08:49 GMT",
                                       "Thu, 30 Feb 1995 00:00:00 GMT",
                                       "Wed, 29 Feb 1995 00:00:00 GMT",
                                       "Thu, 00 Nov 1994 00:00:00 GMT",
                                       "Thu, 32 Nov 1994 00:00:00 GMT",
                                       "Sun, 06 Foo 1994 08:49:37 GMT",
                                       "Sun,06 Nov 1994 08:49:37 GMT",
                                       "Sun, 06-Nov-94 08:49:37 GMT",
                                       "Sunday, 06 Nov 1994 08:49:37 GMT",
                                       "Sunday, 06-Nov-1994 08:49:37 GMT",
                                       "Monday, 06-Nov-94 08:49:37 GMT",
                                       "Sun Nov 6 08:49:37 1994",
                                       "Sun Nov 06 08:49:37 1994 GMT",
                                       "Sun Nov  6 08:49:37 94",
                                       "1994-11-06T08:49:37Z",
                                       "Sun, +6 Nov 1994 08:49:37 GMT",
                                       "Sun, 06 Nov -994 08:49:37 GMT"}) {
        EXPECT_FALSE(parse_date(bad).has_value()) << bad;
    }
    std::mt19937 random(2);
    const std::string good = "Sun, 06 Nov 1994 08:49:37 GMT";
    for (int i = 0; i < 20'000; ++i) {
        std::string text = good;
        text[random() % text.size()] = static_cast<char>(random());
        text.resize(random() % 4 == 0 ? random() % text.size() : text.size());
        const auto read = parse_date(text);
        if (read && *read != clock_type::time_point::max() &&
            *read != clock_type::time_point::min()) {
            ASSERT_EQ(format_date(*read), text);
        }
    }
}
