// SPDX-License-Identifier: MIT
// What is decided without reading anything: ranges, conditions, codings, paths; against tables and
// plain models.

#include "http/coding/content_coding.hpp"
#include "http/files/conditions.hpp"
#include "http/files/ranges.hpp"
#include "http/files/representation.hpp"
#include "http/files/served_path.hpp"

#include <weir/http/date.hpp>
#include <weir/http/request.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace http = weir::http;
using http::detail::byte_range;
using http::detail::choose_ranges;
using http::detail::coding;
using http::detail::comparison;
using http::detail::condition;
using http::detail::range_choice;

// ---- ranges
// --------------------------------------------------------------------------------------

std::string show(std::string_view header, std::uint64_t size, std::size_t most = 4) {
    std::vector<byte_range> chosen;
    switch (choose_ranges(header, size, most, chosen)) {
        case range_choice::whole:
            EXPECT_TRUE(chosen.empty());
            return "whole";
        case range_choice::unsatisfiable:
            EXPECT_TRUE(chosen.empty());
            return "unsatisfiable";
        case range_choice::parts:
            break;
    }
    std::string all;
    for (const byte_range& each : chosen) {
        all += (all.empty() ? "" : " ") + std::to_string(each.first) + "-" +
               std::to_string(each.first + each.size - 1);
    }
    return all;
}

TEST(Ranges, Table) {
    EXPECT_EQ(show("bytes=0-0", 10), "0-0");
    EXPECT_EQ(show("bytes=0-", 10), "0-9");
    EXPECT_EQ(show("bytes=9-", 10), "9-9");
    EXPECT_EQ(show("bytes=2-100", 10), "2-9");
    EXPECT_EQ(show("bytes=-3", 10), "7-9");
    EXPECT_EQ(show("bytes=-30", 10), "0-9");
    EXPECT_EQ(show("BYTES=0-1", 10), "0-1");
    EXPECT_EQ(show("bytes=0-1, 4-5", 10), "0-1 4-5");
    EXPECT_EQ(show("bytes= 4-5\t,,\t0-1 ,", 10), "4-5 0-1");  // in the order of asking
    EXPECT_EQ(show("bytes=0-1,2-3", 10), "0-1 2-3");          // neighbours do not overlap
    EXPECT_EQ(show("bytes=0-1,10-,99-100", 10), "0-1");       // what is not there is left out
    EXPECT_EQ(show("bytes=0-18446744073709551615", 10), "0-9");
    EXPECT_EQ(show("bytes=0-99999999999999999999999999", 10), "0-9");
    EXPECT_EQ(show("bytes=-99999999999999999999999999", 10), "0-9");
    EXPECT_EQ(show("bytes=18446744073709551614-", UINT64_MAX),
              "18446744073709551614-"
              "18446744073709551614");

    for (const char* each : {"bytes=10-", "bytes=10-20", "bytes=-0", "bytes=10-,11-12,-0",
                             "bytes=99999999999999999999999999-"}) {
        EXPECT_EQ(show(each, 10), "unsatisfiable") << each;
    }
    for (const char* each : {"",
                             "bytes",
                             "bytes=",
                             "bytes=,",
                             "bytes= ,, ",
                             "bytes=-",
                             "bytes=1",
                             "bytes=a-b",
                             "bytes=5-4",
                             "bytes=0-1,5-4",
                             "bytes=0-1,x",
                             "bytes=0--1",
                             "bytes=+1-2",
                             "bytes=0x1-2",
                             "bytes=1 - 2",
                             "bytes=1- 2",
                             "bytes =0-1",
                             " bytes=0-1",
                             "lines=0-1",
                             "bytes:0-1",
                             "bytes=0-1;2-3",
                             "bytes=0-1 2-3",
                             "bytes=--5",
                             "bytes=1-2-3"}) {
        EXPECT_EQ(show(each, 10), "whole") << each;
    }
    EXPECT_EQ(show("bytes=0-5,5-6", 10), "whole");  // a byte twice
    EXPECT_EQ(show("bytes=0-0,-10", 10), "whole");
    EXPECT_EQ(show("bytes=0-0,2-2,4-4,6-6", 10), "0-0 2-2 4-4 6-6");
    EXPECT_EQ(show("bytes=0-0,2-2,4-4,6-6,8-8", 10), "whole");  // too many
    EXPECT_EQ(show("bytes=90-,90-,90-,90-,90-", 10), "whole");  // also of what is not there
    EXPECT_EQ(show("bytes=0-0", 0), "whole");                   // nothing is there to be cut
    EXPECT_EQ(show("bytes=-5", 0), "whole");
    EXPECT_EQ(http::detail::content_range({2, 3}, 10), "bytes 2-4/10");
    EXPECT_EQ(http::detail::content_range_of_none(10), "bytes */10");
}

// By the letter, and byte by byte.
std::string model(const std::string& header, std::uint64_t size, std::size_t most) {
    static const std::regex whole("[Bb][Yy][Tt][Ee][Ss]=(.*)");
    static const std::regex one("[ \t]*(?:([0-9]+)-([0-9]*)|-([0-9]+))[ \t]*");
    std::smatch parts;
    if (size == 0 || !std::regex_match(header, parts, whole)) {
        return "whole";
    }
    const std::string list = parts[1].str() + ",";
    std::vector<int> taken(size);
    std::string all;
    std::size_t count = 0;
    for (std::size_t begin = 0; begin < list.size();) {
        const std::size_t end = list.find(',', begin);
        const std::string each = list.substr(begin, end - begin);
        begin = end + 1;
        if (each.find_first_not_of(" \t") == std::string::npos) {
            continue;
        }
        std::smatch found;
        if (!std::regex_match(each, found, one)) {
            return "whole";
        }
        ++count;
        const double none = -1;
        const double first = found[1].matched ? std::stod(found[1]) : none;
        const double last = found[2].matched && found[2].length() > 0 ? std::stod(found[2]) : 1e300;
        const double suffix = found[3].matched ? std::stod(found[3]) : none;
        if (last < first) {
            return "whole";
        }
        std::optional<std::uint64_t> from;
        std::uint64_t to = 0;
        for (std::uint64_t i = 0; i < size; ++i) {
            const auto place = static_cast<double>(i);
            const bool is_in = suffix != none ? place >= static_cast<double>(size) - suffix
                                              : place >= first && place <= last;
            if (is_in) {
                from = from.value_or(i);
                to = i;
                ++taken[i];
            }
        }
        if (from) {
            all += (all.empty() ? "" : " ") + std::to_string(*from) + "-" + std::to_string(to);
        }
    }
    if (count == 0 || count > most ||
        std::any_of(taken.begin(), taken.end(), [](int times) { return times > 1; })) {
        return "whole";
    }
    return all.empty() ? "unsatisfiable" : all;
}

TEST(Ranges, LikeThePlainModel) {
    std::mt19937 random(20261);
    const auto below = [&](unsigned limit) { return random() % limit; };
    int parts = 0;
    for (int round = 0; round < 6000; ++round) {
        const std::uint64_t size = below(3) == 0 ? below(4) : below(60);
        std::string header = "bytes=";
        for (unsigned count = 1 + below(4); count > 0; --count) {
            const unsigned first = below(70);
            switch (below(4)) {
                case 0:
                    header += std::to_string(first) + "-";
                    break;
                case 1:
                    header += "-" + std::to_string(below(20));
                    break;
                default:
                    header += std::to_string(first) + "-" + std::to_string(first + below(9));
            }
            if (count > 1) {
                header += below(2) == 0 ? "," : " , ";
            }
        }
        for (unsigned mutations = below(3) == 0 ? 1 + below(3) : 0; mutations > 0; --mutations) {
            constexpr std::string_view letters = "0123456789-,= \tbB;";
            const char letter = letters[below(static_cast<unsigned>(letters.size()))];
            const std::size_t at = below(static_cast<unsigned>(header.size()));
            switch (below(3)) {
                case 0:
                    header.insert(at, 1, letter);
                    break;
                case 1:
                    header.erase(at, 1);
                    break;
                default:
                    header[at] = letter;
            }
        }
        const std::string expected = model(header, size, 3);
        parts += expected[0] >= '0' && expected[0] <= '9' ? 1 : 0;
        ASSERT_EQ(show(header, size, 3), expected) << "'" << header << "' of " << size;
    }
    EXPECT_GT(parts, 1000);  // the generator finds what it is to find
}

// ---- conditions
// ----------------------------------------------------------------------------------

constexpr auto second = std::chrono::seconds(1);
const auto changed = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000));
const std::string at_change = http::format_date(changed);
const std::string before_change = http::format_date(changed - second);
const std::string after_change = http::format_date(changed + second);

condition check(const http::headers& asked, std::string_view etag = "\"a\"",
                http::method which = http::method::get) {
    return http::detail::check_conditions(which, asked, {etag, changed});
}

TEST(Conditions, Tags) {
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

TEST(Conditions, InTheOrderOfTheStandard) {
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

TEST(Conditions, IfRange) {
    const auto applies = [](const http::headers& asked, std::string_view etag,
                            std::chrono::seconds age) {
        return http::detail::range_applies(asked, {etag, changed}, changed + age);
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

// ---- codings
// -------------------------------------------------------------------------------------

TEST(Codings, Table) {
    struct row {
        const char* header;
        const char* chosen;
        bool is_identity_refused = false;
    };
    constexpr coding offered[] = {coding::brotli, coding::gzip};
    const row table[] = {
        {"", "identity"},
        {"gzip", "gzip"},
        {"GZIP", "gzip"},
        {"x-gzip", "gzip"},
        {"br", "br"},
        {"gzip, br", "br"},  // both as welcome: ours
        {"br, gzip", "br"},
        {"gzip, deflate, br, zstd", "br"},
        {"gzip;q=1.0, br;q=0.9", "gzip"},
        {"gzip;q=0.5, br;q=0.501", "br"},
        {"gzip;q=0.001", "gzip"},
        {"gzip;q=0", "identity"},
        {"gzip;q=0.000", "identity"},
        {"gzip ; q=0.5", "gzip"},
        {"gzip;Q=0.5", "gzip"},
        {"\tgzip\t,", "gzip"},
        {"deflate", "identity"},
        {"zstd", "identity"},
        {"*", "br"},
        {"*;q=0.1", "br"},
        {"br;q=0, *", "gzip"},
        {"gzip;q=0, br;q=0, *", "identity"},
        {"identity", "identity"},
        {"identity, gzip", "gzip"},
        {"identity;q=0.5, gzip;q=0.4", "identity"},
        {"identity;q=0.5, gzip;q=0.6", "gzip"},
        {"*;q=0", "identity", true},
        {"*;q=0, gzip", "gzip", true},
        {"*;q=0, identity", "identity"},
        {"identity;q=0", "identity", true},
        {"identity;q=0, gzip", "gzip", true},
        {"identity;q=0, gzip;q=0.1, *;q=0", "gzip", true},
        // What is malformed is not there.
        {"gzip;q=2", "identity"},
        {"gzip;q=1.001", "identity"},
        {"gzip;q=0.0001", "identity"},
        {"gzip;q=", "identity"},
        {"gzip;q=-1", "identity"},
        {"gzip;q=a", "identity"},
        {"gzip;q=1;q=0", "identity"},
        {"gzip;level=9", "identity"},
        {"gzip;", "identity"},
        {";q=1", "identity"},
        {"gz ip", "identity"},
        {"gzip br", "identity"},
        {"gzip;q=2, br", "br"},
        {",,,", "identity"},
        {"gzip;q=0, gzip", "gzip"},  // the last one counts
    };
    for (const row& each : table) {
        const auto choice = http::detail::choose_coding(each.header, offered);
        EXPECT_EQ(http::detail::name_of(choice.which), each.chosen) << each.header;
        EXPECT_EQ(choice.is_identity_refused, each.is_identity_refused) << each.header;
    }
    const auto nothing = http::detail::choose_coding("gzip, br, *", {});
    EXPECT_EQ(nothing.which, coding::identity);
}

TEST(Codings, WhatIsWorthIt) {
    for (const char* each :
         {"text/html", "text/plain; charset=utf-8", "TEXT/CSS", "application/json",
          "application/problem+json", "image/svg+xml", "application/wasm", "text/event-stream",
          "application/json ; charset=utf-8"}) {
        EXPECT_TRUE(http::detail::is_compressible(each)) << each;
    }
    for (const char* each : {"", "text", "image/png", "video/mp4", "application/zip", "font/woff2",
                             "application/octet-stream", "multipart/byteranges; boundary=x",
                             "application/jsonx", "image/png; x=text/html"}) {
        EXPECT_FALSE(http::detail::is_compressible(each)) << each;
    }
}

// ---- paths
// ---------------------------------------------------------------------------------------

std::string served(std::string_view sent, bool hides_dots = true) {
    const auto found = http::detail::served_path_of(sent, hides_dots);
    return !found ? "-" : (found->is_directory ? "folder " : "file ") + found->text;
}

TEST(ServedPaths, Table) {
    EXPECT_EQ(served(""), "folder ");
    EXPECT_EQ(served("a"), "file a");
    EXPECT_EQ(served("a/b.html"), "file a/b.html");
    EXPECT_EQ(served("a/"), "folder a");
    EXPECT_EQ(served("a%20b/%C3%A4"), "file a b/\xC3\xA4");
    EXPECT_EQ(served("a+b"), "file a+b");
    EXPECT_EQ(served("%41%2E"), "file A.");
    EXPECT_EQ(served("a..b/c."), "file a..b/c.");
    EXPECT_EQ(served("a%252e"), "file a%2e");  // decoded once
    EXPECT_EQ(served("..."), "-");
    EXPECT_EQ(served("...", false), "file ...");
    EXPECT_EQ(served(".git/config"), "-");
    EXPECT_EQ(served("a/.b"), "-");
    EXPECT_EQ(served("a/%2eb"), "-");
    EXPECT_EQ(served(".git/config", false), "file .git/config");
    EXPECT_EQ(served(".well-known/acme-challenge/x"), "file .well-known/acme-challenge/x");
    EXPECT_EQ(served("a/.well-known/x"), "-");
    for (const char* each : {"/",          "//",    "/a",      "a//",       "a//b",
                             ".",          "..",    "./a",     "../a",      "a/..",
                             "a/../b",     "a/./b", "%2e",     "%2E%2e",    "%2e./a",
                             "a/%2e%2e/b", "a%2fb", "a%2Fb",   "%2f",       "%2fetc/passwd",
                             "a%00",       "%00",   "a%",      "a%2",       "a%zz",
                             "%",          "a/%2",  "a/..%2f", "..%2f..%2f"}) {
        EXPECT_EQ(served(each), "-") << each;
        EXPECT_EQ(served(each, false), "-") << each;
    }
    EXPECT_EQ(served(std::string(4001, 'a')), "-");
    EXPECT_NE(served(std::string(4000, 'a')), "-");
    EXPECT_EQ(served(std::string(100'000, '%')), "-");
}

std::string rest(std::string_view target, std::string_view route, std::string_view prefix = {}) {
    http::request asked(http::method::get, target);
    asked.set_route(route);
    return std::string(http::detail::rest_of_path(asked, prefix).value_or("-"));
}

TEST(ServedPaths, BehindARouteOrAPrefix) {
    EXPECT_EQ(rest("/a/b?c/d", ""), "a/b");
    EXPECT_EQ(rest("/", ""), "");
    EXPECT_EQ(rest("/static/a/b", "/static/{path...}"), "a/b");
    EXPECT_EQ(rest("/static/", "/static/{path...}"), "");
    EXPECT_EQ(rest("/static", "/static/{path...}"), "");
    EXPECT_EQ(rest("/u/7/files/a%2Fb/c", "/u/{id}/files/{path...}"), "a%2Fb/c");
    EXPECT_EQ(rest("/a/b", "/{path...}"), "a/b");
    EXPECT_EQ(rest("/a/b", "", "/a"), "b");
    EXPECT_EQ(rest("/a/b", "", "/a/"), "b");
    EXPECT_EQ(rest("/a", "", "/a"), "");
    EXPECT_EQ(rest("/ab", "", "/a"), "-");
    EXPECT_EQ(rest("/b/a", "", "/a"), "-");
}

TEST(ContentTypes, ByTheEndOfTheName) {
    using http::detail::content_type_of;
    EXPECT_EQ(content_type_of("a/index.html"), "text/html; charset=utf-8");
    EXPECT_EQ(content_type_of("A.HTML"), "text/html; charset=utf-8");
    EXPECT_EQ(content_type_of("app.min.js"), "text/javascript; charset=utf-8");
    EXPECT_EQ(content_type_of("site.webmanifest"), "application/manifest+json");
    for (const char* each : {"", "html", ".html", "a.b/c", "a.", "a.unheardof", "a.html~",
                             "a.averyveryverylongextension", "a.html/"}) {
        EXPECT_EQ(content_type_of(each), "application/octet-stream") << each;
    }
}

}  // namespace
