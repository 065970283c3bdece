// SPDX-License-Identifier: MIT
// Patterns against a slow matcher, and in bounded time.

#include "crawl/scope/glob.hpp"

#include <weir/base/random.hpp>

#include <gtest/gtest.h>

#include <string>

namespace glob_test {

using weir::crawl::detail::glob_matches;

bool matches_slowly(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) {
        return text.empty();
    }
    if (pattern[0] == '*') {
        return matches_slowly(pattern.substr(1), text) ||
               (!text.empty() && matches_slowly(pattern, text.substr(1)));
    }
    return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
           matches_slowly(pattern.substr(1), text.substr(1));
}

TEST(CrawlGlob, AgreesWithASlowMatcher) {
    weir::detail::random_source random(3);
    for (int i = 0; i < 20'000; ++i) {
        std::string pattern;
        std::string text;
        for (std::uint64_t left = random.next_below(7); left > 0; --left) {
            pattern += "ab*?"[random.next_below(4)];
        }
        for (std::uint64_t left = random.next_below(8); left > 0; --left) {
            text += "ab"[random.next_below(2)];
        }
        EXPECT_EQ(glob_matches(pattern, text), matches_slowly(pattern, text))
            << pattern << " " << text;
    }
}

TEST(CrawlGlob, ManyStarsTakeLittleTime) {
    std::string pattern;
    for (int i = 0; i < 500; ++i) {
        pattern += "a*";
    }
    EXPECT_FALSE(glob_matches(pattern + "b", std::string(5000, 'a')));
}

}  // namespace glob_test
