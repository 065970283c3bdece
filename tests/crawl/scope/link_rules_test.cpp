// SPDX-License-Identifier: MIT
// URLs as a crawl keeps them (T25, T26, T28 to T31), and which of them it follows (T38).

#include "crawl/scope/link_rules.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace link_rules_test {

using namespace weir::crawl;
using weir::crawl::detail::link_rules;
using weir::http::url;

// What a link on http://a.test/d/page?q leads to; empty: nowhere.
std::string followed(const std::string& reference, const crawl_options& options = {}) {
    const link_rules rules(options, {});
    const std::optional<url> found = url::parse("http://a.test/d/page?q").try_resolve(reference);
    if (!found) {
        return "";
    }
    const url normal = rules.normal(*found);
    EXPECT_EQ(rules.normal(normal), normal) << reference;
    EXPECT_EQ(rules.normal(url::parse(normal.text())), normal) << reference;
    return normal.text();
}

TEST(CrawlLinkRules, T25_blanks_around_a_reference_are_dropped) {
    EXPECT_EQ(followed(" /x "), "http://a.test/x");
    EXPECT_EQ(followed("\n\t/x\r\n"), "http://a.test/x");
    EXPECT_EQ(followed(" http://b.test/ "), "http://b.test/");
}

TEST(CrawlLinkRules, T26_tabs_and_line_ends_inside_are_dropped_and_backslashes_are_slashes) {
    EXPECT_EQ(followed("/a\nb\tc\rd"), "http://a.test/abcd");
    EXPECT_EQ(followed("\\x\\y"), "http://a.test/x/y");
    EXPECT_EQ(followed("http:\\\\b.test\\z"), "http://b.test/z");
}

TEST(CrawlLinkRules, T28_escapes_have_one_form_and_are_not_decoded) {
    EXPECT_EQ(followed("/a%25b%23c%2Fd%3Be"), "http://a.test/a%25b%23c%2Fd%3Be");
    EXPECT_EQ(followed("/%7euser/%2f"), "http://a.test/~user/%2F");
    EXPECT_EQ(followed("/Path/CASE"), "http://a.test/Path/CASE");
}

TEST(CrawlLinkRules, T29_a_host_has_one_spelling) {
    for (const char* const each : {"http://B.Test/", "http://b.test:80/", "http://b.test./",
                                   "http://b.tes%74/", "//b.test/", "http://user:pw@b.test/"}) {
        EXPECT_EQ(followed(each), "http://b.test/") << each;
    }
    EXPECT_EQ(followed("https://b.test:443/"), "https://b.test/");
}

TEST(CrawlLinkRules, T30_dot_segments_go_and_double_slashes_stay) {
    EXPECT_EQ(followed("../x/./y"), "http://a.test/x/y");
    EXPECT_EQ(followed("/a/%2e%2e/b"), "http://a.test/b");
    EXPECT_EQ(followed("/a//b"), "http://a.test/a//b");
}

TEST(CrawlLinkRules, T31_the_query_keeps_its_order_and_loses_what_is_stripped) {
    EXPECT_EQ(followed("?b=2&a=1"), "http://a.test/d/page?b=2&a=1");
    EXPECT_EQ(followed("/x?"), "http://a.test/x");
    EXPECT_EQ(followed("/x#part"), "http://a.test/x");
    crawl_options options;
    options.strip_parameters = {"utm_*", "jsessionid"};
    EXPECT_EQ(followed("/x?utm_a=1&k=2&jsessionid=3&utm_b", options), "http://a.test/x?k=2");
    EXPECT_EQ(followed("/x?utm_a=1", options), "http://a.test/x");
    EXPECT_EQ(followed("/x?utm=1", options), "http://a.test/x?utm=1");
}

TEST(CrawlLinkRules, T40_parameters_of_segments_are_stripped) {
    crawl_options options;
    options.strip_parameters = {"utm_*", "jsessionid"};
    for (const auto& [reference, expected] : std::vector<std::pair<std::string, std::string>>{
             {"/a;jsessionid=1", "/a"},
             {"/a;jsessionid=1?k=2&jsessionid=3", "/a?k=2"},
             {"/a;jsessionid=1;v=2/b;utm_a;utm_b=/c", "/a;v=2/b/c"},
             {"/a;v=1;jsessionid", "/a;v=1"},
             {"/;jsessionid=1", "/"},
             {"/a;", "/a;"},
             {"/a;;b", "/a;;b"},
             {"/a;xjsessionid=1", "/a;xjsessionid=1"},
             {"/a%3Bjsessionid=1", "/a%3Bjsessionid=1"},
             {"/x/a;jsessionid=1/", "/x/a/"}}) {
        const std::string once = followed(reference, options);
        EXPECT_EQ(once, "http://a.test" + expected);
        EXPECT_EQ(followed(once, options), once);
        EXPECT_EQ(followed(reference).find("jsessionid") == std::string::npos,
                  reference.find("jsessionid") == std::string::npos);
    }
}

link_refusal refusal_of(const std::string& text, const crawl_options& options) {
    const link_rules rules(options, {url::parse("http://a.test/d/")});
    return rules.check(url::parse(text));
}

TEST(CrawlLinkRules, T38_paths_that_repeat_themselves) {
    const crawl_options options;
    EXPECT_EQ(refusal_of("http://a.test/x/y/x/y/x", options), link_refusal::segments);
    EXPECT_EQ(refusal_of("http://a.test/x/y/x/y", options), link_refusal::none);
    EXPECT_EQ(refusal_of("http://a.test////", options), link_refusal::none);
    EXPECT_EQ(refusal_of("http://a.test/" + std::string(3000, 'a'), options), link_refusal::length);
}

TEST(CrawlLinkRules, TheScopeIsThatOfTheSeeds) {
    crawl_options options;
    options.scope = crawl_scope::host;
    EXPECT_EQ(refusal_of("https://a.test:81/x", options), link_refusal::none);
    EXPECT_EQ(refusal_of("http://sub.a.test/", options), link_refusal::scope);
    options.scope = crawl_scope::domain;
    EXPECT_EQ(refusal_of("http://a.test/", options), link_refusal::none);
    EXPECT_EQ(refusal_of("http://www.sub.a.test/", options), link_refusal::none);
    EXPECT_EQ(refusal_of("http://ba.test/", options), link_refusal::scope);
    EXPECT_EQ(refusal_of("http://test/", options), link_refusal::scope);
    options.scope = crawl_scope::prefix;
    EXPECT_EQ(refusal_of("http://a.test/d/", options), link_refusal::none);
    EXPECT_EQ(refusal_of("http://a.test/d/e/f?g/h", options), link_refusal::none);
    EXPECT_EQ(refusal_of("http://a.test/d", options), link_refusal::scope);
    EXPECT_EQ(refusal_of("http://a.test/dd/", options), link_refusal::scope);
    EXPECT_EQ(refusal_of("http://a.test/?/d/", options), link_refusal::scope);
    EXPECT_EQ(refusal_of("https://a.test/d/", options), link_refusal::scope);
}

// With a comparison of each with all, this takes minutes.
TEST(CrawlLinkRules, AHundredThousandSeedsCostNoMoreThanOne) {
    std::vector<url> seeds;
    for (int i = 0; i < 100'000; ++i) {
        seeds.push_back(url::parse("http://h" + std::to_string(i) + ".test/d/"));
    }
    crawl_options options;
    for (const crawl_scope scope : {crawl_scope::host, crawl_scope::domain, crawl_scope::prefix}) {
        options.scope = scope;
        const link_rules rules(options, seeds);
        for (const url& each : seeds) {
            ASSERT_TRUE(rules.is_in_scope(each));
        }
        EXPECT_FALSE(rules.is_in_scope(url::parse("http://h.test/d/")));
    }
}

TEST(CrawlLinkRules, PatternsIncludeAndExclude) {
    crawl_options options;
    options.include = {"*/docs/*", "*/blog/?"};
    options.exclude = {"*.pdf"};
    EXPECT_EQ(refusal_of("http://a.test/docs/x", options), link_refusal::none);
    EXPECT_EQ(refusal_of("http://a.test/docs/x.pdf", options), link_refusal::excluded);
    EXPECT_EQ(refusal_of("http://a.test/blog/1", options), link_refusal::none);
    EXPECT_EQ(refusal_of("http://a.test/blog/12", options), link_refusal::excluded);
    EXPECT_EQ(refusal_of("http://b.test/docs/x", options), link_refusal::scope);
}

}  // namespace link_rules_test
