// SPDX-License-Identifier: MIT
// Traps and odd answers: T37 to T41, T43, T46, T47, T54.

#include "support.hpp"

namespace answers_test {

using namespace crawl_test;

std::uint64_t refused(const crawl_summary& summary, link_refusal why) {
    return summary.totals.refused[static_cast<std::size_t>(why)];
}

WEIR_TEST(CrawlTraps, T37_a_calendar_without_end_is_ended_by_depth_and_by_the_budget_of_its_host) {
    for (const bool by_depth : {true, false}) {
        simulated_web web;
        web.otherwise = [](const std::string& url) -> std::optional<answer> {
            if (url.ends_with("robots.txt")) {
                return std::nullopt;
            }
            const std::size_t at = url.find('=');
            const int year = at == std::string::npos ? 0 : std::stoi(url.substr(at + 1));
            return answer("<a href='?year=" + std::to_string(year + 1) + "'>next</a>");
        };
        crawl_options options = fast("http://a.test/cal");
        if (by_depth) {
            options.max_depth = 20;
        } else {
            options.max_pages_per_host = 21;
        }
        memory_store store;
        const crawl_summary summary = co_await crawl(options, web, store);
        EXPECT_EQ(summary.totals.done, 21u);
        EXPECT_EQ(refused(summary, by_depth ? link_refusal::depth : link_refusal::host_full), 1u);
    }
}

// The second run continues with the counts of the first.
WEIR_TEST(CrawlTraps, T37_a_calendar_without_end_is_ended_by_the_budget_of_its_pattern) {
    simulated_web web;
    web.otherwise = [](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            return std::nullopt;
        }
        const std::size_t at = url.find('=');
        const int year = at == std::string::npos ? 0 : std::stoi(url.substr(at + 1));
        return answer("<a href='/cal?year=" + std::to_string(year + 1) +
                      "'>next</a><a href='/about'>");
    };
    crawl_options options = fast("http://a.test/cal");
    options.max_pages_per_pattern = 30;
    memory_store store;
    options.max_pages = 10;
    co_await crawl(options, web, store);
    options.max_pages = crawl_options::unlimited;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.totals.done, 32u);  // the first page, /about, and 30 years
    EXPECT_EQ(refused(summary, link_refusal::pattern_full), 1u);
}

WEIR_TEST(CrawlTraps, T38_a_path_that_grows_is_stopped) {
    simulated_web web;
    web.otherwise = [](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            return std::nullopt;
        }
        return answer("<a href='www.x.test/'>home</a>");
    };
    memory_store store;
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(summary.totals.done, 3u);
    EXPECT_EQ(refused(summary, link_refusal::segments), 1u);
}

WEIR_TEST(CrawlTraps, T39_a_page_that_echoes_its_url) {
    simulated_web web;
    web.otherwise = [](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            return std::nullopt;
        }
        return answer("<a href='/?from=" + url.substr(7) + "'>x</a>");
    };
    crawl_options options = fast("http://a.test/");
    options.max_url_length = 500;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(refused(summary, link_refusal::length), 1u);
    EXPECT_LE(summary.totals.done, 40u);
}

WEIR_TEST(CrawlTraps, T40_session_ids_can_be_stripped) {
    simulated_web web;
    int sessions = 0;
    web.otherwise = [&sessions](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            return std::nullopt;
        }
        const std::string id = std::to_string(++sessions);
        return answer("<a href='/a?sid=" + id + "&page=1'>x</a><a href='/?utm_source=" + id +
                      "'>y</a>");
    };
    crawl_options options = fast("http://a.test/");
    options.strip_parameters.emplace_back("sid");
    options.strip_parameters.emplace_back("utm_*");
    memory_store store;
    co_await crawl(options, web, store);
    EXPECT_EQ(web.summary(), "http://a.test/ 1, http://a.test/a?page=1 1, ");
}

WEIR_TEST(CrawlTraps, T40_session_ids_in_paths_can_be_stripped) {
    simulated_web web;
    int sessions = 0;
    web.otherwise = [&sessions](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            return std::nullopt;
        }
        const std::string id = ";jsessionid=" + std::to_string(++sessions);
        return answer(links_to({"/a" + id + "?page=1", "/" + id, "/b" + id + "/c;v=1"}));
    };
    crawl_options options = fast("http://a.test/;jsessionid=0");
    options.strip_parameters.emplace_back("jsessionid");
    memory_store store;
    co_await crawl(options, web, store);
    EXPECT_EQ(web.summary(),
              "http://a.test/ 1, http://a.test/a?page=1 1, http://a.test/b/c;v=1 1, ");
}

WEIR_TEST(CrawlTraps, T41_equal_bodies_have_equal_hashes) {
    simulated_web web;
    web.page("http://a.test/", "/1", "/2", "/3");
    web.set("http://a.test/1", answer("<p>same"));
    web.set("http://a.test/2", answer("<p>same"));
    web.set("http://a.test/3", answer("<p>other"));
    memory_store store;
    co_await crawl(fast("http://a.test/"), web, store);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/1").body_hash, pages.at("http://a.test/2").body_hash);
    EXPECT_NE(pages.at("http://a.test/1").body_hash, pages.at("http://a.test/3").body_hash);
}

WEIR_TEST(CrawlTraps, T41_links_of_equal_bodies_are_followed_up_to_their_limit) {
    simulated_web web;
    web.otherwise = [](const std::string& url) -> std::optional<answer> {
        if (url.ends_with("robots.txt")) {
            return std::nullopt;
        }
        return answer("<a href='x/'>deeper</a>");  // the same body, whatever the URL
    };
    crawl_options options = fast("http://a.test/");
    options.max_equal_segments = 1000;
    options.max_equal_bodies = 5;
    memory_store store;
    options.max_pages = 3;
    co_await crawl(options, web, store);
    options.max_pages = crawl_options::unlimited;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.totals.done, 6u);
    EXPECT_EQ(refused(summary, link_refusal::equal_body), 1u);
}

WEIR_TEST(CrawlTraps, T43_links_beyond_the_limit_of_a_page_are_counted) {
    simulated_web web;
    std::vector<std::string> many;
    for (int i = 0; i < 100; ++i) {
        many.push_back("/" + std::to_string(i));
    }
    web.page("http://a.test/", many);
    web.otherwise = [](const std::string&) { return empty_page(); };
    crawl_options options = fast("http://a.test/");
    options.max_links_per_page = 10;
    memory_store store;
    const crawl_summary summary = co_await crawl(options, web, store);
    EXPECT_EQ(summary.totals.done, 11u);
    EXPECT_EQ(refused(summary, link_refusal::page_full), 90u);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/").cut_links, 90u);
}

WEIR_TEST(CrawlAnswers, T46_a_pdf_that_says_it_is_html_is_not_parsed) {
    simulated_web web;
    web.page("http://a.test/", "/pdf", "/nul", "/none");
    web.set("http://a.test/pdf", answer("%PDF-1.4 <a href=/x>x</a>"));
    web.set("http://a.test/nul", answer(std::string("<a href=/x>\0", 12)));
    web.set("http://a.test/none", answer("<a href=/found>x</a>").with("Content-Type", ""));
    web.page("http://a.test/found");
    memory_store store;
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(web.count("http://a.test/x"), 0);
    EXPECT_EQ(web.count("http://a.test/found"), 1);  // no type: sniffed
    EXPECT_EQ(summary.totals.failed, 2u);
    const auto pages = co_await pages_of(store);
    EXPECT_EQ(pages.at("http://a.test/pdf").error.kind, error_kind::content);
}

WEIR_TEST(CrawlAnswers, T47_links_of_a_body_that_was_cut_short_count_on_request) {
    for (const bool keeps : {false, true}) {
        simulated_web web;
        answer cut("<a href=/found>x</a>");
        cut.error = page_error(error_kind::truncated, fetch_stage::body, "the connection ended");
        web.set("http://a.test/", cut);
        web.page("http://a.test/found");
        crawl_options options = fast("http://a.test/");
        options.keep_truncated = keeps;
        memory_store store;
        crawler one(options, web, store);
        int handled = 0;
        one.on_page([&handled](const page&) -> task<std::string> {
            ++handled;
            co_return "";
        });
        const crawl_summary summary = co_await one.run();
        EXPECT_EQ(summary.totals.failed, 1u);
        EXPECT_EQ(web.count("http://a.test/found"), keeps ? 1 : 0);
        EXPECT_EQ(handled, keeps ? 1 : 0);  // of the page that was found
        const auto pages = co_await pages_of(store);
        EXPECT_EQ(pages.at("http://a.test/").error.kind, error_kind::truncated);
        EXPECT_EQ(pages.at("http://a.test/").error.text, "the connection ended");
    }
}

WEIR_TEST(CrawlAnswers, T54_nofollow_of_links_pages_and_headers) {
    simulated_web web;
    web.set("http://a.test/", answer("<a rel=nofollow href=/no1>x</a><a href=/page>x</a>"
                                     "<a href=/header>x</a><a href=/noindex>x</a>"));
    web.set("http://a.test/page", answer("<meta name=robots content=nofollow><a href=/no2>x</a>"));
    web.set("http://a.test/header", answer("<a href=/no3>x</a>").with("X-Robots-Tag", "nofollow"));
    web.set("http://a.test/noindex",
            answer("<meta name=robots content='noindex,follow'><a href=/yes>x</a>"));
    web.page("http://a.test/yes");
    memory_store store;
    const crawl_summary summary = co_await crawl(fast("http://a.test/"), web, store);
    EXPECT_EQ(summary.totals.done, 5u);
    EXPECT_EQ(refused(summary, link_refusal::nofollow), 3u);
    const auto pages = co_await pages_of(store);
    EXPECT_TRUE(pages.at("http://a.test/noindex").is_noindex);
    EXPECT_FALSE(pages.at("http://a.test/noindex").is_nofollow);
    EXPECT_TRUE(pages.at("http://a.test/header").is_nofollow);
}

WEIR_TEST(CrawlAnswers, ScopesDecideAboutHostsAndFolders) {
    struct expectation {
        crawl_scope scope;
        const char* pages;
    };
    for (const expectation& each :
         {expectation{crawl_scope::host,
                      "http://a.test/d/ 1, http://a.test/d/x 1, http://a.test/e 1, "},
          expectation{crawl_scope::prefix, "http://a.test/d/ 1, http://a.test/d/x 1, "},
          expectation{crawl_scope::domain,
                      "http://a.test/d/ 1, http://a.test/d/x 1, http://a.test/e 1, "
                      "http://sub.a.test/ 1, "},
          expectation{crawl_scope::all,
                      "http://a.test/d/ 1, http://a.test/d/x 1, http://a.test/e 1, "
                      "http://ba.test/ 1, http://sub.a.test/ 1, "}}) {
        simulated_web web;
        web.page("http://a.test/d/", "x", "/e", "http://sub.a.test/", "http://ba.test/");
        web.otherwise = [](const std::string&) { return empty_page(); };
        crawl_options options = fast("http://a.test/d/");
        options.scope = each.scope;
        memory_store store;
        co_await crawl(options, web, store);
        EXPECT_EQ(web.summary(), each.pages) << name_of(each.scope);
    }
}

}  // namespace answers_test
