// SPDX-License-Identifier: MIT
// robots.txt: which group is ours, which rule decides, and what hostile files cannot do.

#include "crawl/robots/robots_pattern.hpp"

#include <weir/base/random.hpp>
#include <weir/crawl/robots_txt.hpp>
#include <weir/detail/frame_pool.hpp>

#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace robots_txt_test {

using namespace weir::crawl;
using namespace std::chrono_literals;

bool allowed(std::string_view text, std::string_view target, std::string_view agent = "FooBot") {
    return robots_txt::parse(text, agent).allows(target);
}

struct decision {
    std::string_view text;
    std::string_view target;
    bool is_allowed;
};
void expect_decisions(const std::vector<decision>& table) {
    for (const decision& each : table) {
        EXPECT_EQ(allowed(each.text, each.target), each.is_allowed)
            << each.text << "\nfor " << each.target;
    }
}

TEST(CrawlRobots, Lines) {
    expect_decisions({
        {"", "/x", true},
        {"user-agent: FooBot\ndisallow: /\n", "/x", false},
        {"user-agent FooBot\ndisallow /\n", "/x", false},  // two words need no colon
        {"user-agent FooBot\ndisallow / x\n", "/x", true},
        {"foo: FooBot\nbar: /\n", "/x", true},
        {"user-agent:FooBot\ndisallow:/\n", "/x", false},
        {"  user-agent :\t FooBot \n \tdisallow  :  /  # all\n", "/x", false},
        {"user-agent: FooBot # us\ndisallow: /a#b\n", "/a", false},
        {"USER-AGENT: FooBot\nDISALLOW: /\n", "/x", false},
        {"User-Agent: FooBot\rDisallow: /a\r\nDisallow: /b", "/a", false},
        {"User-Agent: FooBot\rDisallow: /a\r\nDisallow: /b", "/b", false},
        {"useragent: FooBot\ndisalow: /\n", "/x", false},
        {"user agent: FooBot\ndissallow: /\n", "/x", false},
        {"<html><body>User-agent: FooBot<br>Disallow: /</body></html>", "/x", true},
        {"user-agent: FooBot\ndisallow:\n", "/x", true},
        {"user-agent: FooBot\ndisallow: /\n", "/robots.txt", true},
        {"user-agent: FooBot\ndisallow: /\n", "/robots.txt?x", true},
    });
}

TEST(CrawlRobots, Groups) {
    constexpr std::string_view three =
        "allow: /foo/bar/\n\n"
        "user-agent: FooBot\ndisallow: /\nallow: /x/\n"
        "user-agent: BarBot\ndisallow: /\nallow: /y/\n\n"
        "allow: /w/\nuser-agent: BazBot\n\n"
        "user-agent: FooBot\nallow: /z/\ndisallow: /\n";
    EXPECT_TRUE(allowed(three, "/x/b"));
    EXPECT_TRUE(allowed(three, "/z/d"));
    EXPECT_FALSE(allowed(three, "/y/c"));
    EXPECT_FALSE(allowed(three, "/foo/bar/"));  // a rule outside of groups is none
    EXPECT_TRUE(allowed(three, "/y/c", "BarBot"));
    EXPECT_TRUE(allowed(three, "/w/a", "BarBot"));
    EXPECT_FALSE(allowed(three, "/z/d", "BarBot"));
    EXPECT_TRUE(allowed(three, "/z/d", "BazBot"));

    // Other lines between user-agent lines do not end a group.
    for (const std::string_view other :
         {"\n", "Sitemap: https://a/s\n", "Unknown: x\n", "Crawl-delay: 3\n"}) {
        const std::string text = "User-agent: BarBot\n" + std::string(other) + "User-agent: *\n" +
                                 std::string(other) + "Disallow: /x\n";
        EXPECT_FALSE(allowed(text, "/x", "BarBot")) << other;
        EXPECT_FALSE(allowed(text, "/x")) << other;
    }
}

TEST(CrawlRobots, WhichAgent) {
    constexpr std::string_view text = "user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /\n";
    EXPECT_TRUE(allowed(text, "/x", "BarBot"));
    EXPECT_FALSE(allowed(text, "/x", "FooBot"));
    EXPECT_FALSE(allowed(text, "/x", "fOOBOT"));
    EXPECT_FALSE(allowed(text, "/x", "FooBot/2.1 (+https://example.org)"));
    EXPECT_TRUE(allowed(text, "/x", "FooBot-images"));  // another name
    EXPECT_TRUE(allowed(text, "/x", "Foo"));
    EXPECT_FALSE(allowed("user-agent: FooBot/1.0\ndisallow: /\n", "/x"));
    EXPECT_FALSE(allowed("user-agent: FooBot and others\ndisallow: /\n", "/x"));
    EXPECT_TRUE(allowed("user-agent: Foo Bot\ndisallow: /\n", "/x"));
    EXPECT_TRUE(allowed("user-agent: 123\ndisallow: /\n", "/x"));
    EXPECT_TRUE(allowed("user-agent: \ndisallow: /\n", "/x", ""));
    // '*' counts only if no group names the crawler, even one without rules.
    EXPECT_TRUE(allowed("user-agent: *\ndisallow: /\nuser-agent: FooBot\nallow: /a\n", "/b"));
    EXPECT_TRUE(allowed("user-agent: FooBot\ndisallow:\n\nuser-agent: *\ndisallow: /\n", "/b"));
    EXPECT_FALSE(allowed("user-agent: * baz\ndisallow: /\n", "/b"));
    EXPECT_TRUE(allowed("user-agent: *bot\ndisallow: /\n", "/b"));
    EXPECT_TRUE(robots_txt::parse(text, "FooBot").names_agent());
    EXPECT_FALSE(robots_txt::parse(text, "BarBot").names_agent());
}

TEST(CrawlRobots, LongestRuleWins) {
    const auto rules = [](std::string_view list) {
        return "user-agent: FooBot\n" + std::string(list);
    };
    const std::string page_allowed = rules("disallow: /x/page.html\nallow: /x/\n");
    EXPECT_FALSE(allowed(page_allowed, "/x/page.html"));
    EXPECT_TRUE(allowed(page_allowed, "/x/other"));
    const std::string page_denied = rules("allow: /x/page.html\ndisallow: /x/\n");
    EXPECT_TRUE(allowed(page_denied, "/x/page.html"));
    EXPECT_FALSE(allowed(page_denied, "/x/"));
    EXPECT_TRUE(allowed(page_denied, "/x"));
    EXPECT_TRUE(allowed(rules("disallow: /\nallow: /\n"), "/x"));
    EXPECT_TRUE(allowed(rules("disallow: \nallow: \n"), "/x"));
    EXPECT_TRUE(allowed(rules("disallow: /x\nallow: /x/\n"), "/x/"));
    EXPECT_FALSE(allowed(rules("disallow: /x\nallow: /x/\n"), "/x"));
    EXPECT_TRUE(allowed(rules("allow: /page\ndisallow: /*.html\n"), "/page"));
    EXPECT_FALSE(allowed(rules("allow: /page\ndisallow: /*.html\n"), "/page.html"));
    EXPECT_TRUE(allowed(rules("allow: /x/page.\ndisallow: /*.html\n"), "/x/page.html"));
    EXPECT_FALSE(allowed(rules("disallow: /X\n"), "/X"));
    EXPECT_TRUE(allowed(rules("disallow: /X\n"), "/x"));
    EXPECT_TRUE(allowed(rules("disallow: x\n"), "/x"));  // patterns begin at the path's start
    EXPECT_EQ(robots_txt::parse(page_denied, "foobot").deciding_rule("/x/y"), "Disallow: /x/");
    EXPECT_FALSE(robots_txt::parse(page_denied, "foobot").deciding_rule("/y"));
}

TEST(CrawlRobots, Encodings) {
    const auto rules = [](std::string_view pattern) {
        return "User-agent: FooBot\nDisallow: /\nAllow: " + std::string(pattern) + "\n";
    };
    EXPECT_TRUE(allowed(rules("/foo/bar?qux=taz&baz=http://foo.bar?tar&par"),
                        "/foo/bar?qux=taz&baz=http://foo.bar?tar&par"));
    EXPECT_TRUE(allowed(rules("/foo/bar/\xE3\x83\x84"), "/foo/bar/%E3%83%84"));
    EXPECT_TRUE(allowed(rules("/foo/bar/\xE3\x83\x84"), "/foo/bar/\xE3\x83\x84"));
    EXPECT_TRUE(allowed(rules("/foo/bar/%e3%83%84"), "/foo/bar/%E3%83%84"));
    EXPECT_TRUE(allowed(rules("/foo/bar/%E3%83%84"), "/foo/bar/%e3%83%84"));
    EXPECT_TRUE(allowed(rules("/foo/bar/%62%61%7A"), "/foo/bar/baz"));
    EXPECT_TRUE(allowed(rules("/foo/bar/%62%61%7A"), "/foo/bar/%62%61%7a"));
    EXPECT_FALSE(allowed(rules("/foo%2Fbar"), "/foo/bar"));
    EXPECT_TRUE(allowed(rules("/a%2Ab"), "/a*b"));
    EXPECT_FALSE(allowed(rules("/a%2Ab"), "/axb"));
    EXPECT_TRUE(allowed(rules("/a%24"), "/a$b"));
}

TEST(CrawlRobots, DocumentedPatterns) {
    struct pattern_row {
        std::string_view pattern;
        std::vector<std::string_view> matched;
        std::vector<std::string_view> not_matched;
    };
    const std::vector<pattern_row> table = {
        {"/fish",
         {"/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fish.php?id=anything"},
         {"/Fish.asp", "/catfish", "/?id=fish", "/bar"}},
        {"/fish*",
         {"/fish", "/fish.html", "/fishheads/yummy.html", "/fish.php?id=anything"},
         {"/Fish.bar", "/catfish", "/?id=fish"}},
        {"/fish/",
         {"/fish/", "/fish/salmon", "/fish/?salmon", "/fish/?id=anything"},
         {"/fish", "/fish.html", "/bar"}},
        {"/*.php",
         {"/filename.php", "/folder/filename.php", "/folder/any.php.file.html", "/index.php?x=y/"},
         {"/", "/windows.PHP", "/php"}},
        {"/*.php$",
         {"/filename.php", "/folder/filename.php"},
         {"/filename.php?parameters", "/filename.php/", "/filename.php5", "/windows.PHP"}},
        {"/fish*.php", {"/fish.php", "/fishheads/catfish.php?parameters"}, {"/Fish.PHP", "/fish"}},
        {"/foo/bar$", {"/foo/bar"}, {"/foo/bar/qux", "/foo/bar/", "/foo/bar/baz"}},
        {"/foo/bar/*/qux",
         {"/foo/bar/x/qux", "/foo/bar/foo/qux", "/foo/bar//qux"},
         {"/foo/bar/qux"}},
        {"/a$b", {"/a$b", "/a$bc"}, {"/a", "/ab"}},
        {"*x", {"/x", "/ax/"}, {"/y"}},
        {"/*ab*ba$", {"/abba", "/ab1ba", "/abbaba"}, {"/aba", "/abbab"}},
        {"/a**b", {"/ab", "/axb"}, {"/b"}},
        {"/$", {"/"}, {"/a", "/?"}},
    };
    for (const pattern_row& each : table) {
        const std::string text = "user-agent: FooBot\ndisallow: " + std::string(each.pattern);
        for (const std::string_view target : each.matched) {
            EXPECT_FALSE(allowed(text, target)) << each.pattern << " for " << target;
        }
        for (const std::string_view target : each.not_matched) {
            EXPECT_TRUE(allowed(text, target)) << each.pattern << " for " << target;
        }
    }
}

TEST(CrawlRobots, ByteOrderMark) {
    EXPECT_FALSE(allowed("\xEF\xBB\xBFUser-agent: FooBot\nDisallow: /\n", "/x"));
    EXPECT_FALSE(allowed("\xEF\xBBUser-agent: FooBot\nDisallow: /\n", "/x"));
    EXPECT_FALSE(allowed("\xEFUser-agent: FooBot\nDisallow: /\n", "/x"));
    EXPECT_TRUE(allowed("\xEF\x11\xBFUser-agent: FooBot\nDisallow: /\n", "/x"));
    EXPECT_FALSE(
        allowed("User-agent: FooBot\n\xEF\xBB\xBF"
                "Allow: /\nDisallow: /\n",
                "/x"));
}

TEST(CrawlRobots, CrawlDelay) {
    const auto delay = [](std::string_view text) {
        return robots_txt::parse(text, "FooBot").crawl_delay();
    };
    EXPECT_EQ(delay("user-agent: FooBot\ncrawl-delay: 2.5\n"), 2500ms);
    EXPECT_EQ(delay("user-agent: *\ncrawl-delay: 10\n"), 10s);
    EXPECT_EQ(delay("user-agent: *\ncrawl-delay: 10\nuser-agent: BarBot\ndisallow: /"), 10s);
    // That of '*' is not ours if a group names us.
    EXPECT_EQ(delay("user-agent: *\ncrawl-delay: 10\ndisallow: /x\nuser-agent: foobot\nallow: /"),
              std::nullopt);
    EXPECT_EQ(delay("user-agent: *\ncrawl-delay: 10\nuser-agent: foobot\nallow: /"), std::nullopt);
    EXPECT_EQ(delay("crawl-delay: 10\nuser-agent: FooBot\ndisallow: /"), std::nullopt);
    EXPECT_FALSE(allowed("crawl-delay: 10\nuser-agent: FooBot\ndisallow: /", "/x"));
    for (const std::string_view bad : {"-1", "x", "", "1e3", "nan", "inf", "1s", "0x10"}) {
        EXPECT_EQ(delay("user-agent: FooBot\ncrawl-delay: " + std::string(bad)), std::nullopt)
            << bad;
    }
    EXPECT_EQ(delay("user-agent: FooBot\ncrawl-delay: 99999999999999999999"), 24h);
    EXPECT_EQ(delay("user-agent: FooBot\ncrawl-delay: 1\ncrawl-delay: 3"), 3s);
}

TEST(CrawlRobots, SitemapsAnywhere) {
    const auto robots = robots_txt::parse(
        "Sitemap: https://a.example/1.xml\nuser-agent: X\nSITEMAP:/2.xml\ndisallow: /\n"
        "site-map: https://a.example/3.xml # main\nsitemap:\n",
        "FooBot");
    EXPECT_EQ(robots.sitemaps(), (std::vector<std::string>{"https://a.example/1.xml", "/2.xml",
                                                           "https://a.example/3.xml"}));
    std::string many;
    for (int i = 0; i < 3000; ++i) {
        many += "sitemap: /" + std::to_string(i) + "\n";
    }
    EXPECT_EQ(robots_txt::parse(many, "x").sitemaps().size(), robots_txt::max_sitemaps);
}

TEST(CrawlRobots, Limits) {
    const std::string end = "\nuser-agent: FooBot\ndisallow: /\n";
    EXPECT_FALSE(allowed(std::string(500 * 1024, '#') + end, "/x"));
    EXPECT_TRUE(allowed(std::string(robots_txt::max_size, '#') + end, "/x"));
    // A line that is too long is cut, and the lines after it count.
    const std::string line = "disallow: /" + std::string(robots_txt::max_line, 'a');
    EXPECT_FALSE(allowed("user-agent: FooBot\n" + line + "\ndisallow: /b\n", "/b"));
    const std::string cut = "/" + std::string(robots_txt::max_line - 11, 'a');
    EXPECT_FALSE(allowed("user-agent: FooBot\n" + line, cut));
}

// Patterns that make matchers with backtracking take for ever.
TEST(CrawlRobots, HostilePatternsTakeLinearTime) {
    std::string stars = "user-agent: FooBot\ndisallow: /";
    for (int i = 0; i < 4000; ++i) {
        stars += "*a";
    }
    std::string many = "user-agent: FooBot\n";
    for (int i = 0; i < 500; ++i) {
        many += "disallow: /*" + std::string(900, 'a') + "b\n";
    }
    const std::string target = "/" + std::string(3000, 'a');
    const auto start = std::chrono::steady_clock::now();
    const auto first = robots_txt::parse(stars + "$", "FooBot");
    const auto second = robots_txt::parse(many, "FooBot");
    for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(first.allows(target));
        EXPECT_TRUE(second.allows(target));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

// Time of this thread, which other programs on the machine do not change.
double seconds_of_matching(std::string_view target, std::string_view pattern) {
    const auto time = [] {
        timespec now{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
    };
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
        const double began = time();
        static_cast<void>(detail::matches_robots_pattern(target, pattern));
        best = std::min(best, time() - began);
    }
    return best;
}

// 32 times the size must not take much more than 32 times the time; quadratic matchers take 1,024
// times.
TEST(CrawlRobots, MatchingIsLinear) {
    if (WEIR_RECYCLES_FRAMES == 0) {
        GTEST_SKIP() << "sanitizers check all of the target at each memmem()";
    }
    const auto repeated = [](std::string_view part, std::size_t count) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i) {
            text += part;
        }
        return text;
    };
    struct hostile_case {
        std::string_view target_part;
        std::string_view pattern_part;
        std::string_view pattern_end;
    };
    for (const hostile_case& each : {hostile_case{"a", "*a", "b$"}, hostile_case{"a", "*aa", "b"},
                                     hostile_case{"ab", "*b", ""}, hostile_case{"a", "a", "b"},
                                     hostile_case{"aab", "*aaa", "$"}}) {
        const auto measured = [&](std::size_t size) {
            const std::string target = "/" + repeated(each.target_part, size);
            const std::string pattern =
                "/" + repeated(each.pattern_part, size / 2) + std::string(each.pattern_end);
            return seconds_of_matching(target, pattern);
        };
        const double small = measured(10'000);
        const double large = measured(320'000);
        EXPECT_LT(large, std::max(small * 320, 0.05)) << each.pattern_part << each.pattern_end;
    }
}

// The definition of '*' and '$', tried out in all ways.
bool matches_by_definition(std::string_view target, std::string_view pattern) {
    if (pattern.empty()) {
        return true;
    }
    if (pattern == "$") {
        return target.empty();
    }
    if (pattern[0] == '*') {
        for (std::size_t skip = 0; skip <= target.size(); ++skip) {
            if (matches_by_definition(target.substr(skip), pattern.substr(1))) {
                return true;
            }
        }
        return false;
    }
    return !target.empty() && target[0] == pattern[0] &&
           matches_by_definition(target.substr(1), pattern.substr(1));
}

TEST(CrawlRobots, MatcherAgreesWithTheDefinition) {
    weir::detail::random_source random(9309);
    for (int round = 0; round < 20'000; ++round) {
        std::string target;
        std::string pattern;
        for (std::uint64_t i = random.next_below(8); i > 0; --i) {
            target += "ab"[random.next_below(2)];
        }
        for (std::uint64_t i = random.next_below(6); i > 0; --i) {
            pattern += "ab*"[random.next_below(3)];
        }
        pattern += random.next_below(3) == 0 ? "$" : "";
        ASSERT_EQ(detail::matches_robots_pattern(target, pattern),
                  matches_by_definition(target, pattern))
            << pattern << " for " << target;
    }
}

}  // namespace robots_txt_test
