// SPDX-License-Identifier: MIT
// Sitemaps as an input: given ones, those of robots.txt, indexes, limits; in simulated time.

#include "support.hpp"

namespace sitemaps_test {

using namespace crawl_test;

answer urlset(const std::vector<std::string>& urls, const std::string& item = "url") {
    const std::string root = item == "url" ? "urlset" : "sitemapindex";
    std::string xml =
        "<?xml version='1.0'?><" + root + " xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>";
    for (const std::string& each : urls) {
        xml += "<" + item + "><loc> " + each + "\n</loc></" + item + ">";
    }
    return answer(xml + "</" + root + ">").with("Content-Type", "application/xml");
}

answer index_of(const std::vector<std::string>& urls) {
    return urlset(urls, "sitemap");
}

std::vector<std::string> two(const std::string& first, const std::string& second) {
    std::vector<std::string> both;
    both.push_back(first);
    both.push_back(second);
    return both;
}

std::vector<std::string> one(const std::string& first) {
    return std::vector<std::string>(1, first);
}

void answer_everything(simulated_web& web) {
    web.otherwise = [](const std::string& url) -> std::optional<answer> {
        return url.ends_with("/robots.txt") || url.ends_with("/sitemap.xml")
                   ? answer::of_status(404)
                   : empty_page();
    };
}

WEIR_TEST(CrawlSitemaps, RobotsTxtNamesThem) {
    simulated_web web;
    answer_everything(web);
    web.set("http://a.test/robots.txt", answer("User-agent: *\nSitemap: http://a.test/map.xml\n"));
    web.set("http://a.test/map.xml", urlset(two("http://a.test/x", "http://b.test/z")));
    crawl_options options = fast("http://a.test/");
    options.discover_sitemaps = true;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(web.summary(), "http://a.test/ 1, http://a.test/map.xml 1, http://a.test/x 1, ");
    EXPECT_EQ(summary.totals.refused[static_cast<std::size_t>(link_refusal::scope)], 1u);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/x").found_as, link_kind::sitemap);
    EXPECT_EQ(pages.at("http://a.test/x").referrer, "http://a.test/map.xml");
    EXPECT_EQ(pages.at("http://a.test/x").depth, 0u);
    // Again: everything is known.
    const crawl_summary again = co_await crawl(options, web, store);
    EXPECT_EQ(again.fetched, 0u);
}

WEIR_TEST(CrawlSitemaps, TheUsualPlaceIsAGuess) {
    simulated_web web;
    answer_everything(web);
    crawl_options options = fast("http://a.test/");
    options.discover_sitemaps = true;
    memory_store missing;
    const crawl_summary without = co_await crawl(options, web, missing);
    EXPECT_EQ(web.count("http://a.test/sitemap.xml"), 1);
    EXPECT_EQ(without.totals.failed, 0u);
    EXPECT_EQ(without.totals.skipped, 1u);
    co_await expect_sums(without.totals, missing);
    web.set("http://a.test/sitemap.xml", urlset(one("/relative")));
    memory_store store;
    const crawl_summary with = co_await crawl(options, web, store);
    EXPECT_EQ(with.totals.done, 3u);
    EXPECT_EQ(web.count("http://a.test/relative"), 1);
}

WEIR_TEST(CrawlSitemaps, AreNotAskedForWithoutTheOption) {
    simulated_web web;
    answer_everything(web);
    web.set("http://a.test/robots.txt", answer("Sitemap: http://a.test/map.xml\n"));
    memory_store store;
    co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(web.summary(), "http://a.test/ 1, ");
}

WEIR_TEST(CrawlSitemaps, AGivenIndexIsEnough) {
    simulated_web web;
    answer_everything(web);
    web.set("http://a.test/index.xml", index_of(two("/good.txt", "http://a.test/bad.xml")));
    web.set("http://a.test/good.txt",
            answer("http://a.test/x\nhttp://a.test/y\n").with("Content-Type", "text/plain"));
    web.set("http://a.test/bad.xml", answer::of_status(500));
    crawl_options options = fast();
    options.sitemaps = one("http://a.test/index.xml#part");
    options.exclude = one("*.txt");  // of pages
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(web.summary(),
              "http://a.test/bad.xml 1, http://a.test/good.txt 1, http://a.test/index.xml 1, "
              "http://a.test/x 1, http://a.test/y 1, ");
    EXPECT_EQ(summary.totals.failed, 1u);
    EXPECT_EQ(summary.failed_seeds, 0u);
    EXPECT_EQ(summary.seeds, 1u);
}

WEIR_TEST(CrawlSitemaps, IndexesThatNameEachOtherEnd) {
    simulated_web web;
    answer_everything(web);
    web.otherwise = [](const std::string& url) -> std::optional<answer> {
        const std::size_t at = url.find("/i");
        return at == std::string::npos ? answer::of_status(404)
                                       : index_of(two("/i", "/i" + std::to_string(url.size())));
    };
    crawl_options options = fast();
    options.sitemaps = one("http://a.test/i");
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.why, stop_reason::complete);
    EXPECT_LE(web.counts().size(), 4u);  // the first one, and three levels below it
    EXPECT_EQ(web.count("http://a.test/i"), 1);
}

WEIR_TEST(CrawlSitemaps, T1_the_limit_holds_after_a_sitemap_was_retried) {
    simulated_web web;
    answer_everything(web);
    web.page("http://a.test/", "/1", "/2", "/3", "/4", "/5");
    web.set("http://a.test/map.xml", answer::of_status(500));
    crawl_options options = fast("http://a.test/");
    options.sitemaps = one("http://a.test/map.xml");
    options.max_pages = 3;
    memory_store store;
    for (int i = 0; i < 3; ++i) {
        const crawl_summary summary = co_await crawl(options, web, store);
        EXPECT_EQ(summary.why, stop_reason::max_pages);
        EXPECT_EQ(web.count("http://a.test/map.xml"), i + 1);
        EXPECT_EQ(web.counts().size(), 1u + 3u);
        co_await store.retry_failed();
    }
}

WEIR_TEST(CrawlSitemaps, DoNotCountAsPages) {
    simulated_web web;
    answer_everything(web);
    std::vector<std::string> urls;
    for (int i = 0; i < 20; ++i) {
        urls.push_back("http://a.test/p" + std::to_string(i));
    }
    web.set("http://a.test/map.xml", urlset(urls));
    crawl_options options = fast();
    options.sitemaps = one("http://a.test/map.xml");
    options.max_pages = 5;
    options.max_links_per_page = 2;  // of pages, too
    options.max_depth = 0;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(web.counts().size(), 6u);  // the sitemap and five pages
    EXPECT_EQ(summary.why, stop_reason::max_pages);
    co_await expect_sums(summary.totals, store);
}

WEIR_TEST(CrawlSitemaps, APageIsNotASitemap) {
    simulated_web web;
    answer_everything(web);
    crawl_options options = fast();
    options.sitemaps = one("http://a.test/page");
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.failed_seeds, summary.seeds);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/page").error.kind, error_kind::content);
    EXPECT_TRUE(pages.at("http://a.test/page").error.text.starts_with("not a sitemap"))
        << pages.at("http://a.test/page").error.text;
}

WEIR_TEST(CrawlSitemaps, EntriesBeforeALimitCount) {
    simulated_web web;
    answer_everything(web);
    std::string lines;
    for (int i = 0; i <= 50'000; ++i) {
        lines += "http://a.test/" + std::to_string(i) + "\n";
    }
    web.set("http://a.test/map.txt", answer(lines));
    crawl_options options = fast();
    options.sitemaps = one("http://a.test/map.txt");
    options.max_pages = 3;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(web.count("http://a.test/2"), 1);
    EXPECT_EQ(summary.totals.discovered, 50'001u);
    EXPECT_EQ(summary.totals.failed, 1u);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/map.txt").error.text,
              "the sitemap is not complete: more than 50000 entries; 50000 entries were read");
}

WEIR_TEST(CrawlSitemaps, RedirectsLeadToOne) {
    simulated_web web;
    answer_everything(web);
    web.set("http://a.test/map", answer::redirect("/real.xml"));
    web.set("http://a.test/real.xml", urlset(one("http://a.test/x")));
    crawl_options options = fast();
    options.sitemaps = one("http://a.test/map");
    memory_store store;
    co_await crawl(options, web, store);
    EXPECT_EQ(web.count("http://a.test/x"), 1);
}

}  // namespace sitemaps_test
