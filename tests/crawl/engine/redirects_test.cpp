// SPDX-License-Identifier: MIT
// Redirects are steps of the crawl: T20, T21, T23, T24, T53.

#include "support.hpp"

namespace redirects_test {

using namespace crawl_test;

WEIR_TEST(CrawlRedirects, T20_a_loop_ends_with_the_chain) {
    simulated_web web;
    web.set("http://a.test/a", answer::redirect("/b"));
    web.set("http://a.test/b", answer::redirect("/a"));
    memory_store store;
    const crawl_summary summary = co_await crawl(fast("http://a.test/a"), web, store);
    EXPECT_EQ(summary.totals.failed, 1u);
    const auto pages = co_await pages_of(store);
    const page_record& second = pages.at("http://a.test/b");
    EXPECT_EQ(second.error.kind, error_kind::redirect);
    EXPECT_EQ(second.error.text,
              "redirect loop: http://a.test/a -> http://a.test/b -> http://a.test/a");
    EXPECT_EQ(second.redirects.size(), 1u);
    EXPECT_EQ(second.redirects.front(), "http://a.test/a");
}

WEIR_TEST(CrawlRedirects, T20_a_long_chain_ends) {
    simulated_web web;
    for (int i = 0; i < 20; ++i) {
        web.set("http://a.test/" + std::to_string(i),
                answer::redirect("/" + std::to_string(i + 1)));
    }
    crawl_options options = fast("http://a.test/0");
    options.max_redirects = 10;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.totals.discovered, 11u);
    const auto pages = co_await pages_of(store);
    const page_record& last = pages.at("http://a.test/10");
    EXPECT_TRUE(last.error.text.starts_with("too many redirects: http://a.test/0 -> "))
        << last.error.text;
    EXPECT_EQ(last.depth, 0u);
}

WEIR_TEST(CrawlRedirects, T21_a_hop_out_of_scope_is_not_requested) {
    simulated_web web;
    web.set("http://a.test/", answer::redirect("http://b.test/x"));
    memory_store store;
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(summary.totals.done, 1u);
    EXPECT_EQ(summary.totals.refused[static_cast<std::size_t>(link_refusal::scope)], 1u);
    EXPECT_EQ(web.count("http://b.test/x"), 0);
    EXPECT_EQ(web.count("http://b.test/robots.txt"), 0);
}

WEIR_TEST(CrawlRedirects, T21_a_hop_obeys_robots_txt_and_the_rate_of_its_host) {
    simulated_web web;
    web.page("http://a.test/", "/1", "/2", "/3");
    web.set("http://a.test/1", answer::redirect("http://b.test/1"));
    web.set("http://a.test/2", answer::redirect("http://b.test/2"));
    web.set("http://a.test/3", answer::redirect("http://b.test/private"));
    web.set("http://b.test/robots.txt", answer("User-agent: *\nDisallow: /private\n"));
    web.otherwise = [](const std::string&) { return empty_page(); };
    crawl_options options = fast("http://a.test/");
    options.scope = crawl_scope::all;
    options.delay = 2s;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(web.count("http://b.test/private"), 0);
    EXPECT_EQ(summary.totals.skipped, 1u);
    const auto robots = web.first("http://b.test/robots.txt")->when;
    const auto first = web.first("http://b.test/1")->when;
    const auto second = web.first("http://b.test/2")->when;
    EXPECT_GE(first - robots, 2s);
    EXPECT_GE(second - first, 2s);
}

WEIR_TEST(CrawlRedirects, T23_headers_of_the_user_go_to_the_origins_of_the_seeds_alone) {
    simulated_web web;
    web.page("http://a.test/", "/r", "http://b.test/x", "https://a.test/s", "http://a.test:81/p");
    web.set("http://a.test/r", answer::redirect("http://b.test/y"));
    web.otherwise = [](const std::string&) { return empty_page(); };
    crawl_options options = fast("http://a.test/");
    options.scope = crawl_scope::all;
    options.headers.emplace_back("Authorization", "Bearer secret");
    options.headers.emplace_back("Cookie", "a=1");
    memory_store store;
    co_await crawl(options, web, store);
    EXPECT_EQ(web.counts().size(), 6u);
    for (const auto& each : web.requests) {
        if (each.url.ends_with("robots.txt")) {
            EXPECT_TRUE(each.headers.get("Authorization").empty());
            continue;
        }
        const bool is_own = each.url.starts_with("http://a.test/");
        EXPECT_EQ(each.headers.get("Authorization"), is_own ? "Bearer secret" : "") << each.url;
        EXPECT_EQ(each.headers.get("Cookie"), is_own ? "a=1" : "") << each.url;
    }
}

WEIR_TEST(CrawlRedirects, T24_other_schemes_are_never_requested) {
    simulated_web web;
    web.page("http://a.test/", "file:///etc/passwd", "ftp://a.test/x", "gopher://a.test/",
             "data:text/html,x", "javascript:void(0)", "mailto:a@b", "tel:123", " JavaScript:x",
             "/ok");
    web.set("http://a.test/ok", answer::redirect("file:///etc/passwd"));
    memory_store store;
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(web.counts().size(), 2u);
    EXPECT_EQ(summary.totals.refused[static_cast<std::size_t>(link_refusal::scheme)], 8u);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/ok").error.kind, error_kind::redirect);
}

WEIR_TEST(CrawlRedirects, T27_one_bad_link_does_not_cost_the_others) {
    simulated_web web;
    web.page("http://a.test/", "http://[", "/good", "http://a.test:99999/");
    web.page("http://a.test/good");
    memory_store store;
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(summary.totals.done, 2u);
    EXPECT_EQ(summary.totals.refused[static_cast<std::size_t>(link_refusal::invalid)], 2u);
}

WEIR_TEST(CrawlRedirects, T53_refresh_is_a_link) {
    simulated_web web;
    web.set("http://a.test/", answer("<meta http-equiv=refresh content='0; url=/next'>")
                                  .with("Refresh", "5; url=/other"));
    web.otherwise = [](const std::string&) { return empty_page(); };
    memory_store store;
    co_await crawl(fast("http://a.test/"), web, store);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/next").found_as, link_kind::refresh);
    EXPECT_EQ(pages.at("http://a.test/other").found_as, link_kind::refresh);
}

WEIR_TEST(CrawlRedirects, ARedirectWithoutLocationFails) {
    simulated_web web;
    web.set("http://a.test/", answer::of_status(302));
    memory_store store;
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(summary.totals.failed, 1u);
    EXPECT_EQ(summary.failed_seeds, 1u);
}

}  // namespace redirects_test
