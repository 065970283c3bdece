// SPDX-License-Identifier: MIT
// A site with planted faults: the report has exactly those, with their places.

#include <crawl/engine/support.hpp>

#include <weir/crawl/link_report.hpp>
#include <weir/error.hpp>

namespace link_report_test {

using namespace crawl_test;

crawl_options checking() {
    crawl_options options = fast("http://a.test/");
    options.fetch_assets = options.check_external = options.record_links = true;
    options.follow_nofollow = true;
    return options;
}

std::string brief(const link_report& report) {
    std::string text;
    for (const broken_target& each : report.broken) {
        text += each.url + " [" + each.reason + "]";
        for (const link_place& place : each.places) {
            text += " " + place.page + ":" + std::to_string(place.line) + ":" +
                    std::to_string(place.column);
        }
        text += "\n";
    }
    return text;
}

void make_site(simulated_web& web) {
    web.set("http://a.test/", answer("<p id=here>\n<a href='/gone'>x</a>\n"
                                     "  <a href='#here'>x</a><a href='#nowhere'>x</a>\n"
                                     "<a href='/b#part'>x</a><a href='/b#missing'>x</a>\n"
                                     "<img src='/no.png'><a href='http://out.test/dead'>x</a>\n"
                                     "<a href='http://out.test/fine'>x</a>\n"
                                     "<a href='/moved'>x</a><a href='http://['>x</a>\n"
                                     "<a href='/busy'>x</a><a href='mailto:a@b'>x</a>\n"));
    web.set("http://a.test/b",
            answer("<a name=part></a><a href='/gone'>x</a><a href='/b#top'>t</a>"));
    web.set("http://a.test/moved", answer::redirect("/gone2"));
    web.set("http://a.test/busy", answer::of_status(429));
    web.set("http://out.test/fine", answer("<a href='/never'>x</a>"));
    web.set("http://out.test/dead", answer::of_status(410));
}

WEIR_TEST(CrawlLinkReport, FindsExactlyThePlantedFaults) {
    simulated_web web;
    make_site(web);
    memory_store store;
    co_await crawl(checking(), web, store);
    link_report_options options;
    const link_report report = co_await make_link_report(store, options);
    EXPECT_EQ(brief(report),
              "http://[ [not a valid URL] http://a.test/:7:32\n"
              "http://a.test/#nowhere [the page has no element with this id] http://a.test/:3:33\n"
              "http://a.test/b#missing [the page has no element with this id] http://a.test/:4:33\n"
              "http://a.test/gone [the server answered with status 404] http://a.test/:2:10 "
              "http://a.test/b:1:27\n"
              "http://a.test/moved [redirects to http://a.test/gone2: the server answered with "
              "status 404] http://a.test/:7:10\n"
              "http://a.test/no.png [the server answered with status 404] http://a.test/:5:11\n"
              "http://out.test/dead [the server answered with status 410] http://a.test/:5:29\n");
    EXPECT_EQ(report.unknown, 1u);
    EXPECT_EQ(web.count("http://out.test/never"), 0);
    EXPECT_EQ(web.count("http://out.test/fine"), 1);
}

WEIR_TEST(CrawlLinkReport, AcceptedStatusesAndTheBaselineAreNotBroken) {
    simulated_web web;
    web.page("http://a.test/", "/gone", "/forbidden", "/new");
    web.set("http://a.test/forbidden", answer::of_status(403));
    memory_store store;
    co_await crawl(checking(), web, store);
    link_report_options options;
    options.accepted = parse_statuses("403");
    options.baseline.emplace_back("http://a.test/gone");
    const link_report report = co_await make_link_report(store, options);
    EXPECT_EQ(report.accepted, 1u);
    EXPECT_EQ(report.broken.size(), 1u);
    EXPECT_EQ(report.broken.front().url, "http://a.test/new");
}

WEIR_TEST(CrawlLinkReport, ASeedThatFailsIsBroken) {
    simulated_web web;
    memory_store store;
    co_await crawl(checking(), web, store);
    link_report_options options;
    const link_report report = co_await make_link_report(store, options);
    EXPECT_EQ(report.broken.size(), 1u);
    EXPECT_TRUE(report.broken.front().places.front().page.empty());
}

TEST(CrawlLinkReport, Statuses) {
    EXPECT_EQ(parse_statuses("200..299,403"),
              (std::vector<std::pair<int, int>>{{200, 299}, {403, 403}}));
    EXPECT_TRUE(parse_statuses("").empty());
    for (const char* const bad : {"x", "99", "200..", "200-299", "200,,300"}) {
        EXPECT_THROW(parse_statuses(bad), weir::invalid_argument) << bad;
    }
}

link_report small_report() {
    link_report report;
    report.targets = 2;
    report.links = 3;
    report.pages = 1;
    broken_target target;
    target.url = "http://a/?a=1&b=\"2\"";
    target.reason = "the server answered with status 404";
    target.status = 404;
    link_place place;
    place.page = "http://a/";
    place.line = 3;
    place.column = 7;
    target.places.push_back(place);
    report.broken.push_back(target);
    return report;
}

TEST(CrawlLinkReport, Formats) {
    const link_report report = small_report();
    EXPECT_EQ(format_report(report, "text"),
              "http://a/?a=1&b=\"2\"\n  the server answered with status 404\n  at http://a/:3:7\n"
              "1 broken, 0 accepted, 0 unknown of 2 URLs; 3 links on 1 pages\n");
    EXPECT_EQ(format_report(report, "csv"),
              "url,status,reason,page,line,column,kind\r\n"
              "\"http://a/?a=1&b=\"\"2\"\"\",404,\"the server answered with status 404\","
              "\"http://a/\",3,7,anchor\r\n");
    EXPECT_NE(format_report(report, "junit").find("name=\"http://a/?a=1&amp;b=&quot;2&quot;\""),
              std::string::npos);
    EXPECT_NE(format_report(report, "markdown").find("- http://a/:3:7\n"), std::string::npos);
    EXPECT_NE(format_report(report, "json").find("\"line\":3,\"column\":7"), std::string::npos);
    EXPECT_THROW(format_report(report, "yaml"), weir::invalid_argument);
}

}  // namespace link_report_test
