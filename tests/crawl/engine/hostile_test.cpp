// SPDX-License-Identifier: MIT
// A web that means harm: what it costs a crawl is bounded, and the rest of the crawl goes on.

#include "support.hpp"

#include <weir/base/random.hpp>

#include <chrono>

namespace hostile_test {

using namespace crawl_test;

std::uint64_t refused(const crawl_summary& summary, link_refusal why) {
    return summary.totals.refused[static_cast<std::size_t>(why)];
}

WEIR_TEST(CrawlHostile, RedirectsThatLeadFromHostToHostEnd) {
    simulated_web web;
    web.page("http://a.test/", "http://h0.test/0", "/good");
    web.page("http://a.test/good");
    web.otherwise = [](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            return std::nullopt;
        }
        const std::string next = std::to_string(std::stoi(url.substr(url.rfind('/') + 1)) + 1);
        return answer::redirect("http://h" + next + ".test/" + next);
    };
    crawl_options options = fast("http://a.test/");
    options.scope = crawl_scope::all;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.why, stop_reason::complete);
    EXPECT_EQ(summary.totals.discovered, 2u + 11u);
    EXPECT_EQ(summary.totals.failed, 1u);
}

WEIR_TEST(CrawlHostile, ARedirectLoopOverTwoHostsEnds) {
    simulated_web web;
    web.set("http://a.test/", answer::redirect("https://b.test/"));
    web.set("https://b.test/", answer::redirect("http://a.test/"));
    crawl_options options = fast("http://a.test/");
    options.scope = crawl_scope::all;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.totals.failed, 1u);
    EXPECT_EQ(web.count("http://a.test/"), 1);
    EXPECT_EQ(web.count("https://b.test/"), 1);
}

// robots.txt that redirects in circles is no rules after five steps.
WEIR_TEST(CrawlHostile, RobotsTxtThatRedirectsForEver) {
    simulated_web web;
    web.set("http://a.test/robots.txt", answer::redirect("http://b.test/robots.txt"));
    web.set("http://b.test/robots.txt", answer::redirect("http://a.test/robots.txt"));
    web.page("http://a.test/");
    memory_store store;
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(summary.totals.done, 1u);
    EXPECT_EQ(web.requests.size(), 7u);
}

WEIR_TEST(CrawlHostile, APageWithAHundredThousandLinks) {
    simulated_web web;
    std::string html;
    for (int i = 0; i < 100'000; ++i) {
        html += "<a href=/" + std::to_string(i) + ">";
    }
    web.set("http://a.test/", answer(html));
    web.otherwise = [](const std::string&) { return empty_page(); };
    crawl_options options = fast("http://a.test/");
    options.max_pages = 100;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(web.counts().size(), 100u);
    EXPECT_EQ(summary.totals.discovered, 1u + options.max_links_per_page);
    EXPECT_EQ(refused(summary, link_refusal::page_full), 100'000u - options.max_links_per_page);
}

WEIR_TEST(CrawlHostile, T42_names_without_end_share_the_limit_of_their_address) {
    simulated_web web;
    int names = 0;
    for (int i = 1; i <= 5000; ++i) {
        web.addresses["n" + std::to_string(i) + ".a.test"] = "192.0.2.1";
    }
    web.addresses["a.test"] = "192.0.2.1";
    web.otherwise = [&names](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            return std::nullopt;
        }
        std::vector<std::string> links;
        for (int i = 0; i < 10; ++i) {
            links.push_back("http://n" + std::to_string(++names) + ".a.test/");
        }
        return answer(links_to(links));
    };
    crawl_options options = fast("http://a.test/");
    options.concurrency = 128;
    options.scope = crawl_scope::domain;
    options.max_pages = 500;
    options.per_address = 4;
    memory_store store;
    crawler one(options, web, store);
    const crawl_summary summary = co_await one.run();
    EXPECT_EQ(summary.why, stop_reason::max_pages);
    EXPECT_EQ(web.counts().size(), 500u);
    EXPECT_EQ(web.most_in_flight, 4);
}

// Bodies of random bytes, with every type and charset: no crash, and each page has a result.
WEIR_TEST(CrawlHostile, RandomBytesInEveryEncoding) {
    simulated_web web;
    std::vector<std::string> links;
    weir::detail::random_source random(6);
    const std::vector<std::string> types = {"text/html",
                                            "text/html; charset=utf-16",
                                            "text/html; charset=utf-16be",
                                            "text/html; charset=shift_jis",
                                            "text/html; charset=gb18030",
                                            "text/html; charset=x-user-defined",
                                            "text/html; charset=nothing",
                                            "text/html; charset=\xFF\xFE",
                                            "application/xhtml+xml; charset=iso-2022-jp",
                                            ""};
    for (int i = 0; i < 300; ++i) {
        const std::string url = "http://a.test/" + std::to_string(i);
        links.push_back(url);
        std::string body = random.next_below(2) == 0 ? "<a href='" : "";
        for (std::uint64_t size = random.next_below(3000); size > 0; --size) {
            body += static_cast<char>(random.next_below(256));
        }
        body += "<a href=/end" + std::to_string(i) + ">";
        web.set(url, answer(body).with("Content-Type", types[random.next_below(types.size())]));
    }
    web.page("http://a.test/", links);
    crawl_options options = fast("http://a.test/");
    options.record_links = true;
    options.fetch_assets = true;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.why, stop_reason::complete);
    co_await expect_sums(summary.totals, store);
    EXPECT_EQ(summary.totals.pending(), 0u);
}

// One host that hangs, one that is down, one whose every answer is another trap: a fourth is
// crawled as if they did not exist.
WEIR_TEST(CrawlHostile, BadHostsDoNotHoldUpAGoodOne) {
    simulated_web web;
    web.page("http://a.test/", "http://hangs.test/", "http://down.test/", "http://busy.test/");
    for (int i = 0; i < 50; ++i) {
        web.page("http://a.test/" + std::to_string(i), "/" + std::to_string(i + 1));
    }
    web.page("http://a.test/50");
    web.otherwise = [](const std::string& url) -> std::optional<answer> {
        if (url.starts_with("http://hangs.test/")) {
            return empty_page().after(1h);
        }
        if (url.starts_with("http://down.test/")) {
            return answer::failure(error_kind::connect);
        }
        if (url.starts_with("http://busy.test/")) {
            return url.ends_with("robots.txt") ? answer::of_status(404)
                                               : answer::of_status(503).with("Retry-After", "3600");
        }
        return std::nullopt;
    };
    crawl_options options = fast("http://a.test/", "http://a.test/0");
    options.scope = crawl_scope::all;
    memory_store store;
    const auto began = weir::now();
    co_await crawl(options, web, store);
    EXPECT_LE(web.first("http://a.test/50")->when - began, 10s);
}

}  // namespace hostile_test
