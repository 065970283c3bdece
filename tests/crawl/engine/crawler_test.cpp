// SPDX-License-Identifier: MIT
// Limits, duplicates and ends (T1 to T10, T57), in simulated time.

#include "support.hpp"

namespace crawler_test {

using namespace crawl_test;

std::string page_name(int i) {
    return "http://a.test/" + std::to_string(i);
}

std::vector<std::string> numbered(int first, int count) {
    std::vector<std::string> all;
    for (int i = first; i < first + count; ++i) {
        all.push_back("/" + std::to_string(i));
    }
    return all;
}

WEIR_TEST(Crawler, FetchesASiteOnce) {
    simulated_web web;
    web.page("http://a.test/", "/b", "c?x=1", "/b#part");
    web.page("http://a.test/b", "/", "/c?x=1");
    web.page("http://a.test/c?x=1", "/b");
    memory_store store;
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(summary.why, stop_reason::complete);
    EXPECT_EQ(summary.totals.done, 3u);
    EXPECT_EQ(web.summary(), "http://a.test/ 1, http://a.test/b 1, http://a.test/c?x=1 1, ");
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/b").depth, 1u);
    EXPECT_EQ(pages.at("http://a.test/b").referrer, "http://a.test/");
    EXPECT_EQ(pages.at("http://a.test/").title, "t");
    EXPECT_EQ(pages.at("http://a.test/").new_links, 2u);
}

WEIR_TEST(Crawler, T1_max_pages_is_exact) {
    simulated_web web;
    constexpr int limit = 50;
    web.page("http://a.test/", numbered(0, 10 * limit));
    web.otherwise = [](const std::string&) { return empty_page(); };
    crawl_options options = fast("http://a.test/");
    options.max_pages = limit;
    options.per_host = 64;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(web.counts().size(), static_cast<std::size_t>(limit));
    EXPECT_EQ(summary.why, stop_reason::max_pages);
    co_await expect_sums(summary.totals, store);
    // A later run with a larger limit continues with the rest.
    options.max_pages = limit + 7;
    const crawl_summary second = co_await crawl(options, web, store);
    EXPECT_EQ(second.fetched, 7u);
    EXPECT_EQ(web.counts().size(), static_cast<std::size_t>(limit + 7));
}

WEIR_TEST(Crawler, T1_pages_that_robots_txt_disallows_do_not_use_up_the_limit) {
    simulated_web web;
    web.set("http://a.test/robots.txt",
            answer("User-agent: *\nDisallow: /no").with("Content-Type", "text/plain"));
    web.page("http://a.test/", "/no1", "/no2", "/yes1", "/no3", "/yes2", "/yes3");
    web.otherwise = [](const std::string&) { return empty_page(); };
    crawl_options options = fast("http://a.test/");
    options.max_pages = 3;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(web.summary(), "http://a.test/ 1, http://a.test/yes1 1, http://a.test/yes2 1, ");
    EXPECT_EQ(summary.totals.skipped, 3u);
    co_await expect_sums(summary.totals, store);
}

WEIR_TEST(Crawler, T2_copies_of_a_known_link_do_not_use_up_the_limit) {
    simulated_web web;
    std::vector<std::string> links(10, "/");
    links.push_back("/new");
    web.page("http://a.test/", links);
    web.page("http://a.test/new");
    crawl_options options = fast("http://a.test/");
    options.max_pages = 2;
    memory_store store;
    co_await crawl(options, web, store);
    EXPECT_EQ(web.count("http://a.test/new"), 1);
}

WEIR_TEST(Crawler, T3_failed_pages_count_as_pages) {
    simulated_web web;
    web.page("http://a.test/", numbered(0, 100));
    web.otherwise = [](const std::string&) { return answer::of_status(404); };
    crawl_options options = fast("http://a.test/");
    options.max_pages = 10;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(web.counts().size(), 10u);
    EXPECT_EQ(summary.totals.failed, 9u);
}

WEIR_TEST(Crawler, T4_many_pages_that_link_to_the_same_few) {
    simulated_web web;
    web.page("http://a.test/", numbered(1000, 1000));
    web.otherwise = [](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            return std::nullopt;
        }
        const bool is_target = url.size() < std::string("http://a.test/1000").size();
        return answer(links_to(is_target ? std::vector<std::string>{} : numbered(1, 50)));
    };
    crawl_options options = fast("http://a.test/");
    options.concurrency = options.per_host = 128;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.totals.done, 1051u);
    for (const auto& [url, count] : web.counts()) {
        EXPECT_EQ(count, 1) << url;
    }
}

WEIR_TEST(Crawler, T5_a_seed_twice_and_as_a_link) {
    simulated_web web;
    web.page("http://a.test/", "/", "http://A.test:80/", "/b");
    web.page("http://a.test/b", "/");
    memory_store store;
    co_await crawl(fast("http://a.test/", "http://a.test", "HTTP://a.test/#x", "http://a.test/b"),
                   web, store);
    EXPECT_EQ(web.summary(), "http://a.test/ 1, http://a.test/b 1, ");
}

WEIR_TEST(Crawler, T6_two_redirects_and_a_link_to_one_page) {
    simulated_web web;
    web.page("http://a.test/", "/a", "/b", "/c");
    web.set("http://a.test/a", answer::redirect("/c"));
    web.set("http://a.test/b", answer::redirect("http://a.test/c"));
    web.page("http://a.test/c");
    memory_store store;
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(web.count("http://a.test/c"), 1);
    EXPECT_EQ(summary.totals.done, 4u);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/a").location, "http://a.test/c");
    EXPECT_EQ(pages.at("http://a.test/a").status, 302);
}

WEIR_TEST(Crawler, T7_a_failed_url_is_retried_by_policy) {
    simulated_web web;
    int attempts = 0;
    web.page("http://a.test/", "/bad", "/b");
    web.page("http://a.test/b", "/bad");
    web.otherwise = [&attempts](const std::string& url) -> std::optional<answer> {
        if (!url.ends_with("/bad")) {
            return std::nullopt;
        }
        return ++attempts < 3 ? answer::of_status(503) : empty_page();
    };
    crawl_options options = fast("http://a.test/");
    options.max_attempts = 3;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(attempts, 3);
    EXPECT_EQ(summary.totals.done, 3u);
    EXPECT_EQ(summary.totals.retries, 2u);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/bad").attempts, 3u);
}

WEIR_TEST(Crawler, T8_and_T9_waits_for_a_slow_last_page_and_ends_right_after_it) {
    simulated_web web;
    web.page("http://a.test/", "/slow");
    web.set("http://a.test/slow", answer(links_to({"/last"})).after(29s));
    web.page("http://a.test/last");
    memory_store store;
    const auto began = weir::now();
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(summary.totals.done, 3u);
    const auto last = web.first("http://a.test/last")->when + 10ms;
    EXPECT_GE(weir::now() - began, 29s);
    EXPECT_LE(weir::now() - last, 100ms);
}

WEIR_TEST(Crawler, T10_ends_when_all_links_of_the_last_page_are_refused) {
    simulated_web web;
    web.page("http://a.test/", "http://b.test/", "mailto:x@y", "/no", "/deep");
    crawl_options options = fast("http://a.test/");
    options.exclude.emplace_back("*/no");
    options.max_depth = 0;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.why, stop_reason::complete);
    EXPECT_EQ(web.counts().size(), 1u);
    const auto refused = [&](link_refusal why) {
        return summary.totals.refused[static_cast<std::size_t>(why)];
    };
    EXPECT_EQ(refused(link_refusal::scope), 1u);
    EXPECT_EQ(refused(link_refusal::scheme), 1u);
    EXPECT_EQ(refused(link_refusal::excluded), 1u);
    EXPECT_EQ(refused(link_refusal::depth), 1u);
}

WEIR_TEST(Crawler, T11_concurrency_is_a_limit) {
    simulated_web web;
    web.page("http://a.test/", numbered(0, 100));
    web.otherwise = [](const std::string&) { return empty_page(); };
    crawl_options options = fast("http://a.test/");
    options.concurrency = 3;
    memory_store store;
    co_await crawl(options, web, store);
    EXPECT_EQ(web.most_in_flight, 3);
}

WEIR_TEST(Crawler, T57_counts_add_up_at_every_moment) {
    simulated_web web;
    web.page("http://a.test/", numbered(0, 60));
    web.otherwise = [](const std::string& url) {
        const char last = url.back();
        return last == '3'   ? answer::of_status(404)
               : last == '4' ? answer::of_status(500)
                             : answer(links_to({url + "/more"}));
    };
    crawl_options options = fast("http://a.test/");
    options.max_attempts = 2;
    options.max_depth = 3;
    options.exclude.emplace_back("*5/more");
    options.batch_time = 5ms;
    web.set("http://a.test/robots.txt",
            answer("User-agent: *\nDisallow: /6\n").with("Content-Type", "text/plain"));
    memory_store store;
    crawler one(options, web, store);
    std::uint64_t seen = 0;
    one.on_page([&](const page& shown) -> task<std::string> {
        EXPECT_GE(one.progress().in_flight, 1u);
        ++seen;
        co_await weir::sleep(1ms);
        co_return shown.url + "!";
    });
    auto running = weir::spawn(one.run());
    std::size_t most_retrying = 0;
    counters last;
    while (!running.done()) {
        co_await weir::sleep(3ms);
        co_await expect_stored_sums(options, store);
        const crawl_progress progress = one.progress();
        most_retrying = std::max(most_retrying, progress.retrying);
        EXPECT_GE(progress.totals.discovered, last.discovered);
        EXPECT_GE(progress.totals.settled(), last.settled());
        EXPECT_LE(progress.totals.settled(), progress.totals.discovered);
        last = progress.totals;
    }
    const crawl_summary summary = co_await running;
    EXPECT_GE(most_retrying, 1u);
    EXPECT_GE(summary.totals.retries, 6u);
    EXPECT_GE(summary.totals.skipped, 1u);
    EXPECT_GE(summary.totals.failed, 12u);
    co_await expect_sums(summary.totals, store);
    EXPECT_EQ(summary.totals.pending(), 0u);
    EXPECT_EQ(seen, summary.totals.done);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/").data, "http://a.test/!");
}

WEIR_TEST(Crawler, AHandlerThatThrowsFailsItsPage) {
    simulated_web web;
    web.page("http://a.test/", "/b");
    memory_store store;
    crawler one(fast("http://a.test/"), web, store);
    one.on_page([](const page&) -> task<std::string> {
        throw std::runtime_error("no price on this page");
        co_return "";
    });
    const crawl_summary summary = co_await one.run();
    EXPECT_EQ(summary.totals.failed, 1u);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/").error.kind, error_kind::content);
    EXPECT_EQ(pages.at("http://a.test/").error.text, "no price on this page");
    EXPECT_EQ(web.count("http://a.test/b"), 0);
}

WEIR_TEST(Crawler, ShouldFollowAndPriorityDecideAboutLinks) {
    simulated_web web;
    web.page("http://a.test/", "/1", "/2", "/no", "/3");
    web.otherwise = [](const std::string&) { return empty_page(); };
    crawl_options options = fast("http://a.test/");
    options.per_host = 1;
    memory_store store;
    crawler one(options, web, store);
    one.should_follow([](const candidate& link) { return !link.url.ends_with("/no"); });
    one.priority([](const candidate& link) { return link.url.ends_with("/3") ? -1 : 0; });
    co_await one.run();
    EXPECT_EQ(web.count("http://a.test/no"), 0);
    EXPECT_LT(web.first("http://a.test/3")->when, web.first("http://a.test/1")->when);
}

WEIR_TEST(Crawler, T12_stop_lets_pages_in_flight_end_and_leaves_the_rest) {
    simulated_web web;
    web.page("http://a.test/", numbered(0, 100));
    web.otherwise = [](const std::string&) { return empty_page().after(1s); };
    crawl_options options = fast("http://a.test/");
    memory_store store;
    crawler one(options, web, store);
    auto running = weir::spawn(one.run());
    co_await weir::sleep(1500ms);
    one.stop(10s);
    const crawl_summary summary = co_await running;
    EXPECT_EQ(summary.why, stop_reason::stopped);
    EXPECT_EQ(web.in_flight, 0);
    EXPECT_EQ(summary.totals.done, web.counts().size());
    // The rest: no page is fetched again.
    const crawl_summary rest = co_await crawl(options, web, store);
    EXPECT_EQ(rest.why, stop_reason::complete);
    EXPECT_EQ(rest.totals.done, 101u);
    for (const auto& [url, count] : web.counts()) {
        EXPECT_EQ(count, 1) << url;
    }
}

WEIR_TEST(Crawler, T12_a_second_stop_ends_at_once) {
    simulated_web web;
    web.page("http://a.test/", numbered(0, 20));
    web.otherwise = [](const std::string&) { return empty_page().after(20s); };
    crawl_options options = fast("http://a.test/");
    options.obey_robots = false;
    memory_store store;
    crawler one(options, web, store);
    auto running = weir::spawn(one.run());
    co_await weir::sleep(1s);
    one.stop(10s);
    co_await weir::sleep(1s);
    const auto before = weir::now();
    one.stop(0s);
    const crawl_summary summary = co_await running;
    EXPECT_LE(weir::now() - before, 10ms);
    EXPECT_EQ(summary.totals.done, 1u);
    EXPECT_EQ(summary.totals.pending(), 20u);
    const crawl_summary rest = co_await crawl(options, web, store);
    EXPECT_EQ(rest.totals.done, 21u);
}

WEIR_TEST(Crawler, T15_a_finished_crawl_fetches_nothing_more) {
    simulated_web web;
    web.page("http://a.test/", "/b");
    memory_store store;
    co_await crawl(fast("http://a.test/"), web, store);
    const std::size_t before = web.requests.size();
    const crawl_summary again = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(again.why, stop_reason::complete);
    EXPECT_EQ(again.fetched, 0u);
    EXPECT_EQ(web.requests.size(), before);
}

WEIR_TEST(Crawler, T19_a_changed_option_is_named) {
    simulated_web web;
    web.page("http://a.test/", "/b");
    memory_store store;
    co_await crawl(fast("http://a.test/"), web, store);
    crawl_options other = fast("http://a.test/");
    other.scope = crawl_scope::domain;
    std::string reason;
    try {
        co_await crawl(other, web, store);
    } catch (const store_error& error) {
        reason = error.what();
    }
    EXPECT_NE(reason.find("'scope host'"), std::string::npos) << reason;
    EXPECT_NE(reason.find("'scope domain'"), std::string::npos) << reason;
    crawler accepting(other, web, store);
    accepting.accept_changes();
    const crawl_summary summary = co_await accepting.run();
    EXPECT_EQ(summary.why, stop_reason::complete);
}

// An output on a disk that gets full.
class failing_sink final : public sink {
public:
    std::string_view name() const noexcept override { return "failing"; }
    task<> open(std::string position) override {
        opened_at = position;
        co_return;
    }
    void write(const page&) override { ++written; }
    std::size_t buffered() const noexcept override { return 1; }
    task<std::string> flush() override {
        if (is_full && written > 20) {
            throw store_error("no space left on the device");
        }
        co_return std::to_string(written);
    }
    task<> close(bool) override { co_return; }

    int written = 0;
    bool is_full = true;
    std::string opened_at;
};

WEIR_TEST(Crawler, T16_an_output_that_fails_stops_the_crawl_with_its_reason_and_it_resumes) {
    simulated_web web;
    web.page("http://a.test/", numbered(0, 100));
    web.otherwise = [](const std::string&) { return empty_page(); };
    const crawl_options options = fast("http://a.test/");
    memory_store store;
    failing_sink output;
    std::string reason;
    try {
        crawler one(options, web, store);
        one.add_sink(output);
        co_await one.run();
    } catch (const store_error& error) {
        reason = error.what();
    }
    EXPECT_EQ(reason, "no space left on the device");
    EXPECT_EQ(web.in_flight, 0);
    output.is_full = false;
    crawler again(options, web, store);
    again.add_sink(output);
    const crawl_summary summary = co_await again.run();
    EXPECT_EQ(summary.totals.done, 101u);
    EXPECT_FALSE(output.opened_at.empty());
}

WEIR_TEST(Crawler, MaxTimeEndsTheRunAndLeavesTheRest) {
    simulated_web web;
    web.otherwise = [](const std::string& url) { return answer(links_to({url + "a"})).after(1s); };
    crawl_options options = fast("http://a.test/");
    options.obey_robots = false;
    options.max_time = 10s;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.why, stop_reason::max_time);
    EXPECT_GE(summary.totals.done, 8u);
    EXPECT_EQ(summary.totals.pending(), 1u);
}

WEIR_TEST(Crawler, LinksOutOfScopeCanBeExcludedFromTheCheck) {
    simulated_web web;
    web.page("http://a.test/", "http://b.test/x", "http://c.test/y");
    crawl_options options = fast("http://a.test/");
    options.check_external = true;
    options.exclude.emplace_back("http://b.test/*");
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(web.count("http://b.test/x"), 0);
    EXPECT_EQ(web.count("http://c.test/y"), 2);  // HEAD, and GET after its 404
    EXPECT_EQ(summary.totals.refused[static_cast<std::size_t>(link_refusal::excluded)], 1u);
}

}  // namespace crawler_test
