// SPDX-License-Identifier: MIT
// What several nodes share: URLs, hosts, limits, robots.txt, the end.

#include "cluster.hpp"

namespace shared_crawl_test {

using namespace crawl_cluster_test;

struct shared_run {
    simulated_web web;
    std::vector<crawl_summary> summaries;
    counters stored;
};

// Runs so many nodes at once, to their end. `url`: of the database, if not the usual one.
task<> run_nodes(const crawl_options& options, int count, shared_run& all, std::string url = "") {
    const std::string schema = fresh_schema();
    std::vector<std::unique_ptr<node>> nodes;
    for (int i = 0; i < count; ++i) {
        postgres_store_options how = node_options(schema, "n" + std::to_string(i));
        how.url = url.empty() ? how.url : url;
        nodes.push_back(co_await make_node(options, all.web, how));
    }
    std::vector<task<crawl_summary>> runs;
    for (const auto& each : nodes) {
        runs.push_back(each->work->run());
    }
    all.summaries = co_await weir::gather(std::move(runs));
    const std::map<std::string, page_record> pages = co_await pages_of(*nodes.front()->state);
    for (const auto& [url, each] : pages) {
        ++all.stored.discovered;
        all.stored.done += each.state == page_state::done ? 1 : 0;
        all.stored.failed += each.state == page_state::failed ? 1 : 0;
        all.stored.skipped += each.state == page_state::skipped ? 1 : 0;
    }
    for (const auto& each : nodes) {
        co_await each->state->close();
    }
}

std::uint64_t fetched_by_all(const shared_run& all) {
    std::uint64_t sum = 0;
    for (const crawl_summary& each : all.summaries) {
        sum += each.fetched;
    }
    return sum;
}

TEST(CrawlNodes, EachUrlIsRequestedOnceByAllOfThem) {
    constexpr int hosts = 6;
    constexpr int pages = 30;
    shared_run all;
    add_hosts(all.web, hosts, pages, 20ms);
    const auto body = [&]() -> task<> {
        const crawl_options options = cluster_options(hosts);
        co_await run_nodes(options, 3, all);
    };
    weir::run(body());
    EXPECT_EQ(all.web.counts().size(), std::size_t{hosts * pages});
    expect_each_once(all.web);
    expect_robots_once(all.web, hosts);
    EXPECT_EQ(fetched_by_all(all), std::uint64_t{hosts * pages});
    for (const crawl_summary& each : all.summaries) {
        EXPECT_EQ(each.why, stop_reason::complete);
        EXPECT_EQ(each.totals, all.summaries.front().totals);
        EXPECT_GT(each.fetched, 0u);
    }
    EXPECT_EQ(all.stored.done, std::uint64_t{hosts * pages});
    const counters& totals = all.summaries.front().totals;
    EXPECT_EQ(totals.discovered, all.stored.discovered);
    EXPECT_EQ(totals.done, all.stored.done);
}

// In transaction mode, with fewer connections to the server than the nodes have.
TEST(CrawlNodes, APoolerMayStandBetweenThemAndTheServer) {
    constexpr int hosts = 3;
    constexpr int pages = 20;
    shared_run all;
    add_hosts(all.web, hosts, pages, 10ms);
    const weir_test::pgbouncer pooler(weir_test::shared_postgres());
    const auto body = [&]() -> task<> {
        const crawl_options options = cluster_options(hosts);
        const std::string url = pooler.url();
        co_await run_nodes(options, 2, all, url);
    };
    weir::run(body());
    EXPECT_EQ(all.stored.done, std::uint64_t{hosts * pages});
    expect_each_once(all.web);
    expect_robots_once(all.web, hosts);
}

TEST(CrawlNodes, T1_max_pages_is_exact_for_all_of_them) {
    constexpr int hosts = 5;
    shared_run all;
    add_hosts(all.web, hosts, 40, 10ms);
    // Disallowed pages are not requested, and not counted.
    answer rules("User-agent: *\nDisallow: /7\nDisallow: /11\n");
    all.web.set("http://h1.test/robots.txt", rules.with("Content-Type", "text/plain"));
    const auto body = [&]() -> task<> {
        crawl_options options = cluster_options(hosts);
        options.max_pages = 77;
        co_await run_nodes(options, 3, all);
    };
    weir::run(body());
    EXPECT_EQ(all.web.counts().size(), 77u);
    expect_each_once(all.web);
    for (const crawl_summary& each : all.summaries) {
        EXPECT_EQ(each.why, stop_reason::max_pages);
    }
    EXPECT_EQ(all.stored.done + all.stored.failed, 77u);
}

TEST(CrawlNodes, UrlsWithAUserBelongToTheirHost) {
    shared_run all;
    all.web.page("http://h0.test/0", "http://me@h0.test/1", "http://me:pw@h1.test:8080/2");
    all.web.page("http://me@h0.test/1");
    const auto body = [&]() -> task<> {
        crawl_options options = cluster_options(1);
        options.scope = crawl_scope::all;
        co_await run_nodes(options, 2, all);
    };
    weir::run(body());
    EXPECT_EQ(all.web.counts().size(), 3u) << all.web.summary();
    expect_each_once(all.web);
    EXPECT_EQ(all.summaries.front().why, stop_reason::complete);
}

TEST(CrawlNodes, MaxPagesPerHostIsExactForAllOfThem) {
    constexpr int hosts = 4;
    shared_run all;
    add_hosts(all.web, hosts, 40, 10ms);
    const auto body = [&]() -> task<> {
        crawl_options options = cluster_options(hosts);
        options.max_pages_per_host = 15;
        co_await run_nodes(options, 3, all);
    };
    weir::run(body());
    EXPECT_EQ(all.web.counts().size(), std::size_t{hosts * 15});
    const counters& totals = all.summaries.front().totals;
    EXPECT_GT(totals.refused[static_cast<std::size_t>(link_refusal::host_full)], 0u);
    EXPECT_EQ(all.summaries.front().why, stop_reason::complete);
}

// A node that comes later gets its share of the hosts, with their state.
TEST(CrawlNodes, ANodeThatJoinsLaterTakesHostsOver) {
    constexpr int hosts = 6;
    constexpr int pages = 40;
    simulated_web web;
    add_hosts(web, hosts, pages, 50ms);
    crawl_summary late;
    const auto body = [&]() -> task<> {
        const crawl_options options = cluster_options(hosts);
        const std::string schema = fresh_schema();
        auto first = co_await make_node(options, web, node_options(schema, "first"));
        auto running = weir::spawn(first->work->run());
        co_await weir::sleep(400ms);
        auto second = co_await make_node(options, web, node_options(schema, "second"));
        late = co_await second->work->run();
        co_await running;
        co_await first->state->close();
        co_await second->state->close();
    };
    weir::run(body());
    EXPECT_EQ(web.counts().size(), std::size_t{hosts * pages});
    expect_each_once(web);
    expect_robots_once(web, hosts);
    EXPECT_GT(late.fetched, std::uint64_t{pages / 4});
}

// What a failing host has told one node counts for the next.
TEST(CrawlNodes, T51_waits_of_a_host_move_with_it) {
    simulated_web web;
    web.page("http://h0.test/0", "/1");
    web.set("http://h0.test/1", answer::of_status(503).with("Retry-After", "2"));
    const auto body = [&]() -> task<> {
        crawl_options options = cluster_options(1);
        options.max_attempts = 2;
        const std::string schema = fresh_schema();
        auto first = co_await make_node(options, web, node_options(schema, "first"));
        auto running = weir::spawn(first->work->run());
        while (web.count("http://h0.test/1") == 0) {
            co_await weir::sleep(5ms);
        }
        co_await weir::sleep(300ms);
        first->work->stop(0ms);
        co_await running;
        web.set("http://h0.test/1", empty_page());
        auto second = co_await make_node(options, web, node_options(schema, "second"));
        const crawl_summary summary = co_await second->work->run();
        EXPECT_EQ(summary.why, stop_reason::complete);
        EXPECT_EQ(summary.totals.done, 2u);
        co_await first->state->close();
        co_await second->state->close();
    };
    weir::run(body());
    ASSERT_EQ(web.count("http://h0.test/1"), 2);
    EXPECT_EQ(web.count("http://h0.test/robots.txt"), 1);
    const auto earliest = web.requests[web.requests.size() - 2].when + 1900ms;
    EXPECT_GE(web.requests.back().when, earliest);
}

}  // namespace shared_crawl_test
