// SPDX-License-Identifier: MIT
// Rates, Retry-After, breakers and robots.txt: T17, T42, T51, T52.

#include "support.hpp"

namespace politeness_test {

using namespace crawl_test;

std::vector<std::string> numbered(int count) {
    std::vector<std::string> all;
    for (int i = 0; i < count; ++i) {
        all.push_back("/" + std::to_string(i));
    }
    return all;
}

answer plain(const std::string& text) {
    return answer(text).with("Content-Type", "text/plain");
}

WEIR_TEST(CrawlPoliteness, TheRateHoldsInEverySecond) {
    simulated_web web;
    web.page("http://a.test/", numbered(50));
    web.otherwise = [](const std::string&) { return empty_page().after(300ms); };
    crawl_options options = fast("http://a.test/");
    options.rate = 5;
    memory_store store;
    const auto began = weir::now();
    co_await crawl(options, web, store);
    for (std::size_t i = 5; i < web.requests.size(); ++i) {
        EXPECT_GE(web.requests[i].when - web.requests[i - 5].when, 1s);
    }
    EXPECT_LE(weir::now() - began, 12s);
    EXPECT_LE(web.most_in_flight, 8);
}

// Of many hosts that begin at once, each gets its connection late, and its links later still.
WEIR_TEST(CrawlPoliteness, HostsThatBeginLateEndInTime) {
    for (const auto slow : {50ms, 200ms, 350ms}) {
        simulated_web web;
        web.set("http://a.test/robots.txt", answer::of_status(404));
        web.set("http://a.test/", answer(links_to(numbered(50))).after(slow));
        web.otherwise = [](const std::string& url) {
            return empty_page().after(url.size() % 3 * 4ms);
        };
        crawl_options options = fast("http://a.test/");
        options.rate = 5;
        memory_store store;
        co_await crawl(options, web, store);
        EXPECT_EQ(web.requests.size(), 52u);
        for (std::size_t i = 5; i < web.requests.size(); ++i) {
            EXPECT_GE(web.requests[i].when - web.requests[i - 5].when, 1s) << i;
        }
        EXPECT_LE(web.requests.back().when - web.requests.front().when, 51 * 204ms);
    }
}

WEIR_TEST(CrawlPoliteness, OneHostThatWaitsDoesNotHoldUpOthers) {
    simulated_web web;
    web.page("http://a.test/", "http://slow.test/", "http://b.test/");
    web.set("http://slow.test/robots.txt", plain("User-agent: *\nCrawl-delay: 30\n"));
    web.page("http://slow.test/", "/1", "/2");
    web.page("http://b.test/", numbered(20));
    web.otherwise = [](const std::string&) { return empty_page(); };
    crawl_options options = fast("http://a.test/");
    options.scope = crawl_scope::all;
    memory_store store;
    const auto began = weir::now();
    co_await crawl(options, web, store);
    EXPECT_LE(web.first("http://b.test/19")->when - began, 1s);
    EXPECT_GE(web.first("http://slow.test/2")->when - web.first("http://slow.test/1")->when, 30s);
    EXPECT_EQ(web.count("http://slow.test/robots.txt"), 1);
}

WEIR_TEST(CrawlPoliteness, NothingIsRequestedBeforeRobotsTxtHasCome) {
    simulated_web web;
    web.page("http://a.test/", numbered(20));
    web.set("http://a.test/robots.txt", plain("User-agent: *\nDisallow: /1\n").after(5s));
    web.otherwise = [](const std::string&) { return empty_page(); };
    memory_store store;
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(web.requests.front().url, "http://a.test/robots.txt");
    EXPECT_GE(web.requests[1].when - web.requests[0].when, 5s);
    EXPECT_EQ(summary.totals.skipped, 11u);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/1").error.kind, error_kind::robots);
    EXPECT_EQ(pages.at("http://a.test/1").state, page_state::skipped);
}

WEIR_TEST(CrawlPoliteness, RobotsTxtThatFailsMeansThatNothingIsAllowed) {
    for (const int status : {500, 503, 429, 0}) {
        simulated_web web;
        web.set("http://a.test/robots.txt",
                status == 0 ? answer::failure(error_kind::truncated) : answer::of_status(status));
        web.page("http://a.test/", "/b");
        memory_store store;
        const auto began = weir::now();
        const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
        EXPECT_EQ(web.count("http://a.test/"), 0) << status;
        EXPECT_EQ(web.count("http://a.test/robots.txt"), 3);
        EXPECT_GE(weir::now() - began, 10min);
        EXPECT_EQ(summary.totals.skipped, 1u);
        EXPECT_EQ(summary.failed_seeds, 1u);
    }
}

WEIR_TEST(CrawlPoliteness, AHostWhoseRobotsTxtCannotBeReachedFailsLikeItsPages) {
    for (const error_kind kind : {error_kind::dns, error_kind::connect, error_kind::tls}) {
        simulated_web web;
        web.otherwise = [kind](const std::string&) { return answer::failure(kind); };
        memory_store store;
        const auto began = weir::now();
        const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
        EXPECT_EQ(summary.totals.failed, 1u);
        EXPECT_LE(weir::now() - began, 1min);
        const auto pages = co_await pages_of(store);
        EXPECT_EQ(pages.at("http://a.test/").error.kind, kind);
        EXPECT_EQ(web.count("http://a.test/"), 0);
    }
}

WEIR_TEST(CrawlPoliteness, AnAddressThatTheFilterRefusesIsTheReasonOfThePage) {
    simulated_web web;
    web.otherwise = [](const std::string&) { return answer::failure(error_kind::address_refused); };
    memory_store store;
    co_await crawl(fast("http://a.test/"), web, store);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/").error.kind, error_kind::address_refused);
}

// Unlike a host that is refused itself, one that redirects its robots.txt to such an address would
// be contacted.
WEIR_TEST(CrawlPoliteness, RobotsTxtThatRedirectsToARefusedAddressAllowsNothing) {
    for (const int hops : {1, 3}) {
        simulated_web web;
        web.page("http://a.test/", "/b");
        for (int i = 0; i < hops; ++i) {
            web.set(i == 0 ? "http://a.test/robots.txt" : "http://b.test/" + std::to_string(i),
                    answer::redirect(i + 1 == hops ? "http://intern.test/robots.txt"
                                                   : "http://b.test/" + std::to_string(i + 1)));
        }
        web.set("http://intern.test/robots.txt", answer::failure(error_kind::address_refused));
        memory_store store;
        const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
        EXPECT_EQ(web.count("http://a.test/"), 0) << hops;
        EXPECT_EQ(web.count("http://a.test/robots.txt"), 3);
        EXPECT_EQ(summary.totals.skipped, 1u);
        const auto pages = co_await pages_of(store);
        EXPECT_EQ(pages.at("http://a.test/").error.kind, error_kind::robots);
        EXPECT_NE(pages.at("http://a.test/").error.text.find("address_refused"), std::string::npos);
    }
}

WEIR_TEST(CrawlPoliteness, RobotsTxtThatIsNotThereAllowsEverything) {
    simulated_web web;
    web.set("http://a.test/robots.txt", answer::of_status(403));
    web.page("http://a.test/");
    memory_store store;
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(summary.totals.done, 1u);
}

WEIR_TEST(CrawlPoliteness, RobotsTxtIsFollowedOverFiveRedirects) {
    for (const int hops : {5, 6}) {
        simulated_web web;
        for (int i = 0; i < hops; ++i) {
            const std::string from =
                i == 0 ? "http://a.test/robots.txt" : "http://b.test/r" + std::to_string(i);
            web.set(from, answer::redirect("http://b.test/r" + std::to_string(i + 1)));
        }
        web.set("http://b.test/r" + std::to_string(hops), plain("User-agent: *\nDisallow: /\n"));
        web.page("http://a.test/");
        memory_store store;
        const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
        EXPECT_EQ(summary.totals.skipped, hops == 5 ? 1u : 0u);
    }
}

WEIR_TEST(CrawlPoliteness, WhatEachAnswerForRobotsTxtMeans) {
    struct expectation {
        answer robots;
        page_state state;
        int requests;
    };
    const std::string rules = "User-agent: *\nDisallow: /no\n";
    const std::string html = "<!doctype html><p>User-agent: *<br>Disallow: /no</p>";
    std::vector<expectation> table;
    table.push_back({plain(rules), page_state::skipped, 1});
    table.push_back({answer(rules), page_state::skipped, 1});  // the type does not matter
    table.push_back({plain(""), page_state::done, 1});
    table.push_back({answer(html), page_state::done, 1});
    for (const int status : {204, 400, 401, 403, 404, 410, 451, 304}) {
        table.push_back({answer::of_status(status), page_state::done, 1});
    }
    table.push_back({answer::redirect("file:///etc/passwd"), page_state::done, 1});
    for (const int status : {429, 500, 502, 503, 599}) {
        table.push_back({answer::of_status(status), page_state::skipped, 3});
    }
    answer cut = plain("User-agent: nobody\n");
    cut.error = page_error(error_kind::truncated, fetch_stage::body, "cut");
    table.push_back({cut, page_state::skipped, 3});
    answer large = plain(rules);
    large.error = page_error(error_kind::too_large, fetch_stage::body, "more than 512 KiB");
    table.push_back({large, page_state::skipped, 1});                  // its beginning counts
    table.push_back({plain(rules).after(1h), page_state::failed, 3});  // a time limit of its own
    for (const expectation& each : table) {
        simulated_web web;
        web.set("http://a.test/robots.txt", each.robots);
        web.page("http://a.test/no");
        memory_store store;
        const auto began = weir::now();
        co_await crawl(fast("http://a.test/no"), web, store);
        const auto pages = co_await pages_of(store);
        const std::string name =
            std::to_string(each.robots.status) + " " + each.robots.body + each.robots.error.text;
        EXPECT_EQ(pages.at("http://a.test/no").state, each.state) << name;
        EXPECT_EQ(web.count("http://a.test/robots.txt"), each.requests) << name;
        EXPECT_LE(weir::now() - began, 11min) << name;
    }
}

WEIR_TEST(CrawlPoliteness, EachSchemeHostAndPortHasItsOwnRobotsTxt) {
    simulated_web web;
    web.page("http://a.test/", "https://a.test/x", "http://a.test:81/x", "http://b.test/x", "/x");
    web.set("https://a.test/robots.txt", plain("User-agent: *\nDisallow: /x\n"));
    web.otherwise = [](const std::string& url) -> std::optional<answer> {
        return url.ends_with("robots.txt") ? std::nullopt : std::optional(empty_page());
    };
    crawl_options options = fast("http://a.test/");
    options.scope = crawl_scope::all;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.totals.skipped, 1u);
    EXPECT_EQ(web.count("https://a.test/x"), 0);
    EXPECT_EQ(web.count("http://a.test:81/x"), 1);
    for (const char* const origin :
         {"http://a.test", "https://a.test", "http://a.test:81", "http://b.test"}) {
        EXPECT_EQ(web.count(std::string(origin) + "/robots.txt"), 1) << origin;
    }
}

WEIR_TEST(CrawlPoliteness, CrawlDelayIsTheLongerOneUpToItsLimit) {
    for (const char* const delay : {"0.5", "5", "86400"}) {
        simulated_web web;
        web.set("http://a.test/robots.txt",
                plain("User-agent: *\nCrawl-delay: " + std::string(delay) + "\n"));
        web.page("http://a.test/", "/1", "/2");
        web.otherwise = [](const std::string&) { return empty_page(); };
        crawl_options options = fast("http://a.test/");
        options.delay = 2s;
        memory_store store;
        co_await crawl(options, web, store);
        const auto between =
            web.first("http://a.test/2")->when - web.first("http://a.test/1")->when;
        const weir::clock::duration expected = delay[0] == '0' ? 2s : delay[0] == '5' ? 5s : 60s;
        EXPECT_GE(between, expected) << delay;
        EXPECT_LE(between, expected + 1s) << delay;
    }
}

// How often robots.txt is requested while a crawl requests a page an hour, for three days.
task<int> robots_requests(const answer& robots) {
    simulated_web web;
    web.set("http://a.test/robots.txt", robots);
    web.page("http://a.test/", numbered(72));
    web.otherwise = [](const std::string&) { return empty_page(); };
    crawl_options options = fast("http://a.test/");
    options.delay = 1h;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.totals.done, 73u);
    co_return web.count("http://a.test/robots.txt");
}

WEIR_TEST(CrawlPoliteness, RobotsTxtIsUsedForADayAtMost) {
    const answer rules = plain("User-agent: *\nDisallow: /x\n");
    const int daily = co_await robots_requests(rules);
    EXPECT_GE(daily, 3);
    EXPECT_LE(daily, 4);
    const int absent = co_await robots_requests(answer::of_status(404));
    EXPECT_EQ(absent, daily);
    answer short_lived = rules;
    short_lived.with("Cache-Control", "public, max-age=28800");  // eight hours
    const int often = co_await robots_requests(short_lived);
    EXPECT_GE(often, 9);
    EXPECT_LE(often, 12);
    answer long_lived = rules;
    long_lived.with("Cache-Control", "max-age=99999999");
    const int still_daily = co_await robots_requests(long_lived);
    EXPECT_EQ(still_daily, daily);
}

WEIR_TEST(CrawlPoliteness, RobotsTxtIsUsedForAMinuteAtLeast) {
    simulated_web web;
    answer rules = plain("User-agent: *\nDisallow: /x\n");
    rules.with("Cache-Control", "no-store, max-age=0");
    web.set("http://a.test/robots.txt", rules);
    web.page("http://a.test/", numbered(119));
    web.otherwise = [](const std::string&) { return empty_page(); };
    crawl_options options = fast("http://a.test/");
    options.delay = 1s;
    memory_store store;
    co_await crawl(options, web, store);  // two minutes
    EXPECT_GE(web.count("http://a.test/robots.txt"), 2);
    EXPECT_LE(web.count("http://a.test/robots.txt"), 3);
}

WEIR_TEST(CrawlPoliteness, RobotsTxtThatFailsLaterLeavesItsLastRules) {
    simulated_web web;
    int requests = 0;
    web.page("http://a.test/", numbered(72));
    web.otherwise = [&requests](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            return ++requests == 1 ? plain("User-agent: *\nDisallow: /7\n")
                                   : answer::of_status(503);
        }
        return empty_page();
    };
    crawl_options options = fast("http://a.test/");
    options.delay = 1h;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_GT(requests, 2);
    EXPECT_LT(requests, 72);
    EXPECT_EQ(summary.totals.skipped, 3u);  // 7, 70, 71
    EXPECT_EQ(summary.totals.done, 70u);
}

// Every request to a host waits for the delay, that for robots.txt as well: with a delay beyond its
// lifetime, no page would ever be requested if it were renewed before each.
WEIR_TEST(CrawlPoliteness, RobotsTxtThatExpiresBetweenTwoRequestsLeavesRoomForPages) {
    simulated_web web;
    int requests = 0;
    web.page("http://a.test/", numbered(5));
    web.otherwise = [&requests](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            ++requests;
            return plain("").with("Cache-Control", "no-cache");
        }
        return empty_page();
    };
    crawl_options options = fast("http://a.test/");
    options.delay = 10min;
    memory_store store;
    const auto began = weir::now();
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.totals.done, 6u);
    EXPECT_EQ(requests, 6);
    EXPECT_LE(weir::now() - began, 2h);
}

WEIR_TEST(CrawlPoliteness, RobotsTxtWithRetryAfterIsAskedForThen) {
    simulated_web web;
    int requests = 0;
    web.page("http://a.test/");
    web.otherwise = [&requests](const std::string& url) -> std::optional<answer> {
        if (!url.ends_with("robots.txt")) {
            return std::nullopt;
        }
        return ++requests == 1 ? answer::of_status(429).with("Retry-After", "1800")
                               : answer::of_status(404);
    };
    memory_store store;
    const auto began = weir::now();
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(summary.totals.done, 1u);
    EXPECT_GE(weir::now() - began, 30min);
    EXPECT_LE(weir::now() - began, 31min);
}

WEIR_TEST(CrawlPoliteness, T56_pages_wait_for_free_descriptors) {
    simulated_web web;
    const auto free_at = weir::now() + 20s;
    web.page("http://a.test/", numbered(20));
    web.otherwise = [free_at](const std::string& url) -> std::optional<answer> {
        if (weir::now() < free_at) {
            answer fault = answer::failure(error_kind::connect);
            fault.is_local_fault = true;
            return fault;
        }
        return url.ends_with("robots.txt") ? std::nullopt : std::optional(empty_page());
    };
    memory_store store;
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(summary.totals.done, 21u);
    EXPECT_EQ(summary.totals.failed, 0u);
    EXPECT_EQ(summary.totals.retries, 0u);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/1").attempts, 1u);
}

WEIR_TEST(CrawlPoliteness, T56_without_descriptors_the_crawl_ends_with_the_reason_and_resumes) {
    simulated_web web;
    bool is_out = true;
    web.page("http://a.test/", numbered(20));
    web.otherwise = [&is_out](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            return std::nullopt;
        }
        answer fault = answer::failure(error_kind::connect);
        fault.is_local_fault = true;
        return is_out ? fault : empty_page();
    };
    memory_store store;
    std::string reason;
    try {
        co_await crawl(fast("http://a.test/"), web, store);
    } catch (const std::runtime_error& error) {
        reason = error.what();
    }
    EXPECT_NE(reason.find("simulated connect"), std::string::npos) << reason;
    EXPECT_NE(reason.find("ulimit -n"), std::string::npos) << reason;
    is_out = false;
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(summary.totals.done, 21u);
}

WEIR_TEST(CrawlPoliteness, T51_retry_after_holds_its_host_and_survives_a_restart) {
    simulated_web web;
    bool is_busy = true;
    web.page("http://a.test/", "/busy", "/2", "http://b.test/");
    web.otherwise = [&is_busy](const std::string& url) -> std::optional<answer> {
        if (url == "http://a.test/busy" && is_busy) {
            return answer::of_status(503).with("Retry-After", "600");
        }
        return url.ends_with("robots.txt") ? std::nullopt : std::optional(empty_page());
    };
    crawl_options options = fast("http://a.test/");
    options.scope = crawl_scope::all;
    options.max_attempts = 3;
    options.per_host = 1;
    memory_store store;
    const auto began = weir::now();
    {
        crawler one(options, web, store);
        auto running = weir::spawn(one.run());
        co_await weir::sleep(60s);
        EXPECT_EQ(web.count("http://b.test/"), 1);  // others go on
        EXPECT_EQ(web.count("http://a.test/2"), 0);
        EXPECT_EQ(web.in_flight, 0);
        const crawl_progress progress = one.progress();
        EXPECT_EQ(progress.retrying, 1u);
        EXPECT_EQ(progress.waiting.size(), 1u);
        one.stop(0s);
        co_await running;
    }
    is_busy = false;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.totals.done, 4u);
    EXPECT_GE(web.first("http://a.test/2")->when - began, 600s);
    EXPECT_EQ(web.count("http://a.test/robots.txt"), 1);  // T17
}

WEIR_TEST(CrawlPoliteness, T51_absurd_and_past_retry_after) {
    for (const char* const value : {"99999999", "Fri, 01 Jan 1999 00:00:00 GMT", "soon", "-5"}) {
        simulated_web web;
        int attempts = 0;
        web.otherwise = [&](const std::string& url) -> std::optional<answer> {
            if (url.ends_with("robots.txt")) {
                return std::nullopt;
            }
            return ++attempts == 1 ? answer::of_status(429).with("Retry-After", value)
                                   : empty_page();
        };
        crawl_options options = fast("http://a.test/");
        options.max_attempts = 2;
        memory_store store;
        const auto began = weir::now();
        const crawl_summary summary = co_await crawl(options, web, store);
        EXPECT_EQ(summary.totals.done, 1u) << value;
        EXPECT_LE(weir::now() - began, 1h + 1min) << value;
    }
}

WEIR_TEST(CrawlPoliteness, T52_a_host_that_is_down_fails_fast) {
    simulated_web web;
    web.page("http://a.test/", numbered(10'000));
    web.otherwise = [](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            return std::nullopt;
        }
        return answer::failure(error_kind::connect).after(10s);
    };
    memory_store store;
    const auto began = weir::now();
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(summary.totals.failed, 10'000u);
    EXPECT_LE(web.requests.size(), 30u);
    EXPECT_LE(weir::now() - began, 3min);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/9999").error.kind, error_kind::breaker);
    EXPECT_NE(pages.at("http://a.test/9999").error.text.find("simulated connect"),
              std::string::npos);
}

WEIR_TEST(CrawlPoliteness, AHostThatRecoversIsNotGivenUp) {
    simulated_web web;
    const auto up_at = weir::now() + 35s;
    web.page("http://a.test/", numbered(100));
    web.otherwise = [up_at](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            return std::nullopt;
        }
        return weir::now() < up_at ? answer::failure(error_kind::connect) : empty_page();
    };
    crawl_options options = fast("http://a.test/");
    options.max_attempts = 5;
    options.retry_delay = 1s;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.totals.done, 101u);
}

WEIR_TEST(CrawlPoliteness, T42_limits_by_address_hold_for_many_names) {
    simulated_web web;
    std::vector<std::string> names;
    for (int i = 0; i < 200; ++i) {
        names.push_back("http://n" + std::to_string(i) + ".test/");
        web.addresses["n" + std::to_string(i) + ".test"] = "192.0.2.1";
    }
    web.page("http://a.test/", names);
    int at_once = 0;
    int most = 0;
    web.otherwise = [](const std::string&) { return empty_page().after(100ms); };
    crawl_options options = fast("http://a.test/");
    options.scope = crawl_scope::all;
    options.obey_robots = false;
    options.per_address = 4;
    memory_store store;
    crawler one(options, web, store);
    one.on_page([&](const page&) -> task<std::string> {
        most = std::max(most, ++at_once);
        co_await weir::sleep(1ms);
        --at_once;
        co_return "";
    });
    const crawl_summary summary = co_await one.run();
    EXPECT_EQ(summary.totals.done, 201u);
    EXPECT_LE(web.most_in_flight, 4);
    EXPECT_LE(most, 4);
}

}  // namespace politeness_test
