// SPDX-License-Identifier: MIT
// The choice of a content coding.

#include "http/coding/content_coding.hpp"

#include <weir/http/date.hpp>
#include <weir/http/request.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace http = weir::http;
using http::detail::coding;

TEST(ContentCoding, FollowsTheTable) {
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

TEST(ContentCoding, KnowsTypesThatAreWorthIt) {
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

}  // namespace
