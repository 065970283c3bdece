// SPDX-License-Identifier: MIT
// The limit of requests to one address, whatever names it has: T42.

#include "support.hpp"

namespace addresses_test {

using namespace crawl_test;

constexpr int names = 60;

std::string name(int i) {
    return "n" + std::to_string(i) + ".test";
}

// A seed at an address of its own that links to many names of one server, each with five pages.
void wildcard_web(simulated_web& web, weir::clock::duration time, const answer& robots) {
    std::vector<std::string> links;
    for (int i = 0; i < names; ++i) {
        links.push_back("http://" + name(i) + "/");
        web.addresses[name(i)] = "192.0.2.1";
    }
    web.set("http://a.test/robots.txt", robots);
    web.page("http://a.test/", links);
    web.otherwise = [time, robots](const std::string& url) {
        if (url.ends_with("/robots.txt")) {
            return robots;
        }
        return url.ends_with("/") ? answer(links_to({"1", "2", "3", "4"})).after(time)
                                  : empty_page().after(time);
    };
}

crawl_options wildcard_options() {
    crawl_options options = fast("http://a.test/");
    options.scope = crawl_scope::all;
    options.per_address = 4;
    return options;
}

WEIR_TEST(CrawlAddresses, T42_robots_txt_of_many_names_counts_in_the_limit_of_their_address) {
    simulated_web web;
    wildcard_web(web, 100ms, answer::of_status(404).after(200ms));
    memory_store store;
    const crawl_summary summary = co_await crawl(wildcard_options(), web, store);
    EXPECT_EQ(summary.totals.done, 1u + 5 * names);
    EXPECT_EQ(web.most_in_flight, 4);
}

WEIR_TEST(CrawlAddresses, T42_limits_by_address_hold_after_a_restart) {
    for (const bool obey_robots : {true, false}) {
        simulated_web web;
        wildcard_web(web, 100ms, answer::of_status(404));
        crawl_options options = wildcard_options();
        options.obey_robots = obey_robots;
        memory_store store;
        {
            crawler first(options, web, store);
            auto running = weir::spawn(first.run());
            co_await weir::sleep(3s);  // most names are known, with their robots.txt
            first.stop(1s);
            co_await running;
        }
        EXPECT_GT(web.counts().size(), static_cast<std::size_t>(names));
        EXPECT_LT(web.counts().size(), 5u * names);
        const crawl_summary summary = co_await crawl(options, web, store);
        EXPECT_EQ(summary.totals.done, 1u + 5 * names);
        EXPECT_EQ(web.most_in_flight, 4);
        if (obey_robots) {
            EXPECT_EQ(web.count("http://n0.test/robots.txt"), 1);
        }
    }
}

// Requests that began before the address was known are under way when robots.txt expires.
WEIR_TEST(CrawlAddresses, T42_robots_txt_that_expires_after_a_restart_strands_no_page) {
    simulated_web web;
    std::vector<std::string> links;
    for (int i = 0; i < 20; ++i) {
        links.push_back("/" + std::to_string(i));
        web.set("http://a.test/" + std::to_string(i),
                empty_page().after(std::chrono::seconds(35 + i)));
    }
    web.set("http://a.test/robots.txt",
            answer::of_status(404).with("Cache-Control", "no-cache").after(8s));  // for a minute
    web.page("http://a.test/", links);
    crawl_options options = fast("http://a.test/");
    options.timeout = 2min;
    options.per_host = options.per_address = 4;
    memory_store store;
    {
        crawler first(options, web, store);
        auto running = weir::spawn(first.run());
        co_await weir::sleep(10s);
        first.stop(0s);
        co_await running;
    }
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.why, stop_reason::complete);
    EXPECT_EQ(summary.totals.done, 21u);
    EXPECT_EQ(summary.totals.pending(), 0u);
    EXPECT_GE(web.count("http://a.test/robots.txt"), 2);
    EXPECT_EQ(web.most_in_flight, 4);
}

}  // namespace addresses_test
