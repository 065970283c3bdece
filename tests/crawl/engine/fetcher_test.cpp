// SPDX-License-Identifier: MIT
// The simulated web, as the tests of the crawler use it.

#include "support.hpp"

namespace fetcher_test {

using namespace crawl_test;

WEIR_TEST(CrawlFetcher, TheSimulatedWebAnswersAndCounts) {
    simulated_web web;
    web.page("http://a.test/", "/b");
    fetch_request request;
    request.url = weir::http::url::parse("http://a.test/");
    const auto began = weir::now();
    const fetch_result found = co_await web.fetch(request);
    EXPECT_EQ(found.status, 200);
    EXPECT_TRUE(found.has_body);
    EXPECT_NE(found.body.find("/b"), std::string::npos);
    EXPECT_EQ(weir::now() - began, 10ms);
    request.url = weir::http::url::parse("http://a.test/none");
    const fetch_result missing = co_await web.fetch(request);
    EXPECT_EQ(missing.status, 404);
    EXPECT_EQ(web.summary(), "http://a.test/ 1, http://a.test/none 1, ");
}

WEIR_TEST(CrawlFetcher, TheSimulatedWebTimesOut) {
    simulated_web web;
    web.set("http://a.test/", empty_page().after(1min));
    fetch_request request;
    request.url = weir::http::url::parse("http://a.test/");
    request.timeout = 1s;
    const fetch_result result = co_await web.fetch(request);
    EXPECT_EQ(result.error.kind, error_kind::timeout);
    EXPECT_EQ(result.total, 1s);
}

}  // namespace fetcher_test
