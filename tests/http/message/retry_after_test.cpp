// SPDX-License-Identifier: MIT
// Retry-After as seconds and as a date, relative to the response's own Date.

#include <weir/http/date.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/retry_after.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string_view>

using namespace std::chrono_literals;
namespace http = weir::http;
using http::retry_after;

TEST(RetryAfter, Reads) {
    const auto read = [](std::string_view value, std::string_view date = {}) {
        http::headers fields;
        fields.set("Retry-After", value);
        if (!date.empty()) {
            fields.set("Date", date);
        }
        return retry_after(fields);
    };
    EXPECT_EQ(retry_after(http::headers()), std::nullopt);
    EXPECT_EQ(read("0"), 0s);
    EXPECT_EQ(read("120"), 120s);
    EXPECT_EQ(read("007"), 7s);
    EXPECT_EQ(read("99999999999999999999999"), 24h * 36500);
    EXPECT_EQ(read("9223372036854775807"), 24h * 36500);
    for (const std::string_view bad : {"", "-1", "+1", "1.5", "1 s", "0x1", "soon", "1e3", "1,2"}) {
        EXPECT_EQ(read(bad), std::nullopt) << bad;
    }
    EXPECT_EQ(read("Sun, 06 Nov 1994 08:50:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"), 60s);
    EXPECT_EQ(read("Sunday, 06-Nov-94 08:50:37 GMT", "Sun Nov  6 08:49:37 1994"), 60s);
    EXPECT_EQ(read("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:37 GMT"), 0s);
    EXPECT_EQ(read("Sun, 06 Nov 1994 08:49:37 GMT"), 0s);
    EXPECT_EQ(read("Fri, 31 Dec 9999 23:59:59 GMT", "Sat, 01 Jan 0000 00:00:00 GMT"), 24h * 36500);
    const auto soon = read(http::format_date(std::chrono::system_clock::now() + 1h));
    ASSERT_TRUE(soon.has_value());
    EXPECT_NEAR(std::chrono::duration<double>(*soon).count(), 3600, 60);
}
