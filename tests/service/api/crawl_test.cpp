// SPDX-License-Identifier: MIT
// Crawls through the API: refused, submitted, watched and read back, as the description says.

#include "support.hpp"
#include <crawl/engine/support.hpp>

#include <weir/service/handlers/crawl_tasks.hpp>

namespace api_crawl_test {

using namespace api_test;
using namespace std::chrono_literals;

crawl_tasks_options options_for(crawl_test::simulated_web& web) {
    crawl_tasks_options options;
    options.make_fetcher = [&web](const weir::crawl::crawl_options&) {
        return std::make_unique<crawl_test::view_of_web>(web);
    };
    return options;
}

WEIR_TEST(ApiCrawl, IsCheckedRunAndReported) {
    crawl_test::simulated_web web;
    web.page("http://a.test/", "/b", "/gone", "#nothing");
    web.page("http://a.test/b", "/");
    crawl_tasks crawls(options_for(web));
    site api;
    api.tasks.handle("crawl", [&](job& job) { return crawls.run(job); }, &crawl_tasks::check);
    co_await api.learn();
    const schema_check fits(api.description());
    const bj::value& schemas = api.description().at("components").at("schemas");
    const answer refused =
        co_await api.post("/tasks", R"({"kind":"crawl","payload":{"urls":["x"],"depth":1}})");
    EXPECT_EQ(refused.code, 422u) << refused.text;
    EXPECT_NE(refused.detail().find("urls is \"x\"; it must be an http or https URL"),
              std::string::npos)
        << refused.text;
    api.start();
    const std::string payload =
        R"({"urls":["http://a.test/"],"check":true,"sitemap":true,"depth":5,"rate":100})";
    EXPECT_EQ(fits(schemas.at("CrawlPayload"), bj::parse(payload)), "");
    const std::string id = co_await api.submit(R"({"kind":"crawl","payload":)" + payload + "}");
    co_await weir::sleep(30s);
    const answer done = co_await api.get("/tasks/" + id);
    EXPECT_EQ(done["state"], "completed") << done.text;
    const bj::value& result = done.json.at("result");
    EXPECT_EQ(fits(schemas.at("CrawlResult"), result), "") << done.text;
    EXPECT_EQ(result.at("broken_count"), 2) << done.text;
    const std::string plain = co_await api.submit(
        R"({"kind":"crawl","payload":{"urls":["http://a.test/"],"attempts":1}})");
    co_await weir::sleep(30s);
    const answer other = co_await api.get("/tasks/" + plain);
    EXPECT_EQ(fits(schemas.at("CrawlResult"), other.json.at("result")), "") << other.text;
    co_await api.stop();
}

}  // namespace api_crawl_test
