// SPDX-License-Identifier: MIT
// `weir crawl --check` finds exactly the faults that a site has, whatever the form of the report.

#include "faults.hpp"

#include "site.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <fstream>

namespace faults_test {

using namespace crawl_program_test;

struct reported {
    int code = -1;
    std::string out;
    std::string err;
};

task<reported> check_site(const faulty_site& site, const std::string& format,
                          const std::string& more = "") {
    std::vector<std::string> words = {
        WEIR_PROGRAM,         "crawl",       "--check",
        site.url(),           "--format",    format,
        "--attempts=1",       "--timeout=3", "--allow-address=127.0.0.0/8",
        "--allow-address=::1"};
    if (!more.empty()) {
        words.push_back(more);
    }
    const weir::command_result ended =
        co_await weir_test::run_program(std::move(words), std::vector<std::string>());
    co_return reported{ended.status.code(), ended.out, ended.err};
}

// 'target reason at place', for each place of each broken target.
std::set<std::string> entries_of(const boost::json::value& report) {
    std::set<std::string> all;
    for (const boost::json::value& each : report.at("broken").as_array()) {
        for (const boost::json::value& place : each.at("places").as_array()) {
            const auto number = [&place](const char* name) {
                return std::to_string(place.at(name).to_number<int>());
            };
            const std::string page(place.at("page").as_string());
            const std::string where =
                number("line") == "0" ? page : page + ":" + number("line") + ":" + number("column");
            all.insert(std::string(each.at("url").as_string()) + " at " + where);
        }
    }
    return all;
}

std::string reason_in(const boost::json::value& report, const std::string& target) {
    for (const boost::json::value& each : report.at("broken").as_array()) {
        if (each.at("url").as_string() == target.c_str()) {
            return std::string(each.at("reason").as_string());
        }
    }
    return "(none)";
}

std::size_t count_in(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) {
        ++count;
    }
    return count;
}

TEST(CrawlFaults, FindsExactlyFortyInEveryFormat) {
    const auto body = []() -> task<> {
        const temporary_folder folder;
        faulty_site site;
        std::set<std::string> expected;
        std::set<std::string> targets;
        for (const planted_fault& each : site.faults) {
            expected.insert(each.target + " at " + each.place);
            targets.insert(each.target);
        }
        EXPECT_EQ(targets.size(), 40u);
        const std::string state = "--state=" + (folder / "state").string();
        const reported first = co_await check_site(site, "json", state);
        EXPECT_EQ(first.code, 3) << first.err;
        const boost::json::value report = boost::json::parse(first.out);
        EXPECT_EQ(entries_of(report), expected);
        for (const planted_fault& each : site.faults) {
            const std::string reason = reason_in(report, each.target);
            EXPECT_NE(reason.find(each.reason), std::string::npos) << each.target << ": " << reason;
        }
        EXPECT_EQ(report.at("unknown"), 2);  // 429 and robots.txt
        EXPECT_EQ(site.requests["out HEAD /gone"], 1);
        EXPECT_EQ(site.requests["out GET /gone"], 1);
        EXPECT_EQ(site.requests["out GET /fine"], 0);
        EXPECT_EQ(site.requests.count("GET /comment") + site.requests.count("GET /in-script") +
                      site.requests.count("GET /t") + site.requests.count("GET /text") +
                      site.requests.count("GET /form") + site.requests.count("GET /private/page"),
                  0u);
        // The state is complete: the other forms request nothing.
        const std::size_t requests = site.requests.size();
        const reported text = co_await check_site(site, "text", state);
        const reported junit = co_await check_site(site, "junit", state);
        const reported markdown = co_await check_site(site, "markdown", state);
        const reported csv = co_await check_site(site, "csv", state);
        EXPECT_EQ(site.requests.size(), requests);
        EXPECT_EQ(count_in(junit.out, "<testcase "), 40u);
        EXPECT_EQ(count_in(markdown.out, "\n## "), 40u);
        EXPECT_EQ(count_in(csv.out, "\r\n"), 1 + expected.size());
        EXPECT_NE(text.out.find("40 broken, 0 accepted, 2 unknown"), std::string::npos) << text.out;
        for (const planted_fault& each : site.faults) {
            EXPECT_NE(text.out.find("\n  at " + each.place + "\n"), std::string::npos)
                << each.place;
            EXPECT_NE(junit.out.find(each.place), std::string::npos) << each.place;
            EXPECT_NE(markdown.out.find("- " + each.place), std::string::npos) << each.place;
        }
        for (const reported* const each : {&text, &junit, &markdown, &csv}) {
            EXPECT_EQ(each->code, 3);
        }
        // Known faults are accepted, the others are not.
        {
            std::ofstream baseline(folder / "known.txt");
            for (const std::string& each : targets) {
                baseline << (each == *targets.begin() ? "# " : "") << each << "\n";
            }
        }
        std::vector<std::string> words = {
            WEIR_PROGRAM, "crawl", "--check", state, "--baseline", (folder / "known.txt").string()};
        const weir::command_result one =
            co_await weir_test::run_program(words, std::vector<std::string>());
        EXPECT_EQ(one.status.code(), 3) << one.err;
        EXPECT_NE(one.out.find("1 broken, 39 accepted"), std::string::npos) << one.out;
        std::ofstream(folder / "known.txt", std::ios::app) << *targets.begin() << "\n";
        const weir::command_result none =
            co_await weir_test::run_program(words, std::vector<std::string>());
        EXPECT_EQ(none.status.code(), 0) << none.out;
        co_await site.stop();
    };
    weir::run(body());
}

}  // namespace faults_test
