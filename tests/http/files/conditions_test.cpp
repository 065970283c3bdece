// SPDX-License-Identifier: MIT
// Conditional requests.

#include "http/files/conditions.hpp"

#include <weir/http/date.hpp>
#include <weir/http/request.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace http = weir::http;
using http::detail::comparison;
using http::detail::condition;

constexpr auto second = std::chrono::seconds(1);
const auto changed = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000));
const std::string at_change = http::format_date(changed);
const std::string before_change = http::format_date(changed - second);
const std::string after_change = http::format_date(changed + second);

condition check(const http::headers& incoming, std::string_view etag = "\"a\"",
                http::method which = http::method::get) {
    return http::detail::check_conditions(which, incoming, {etag, changed});
}

TEST(Conditions, CompareTags) {
    constexpr auto strong = comparison::strong;
    constexpr auto weak = comparison::weak;
    using http::detail::lists_etag;
    EXPECT_TRUE(lists_etag("\"a\"", "\"a\"", strong));
    EXPECT_FALSE(lists_etag("W/\"a\"", "\"a\"", strong));
    EXPECT_FALSE(lists_etag("\"a\"", "W/\"a\"", strong));
    EXPECT_FALSE(lists_etag("W/\"a\"", "W/\"a\"", strong));
    EXPECT_TRUE(lists_etag("W/\"a\"", "\"a\"", weak));
    EXPECT_TRUE(lists_etag("\"a\"", "W/\"a\"", weak));
    EXPECT_TRUE(lists_etag("\"x,\\\" , \"a\"", "\"a\"", weak));  // a comma and a backslash in a tag
    EXPECT_TRUE(lists_etag(",, \"b\" ,\"a\"", "\"a\"", weak));
    EXPECT_TRUE(lists_etag("*", "", strong));
    EXPECT_FALSE(lists_etag("\"\"", "", weak));  // what has no tag is not an empty one
    EXPECT_TRUE(lists_etag("\"\"", "\"\"", weak));
    for (const char* each : {"", "a", "\"a", "a\"", "w/\"a\"", "W/a", "\"A\"", "b \"a\"", "*, \"a",
                             "\"b\"\"a\"", "\"b\"x, \"a\"", "\" a\"", "W/"}) {
        EXPECT_FALSE(lists_etag(each, "\"a\"", weak)) << each;
    }
    EXPECT_TRUE(http::detail::is_etag("W/\"\""));
    EXPECT_FALSE(http::detail::is_etag(""));
    EXPECT_FALSE(http::detail::is_etag("\"a\" "));
}

TEST(Conditions, AreCheckedInTheOrderOfTheStandard) {
    EXPECT_EQ(check({}), condition::holds);
    EXPECT_EQ(check({{"If-None-Match", "\"a\""}}), condition::not_modified);
    EXPECT_EQ(check({{"If-None-Match", "\"b\""}, {"If-None-Match", "W/\"a\""}}),
              condition::not_modified);
    EXPECT_EQ(check({{"If-None-Match", "\"b\""}}), condition::holds);
    EXPECT_EQ(check({{"If-None-Match", "*"}}), condition::not_modified);
    EXPECT_EQ(check({{"If-None-Match", "*"}}, "\"a\"", http::method::put), condition::failed);
    EXPECT_EQ(check({{"If-None-Match", "\"a\""}}, "\"a\"", http::method::head),
              condition::not_modified);
    EXPECT_EQ(check({{"If-Match", "\"a\""}}), condition::holds);
    EXPECT_EQ(check({{"If-Match", "\"b\", \"a\""}}), condition::holds);
    EXPECT_EQ(check({{"If-Match", "\"b\""}}), condition::failed);
    EXPECT_EQ(check({{"If-Match", "W/\"a\""}}), condition::failed);
    EXPECT_EQ(check({{"If-Match", "*"}}, ""), condition::holds);
    EXPECT_EQ(check({{"If-Match", "garbage"}}), condition::failed);

    EXPECT_EQ(check({{"If-Modified-Since", at_change}}), condition::not_modified);
    EXPECT_EQ(check({{"If-Modified-Since", after_change}}), condition::not_modified);
    EXPECT_EQ(check({{"If-Modified-Since", before_change}}), condition::holds);
    EXPECT_EQ(check({{"If-Modified-Since", at_change}}, "\"a\"", http::method::post),
              condition::holds);
    EXPECT_EQ(check({{"If-Unmodified-Since", before_change}}), condition::failed);
    EXPECT_EQ(check({{"If-Unmodified-Since", at_change}}), condition::holds);
    EXPECT_EQ(check({{"If-Unmodified-Since", before_change}}, "\"a\"", http::method::delete_),
              condition::failed);

    // A tag outranks a date; what fails outranks what has not changed.
    EXPECT_EQ(check({{"If-None-Match", "\"b\""}, {"If-Modified-Since", at_change}}),
              condition::holds);
    EXPECT_EQ(check({{"If-None-Match", "garbage"}, {"If-Modified-Since", at_change}}),
              condition::holds);
    EXPECT_EQ(check({{"If-Match", "\"a\""}, {"If-Unmodified-Since", before_change}}),
              condition::holds);
    EXPECT_EQ(check({{"If-Match", "\"b\""}, {"If-None-Match", "\"a\""}}), condition::failed);
    EXPECT_EQ(check({{"If-Match", "\"a\""}, {"If-None-Match", "\"a\""}}), condition::not_modified);

    // No dates: not there.
    EXPECT_EQ(check({{"If-Modified-Since", "yesterday"}}), condition::holds);
    EXPECT_EQ(check({{"If-Unmodified-Since", "1"}}), condition::holds);
    EXPECT_EQ(check({{"If-Modified-Since", at_change}, {"If-Modified-Since", at_change}}),
              condition::holds);
}

TEST(Conditions, DecideWhetherARangeApplies) {
    const auto applies = [](const http::headers& incoming, std::string_view etag,
                            std::chrono::seconds age) {
        return http::detail::range_applies(incoming, {etag, changed}, changed + age);
    };
    EXPECT_TRUE(applies({}, "\"a\"", 9 * second));
    EXPECT_TRUE(applies({{"If-Range", "\"a\""}}, "\"a\"", 9 * second));
    EXPECT_FALSE(applies({{"If-Range", "\"b\""}}, "\"a\"", 9 * second));
    EXPECT_FALSE(applies({{"If-Range", "W/\"a\""}}, "W/\"a\"", 9 * second));
    EXPECT_FALSE(applies({{"If-Range", "\"a\""}}, "W/\"a\"", 9 * second));
    EXPECT_FALSE(applies({{"If-Range", "\"a\", \"b\""}}, "\"a\"", 9 * second));
    EXPECT_FALSE(applies({{"If-Range", "\"a\""}, {"If-Range", "\"a\""}}, "\"a\"", 9 * second));
    EXPECT_FALSE(applies({{"If-Range", "*"}}, "\"a\"", 9 * second));
    EXPECT_FALSE(applies({{"If-Range", ""}}, "\"a\"", 9 * second));
    EXPECT_TRUE(applies({{"If-Range", at_change}}, "\"a\"", second));
    EXPECT_FALSE(applies({{"If-Range", at_change}}, "\"a\"", 0 * second));  // it may change again
    EXPECT_FALSE(applies({{"If-Range", after_change}}, "\"a\"", 9 * second));  // must be the same
    EXPECT_FALSE(applies({{"If-Range", before_change}}, "\"a\"", 9 * second));
}

}  // namespace
