// SPDX-License-Identifier: MIT
// Links out of the scope, which are requested once to see whether they are broken.

#include "support.hpp"

namespace external_test {

using namespace crawl_test;

crawl_options check_options() {
    crawl_options options = fast("http://a.test/");
    options.check_external = true;
    return options;
}

// 'HEAD' or 'GET' for each request of a URL.
std::string methods_of(const simulated_web& web, const std::string& url) {
    std::string all;
    for (const simulated_web::request& each : web.requests) {
        if (each.url == url) {
            all += each.is_head ? "HEAD " : "GET ";
        }
    }
    return all;
}

WEIR_TEST(CrawlExternal, HeadIsFollowedByGetWhereServersAnswerItWithAnError) {
    for (const int status : {200, 403, 404, 405, 410, 429, 500, 501, 503}) {
        simulated_web web;
        web.page("http://a.test/", "http://b.test/x");
        web.set("http://b.test/x", answer::of_status(status));
        memory_store store;
        co_await crawl(check_options(), web, store);
        const bool has_get = status != 200 && status != 410 && status != 429;
        EXPECT_EQ(methods_of(web, "http://b.test/x"), has_get ? "HEAD GET " : "HEAD ") << status;
        const auto pages = co_await pages_of(store);
        EXPECT_EQ(pages.at("http://b.test/x").status, status);
        EXPECT_EQ(pages.at("http://b.test/x").attempts, 1u);
    }
}

WEIR_TEST(CrawlExternal, GetAfterHeadIsARequestThatKeepsTheDelayOfItsHost) {
    simulated_web web;
    std::vector<std::string> links;
    for (int i = 0; i < 10; ++i) {
        links.push_back("http://b.test/" + std::to_string(i));
    }
    web.page("http://a.test/", links);
    web.set("http://b.test/robots.txt",
            answer("User-agent: *\nCrawl-delay: 7\n").with("Content-Type", "text/plain"));
    memory_store store;
    const crawl_summary summary = co_await crawl(check_options(), web, store);
    EXPECT_EQ(summary.totals.failed, 10u);
    std::vector<weir::clock::time_point> times;
    for (const simulated_web::request& each : web.requests) {
        if (each.url.starts_with("http://b.test/")) {
            times.push_back(each.when);
        }
    }
    EXPECT_EQ(times.size(), 21u);  // robots.txt, and two for each link
    for (std::size_t i = 1; i < times.size(); ++i) {
        EXPECT_GE(times[i] - times[i - 1], 7s) << i;
    }
}

WEIR_TEST(CrawlExternal, T51_a_head_with_retry_after_is_not_followed_by_a_get) {
    simulated_web web;
    web.page("http://a.test/", "http://b.test/x", "http://b.test/y");
    web.otherwise = [&web](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            return std::nullopt;
        }
        return web.count(url) == 1 ? answer::of_status(503).with("Retry-After", "600")
                                   : empty_page();
    };
    crawl_options options = check_options();
    options.max_attempts = 2;
    options.per_host = 1;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.totals.done, 3u);
    EXPECT_EQ(methods_of(web, "http://b.test/x"), "HEAD HEAD ");
    EXPECT_EQ(methods_of(web, "http://b.test/y"), "HEAD HEAD ");
    EXPECT_GE(web.requests.back().when - web.requests.front().when, 1200s);  // one after the other
}

WEIR_TEST(CrawlExternal, GetIsMadeInALaterRunIfTheCrawlStopsBefore) {
    simulated_web web;
    web.page("http://a.test/", "http://b.test/x");
    web.set("http://b.test/robots.txt",
            answer("User-agent: *\nCrawl-delay: 30\n").with("Content-Type", "text/plain"));
    memory_store store;
    {
        crawler one(check_options(), web, store);
        auto running = weir::spawn(one.run());
        co_await weir::sleep(45s);  // after HEAD, before GET
        EXPECT_EQ(methods_of(web, "http://b.test/x"), "HEAD ");
        one.stop(0s);
        const crawl_summary summary = co_await running;
        EXPECT_EQ(summary.totals.pending(), 1u);
    }
    const crawl_summary summary = co_await crawl(check_options(), web, store);
    EXPECT_EQ(summary.totals.failed, 1u);
    EXPECT_TRUE(methods_of(web, "http://b.test/x").ends_with("HEAD GET "));
}

}  // namespace external_test
