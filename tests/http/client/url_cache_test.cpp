// SPDX-License-Identifier: MIT
// A bounded cache of parsed URLs.

#include "http/client/url_cache.hpp"

#include <weir/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using weir::http::detail::url_cache;

TEST(UrlCache, ParsesEachTextOnce) {
    url_cache cache;
    const weir::http::url& first = cache.parse("http://Example.com");
    EXPECT_EQ(first.text(), "http://example.com/");
    EXPECT_EQ(&cache.parse("http://Example.com"), &first);
    EXPECT_EQ(cache.size(), 1U);
    EXPECT_THROW((void)cache.parse("nonsense"), weir::invalid_argument);
    EXPECT_EQ(cache.size(), 1U);
}

TEST(UrlCache, IsBounded) {
    url_cache cache;
    for (std::size_t i = 0; i < 3 * url_cache::capacity; ++i) {
        const std::string text = "http://x/" + std::to_string(i);
        EXPECT_EQ(cache.parse(text).text(), text);
        EXPECT_LE(cache.size(), url_cache::capacity);
    }
}

}  // namespace
