// SPDX-License-Identifier: MIT
// The handler 'crawl': payloads, results, progress, pauses, states, and hosts that it shares with
// deliveries. In simulated time with a simulated web where no file is involved.

#include "support.hpp"
#include <crawl/engine/support.hpp>
#include <http/client/recording_site.hpp>
#include <service/engine/support.hpp>
#include <support/peers/program.hpp>

#include <weir/http/host_policies.hpp>
#include <weir/run.hpp>
#include <weir/service/handlers/crawl_tasks.hpp>
#include <weir/service/handlers/http_delivery.hpp>

#include <gtest/gtest.h>

#include <filesystem>

namespace crawl_tasks_test {

namespace crawl = weir::crawl;
namespace http = weir::http;
namespace service = weir::service;
namespace json = boost::json;
using namespace std::chrono_literals;
using crawl_test::answer;
using crawl_test::simulated_web;
using handlers_test::outcome_of;
using handlers_test::task_with;
using weir::task;

service::crawl_tasks_options options_for(simulated_web& web, http::host_policies* hosts = nullptr) {
    service::crawl_tasks_options options;
    options.hosts = hosts;
    options.make_fetcher = [&web](const crawl::crawl_options&) {
        return std::make_unique<crawl_test::view_of_web>(web);
    };
    return options;
}

void make_site(simulated_web& web) {
    web.page("http://a.test/", "/b", "/missing", "http://c.test/away");
    web.page("http://a.test/b", "/");
}

std::string refusal_of(const std::string& payload) {
    try {
        service::crawl_tasks::check(http::parse_json(payload));
    } catch (const service::permanent_failure& error) {
        return error.what();
    }
    return "";
}

TEST(CrawlTasks, InvalidPayloadsNameTheMember) {
    const auto expect = [](const std::string& payload, const std::string& part) {
        EXPECT_NE(refusal_of(payload).find(part), std::string::npos)
            << payload << " gives " << refusal_of(payload);
    };
    expect("[]", "must be an object with at least urls");
    expect("{}", "urls is missing");
    expect(R"({"urls":[]})", "urls is missing");
    expect(R"({"urls":"http://a.test/"})", "urls is \"http://a.test/\"; it must be a list");
    expect(R"({"urls":["ftp://a.test/"]})", "urls is \"ftp://a.test/\"; it must be an http");
    expect(R"({"urls":["http://["]})", "it must be an http or https URL");
    const auto with = [](const std::string& member) {
        return R"({"urls":["http://a.test/"],)" + member + "}";
    };
    expect(with(R"("dept":1)"), "the member dept is unknown; expected: urls, ");
    expect(with(R"("depth":-1)"), "depth is -1; it must be a whole number from 0 to 1000000000");
    expect(with(R"("depth":1.5)"), "depth is 1.5E0; it must be a whole number");
    expect(with(R"("max_pages":0)"), "max_pages is 0; it must be a whole number from 1");
    expect(with(R"("rate":"fast")"), "rate is \"fast\"; it must be a number from 0.001");
    expect(with(R"("rate":0)"), "rate is 0; it must be");
    expect(with(R"("concurrency":1000)"), "concurrency is 1000; it must be a whole number from 1");
    expect(with(R"("scope":"planet")"), "scope is \"planet\"; it must be host, domain, prefix");
    expect(with(R"("include":"*")"), "include is \"*\"; it must be a list of texts");
    expect(with(R"("exclude":[""])"), "exclude is \"\"; it must be a list of texts");
    expect(with(R"("check":1)"), "check is 1; it must be true or false");
    expect(with(R"("accept":"9")"), "accept is \"9\"; it must be statuses");
    expect(with(R"("sitemap":"x")"), "sitemap is \"x\"; it must be true");
    expect(with(R"("headers":{"Host":"b.test"})"), "without headers of the connection");
    expect(with(R"("headers":{"X-Y":"a\r\nb"})"), "headers is");
    expect(with(R"("contact":"a\nb")"), "contact is");
    EXPECT_EQ(refusal_of(with(R"("depth":3,"check":true,"sitemap":true,"headers":{"X-Y":"z"})")),
              "");
    EXPECT_EQ(refusal_of(with(R"("delay":0.5,"timeout":2.5)")), "");
}

WEIR_TEST(CrawlTasks, TheResultHasCountsAndFailedPages) {
    simulated_web web;
    make_site(web);
    service::crawl_tasks crawls(options_for(web));
    const auto run = [&](service::job& job) { return crawls.run(job); };
    const std::string result =
        co_await outcome_of(task_with(R"({"urls":["http://a.test/"],"attempts":1})"), run);
    const json::value parsed = http::parse_json(result);
    EXPECT_EQ(parsed.at("ended_by"), "complete");
    EXPECT_EQ(parsed.at("urls").at("done"), 2);
    EXPECT_EQ(parsed.at("urls").at("failed"), 1);
    EXPECT_EQ(parsed.at("not_followed").at("scope"), 1);
    EXPECT_EQ(parsed.at("failed_count"), 1);
    EXPECT_EQ(parsed.at("failed").at(0).at("url"), "http://a.test/missing");
    EXPECT_EQ(parsed.at("failed").at(0).at("error"), "http_4xx");
    EXPECT_EQ(parsed.at("failed").at(0).at("referrer"), "http://a.test/");
    EXPECT_EQ(parsed.at("is_cut"), false);
}

WEIR_TEST(CrawlTasks, ACheckListsBrokenLinksUpToALimit) {
    simulated_web web;
    std::vector<std::string> links;
    for (int i = 0; i < 30; ++i) {
        links.push_back("/missing" + std::to_string(i));
    }
    web.page("http://a.test/", links);
    service::crawl_tasks crawls(options_for(web));
    const auto run = [&](service::job& job) { return crawls.run(job); };
    const std::string result = co_await outcome_of(
        task_with(R"({"urls":["http://a.test/"],"check":true,"max_listed":20})"), run);
    const json::value parsed = http::parse_json(result);
    EXPECT_EQ(parsed.at("broken_count"), 30);
    EXPECT_EQ(parsed.at("broken").as_array().size(), 20u);
    EXPECT_EQ(parsed.at("is_cut"), true);
    const json::value& first = parsed.at("broken").at(0);
    EXPECT_EQ(first.at("url"), "http://a.test/missing0");
    EXPECT_EQ(first.at("status"), 404);
    EXPECT_EQ(first.at("places").at(0).at("page"), "http://a.test/");
    EXPECT_EQ(first.at("places").at(0).at("line"), 1);
}

WEIR_TEST(CrawlTasks, AnUnreachableSiteIsAFailure) {
    simulated_web web;
    web.otherwise = [](const std::string&) { return answer::failure(crawl::error_kind::connect); };
    service::crawl_tasks crawls(options_for(web));
    const auto run = [&](service::job& job) { return crawls.run(job); };
    const std::string ended =
        co_await outcome_of(task_with(R"({"urls":["http://a.test/"],"attempts":1})"), run);
    EXPECT_TRUE(ended.starts_with("failed: crawl: no URL could be fetched; http://a.test/: "))
        << ended;
}

// ---- in a service

WEIR_TEST(CrawlTasks, ReportProgressAndCanBeCancelled) {
    simulated_web web;
    std::vector<std::string> links;
    for (int i = 0; i < 100; ++i) {
        links.push_back("/p" + std::to_string(i));
    }
    web.page("http://a.test/", links);
    web.otherwise = [](const std::string& url) {
        return url.ends_with("robots.txt") ? answer::of_status(404) : crawl_test::empty_page();
    };
    service::crawl_tasks crawls(options_for(web));
    service::memory_store store;
    service::service tasks(store);
    tasks.handle(
        "crawl", [&](service::job& job) { return crawls.run(job); }, &service::crawl_tasks::check);
    service::testing::started running(tasks);
    const service::task_id id = co_await service::testing::submit(
        tasks, "crawl", R"({"urls":["http://a.test/"],"rate":10})");
    co_await weir::sleep(5s);
    const service::task_record half = co_await service::testing::record_of(store, id);
    EXPECT_EQ(half.state, service::task_state::running);
    EXPECT_GT(half.progress, 0.2);
    EXPECT_LT(half.progress, 0.8);
    EXPECT_NE(half.message.find(" done, 0 failed, 0 skipped, "), std::string::npos) << half.message;
    const std::size_t before = web.requests.size();
    co_await tasks.cancel(id);
    co_await weir::sleep(3s);
    const service::task_record ended = co_await service::testing::record_of(store, id);
    EXPECT_EQ(ended.state, service::task_state::cancelled);
    EXPECT_LE(web.requests.size(), before + 10);
    bool is_refused = false;
    try {
        co_await service::testing::submit(tasks, "crawl", R"({"urls":[]})");
    } catch (const weir::invalid_argument& error) {
        is_refused = std::string(error.what()).find("urls is missing") != std::string::npos;
    }
    EXPECT_TRUE(is_refused);
    co_await running.end();
}

// ---- hosts that deliveries use as well

http::host_policies_options shared_limits() {
    http::host_policies_options options;
    options.key = http::host_key::origin;
    options.rate = 4;
    options.burst = 1;
    options.max_attempts = 1;
    options.consecutive_failures = 3;
    options.max_retry_after = std::chrono::hours(1);
    return options;
}

struct plain_answer {
    plain_answer() = default;
    http::status status() const noexcept { return code; }
    const http::headers& headers() const noexcept { return fields; }
    http::status code = http::status::ok;
    http::headers fields;
};

WEIR_TEST(CrawlTasks, OneRateForCrawlsAndOthers) {
    simulated_web web;
    std::vector<std::string> links;
    for (int i = 0; i < 20; ++i) {
        links.push_back("/p" + std::to_string(i));
    }
    web.page("http://a.test/", links);
    web.otherwise = [](const std::string& url) {
        return url.ends_with("robots.txt") ? answer::of_status(404) : crawl_test::empty_page();
    };
    http::host_policies hosts(shared_limits());
    service::crawl_tasks crawls(options_for(web, &hosts));
    const http::url to = http::url::parse("http://a.test/hook");
    std::vector<weir::clock::time_point> starts;
    const auto deliver = [&]() -> task<plain_answer> {
        starts.push_back(weir::now());
        plain_answer made;
        co_return made;
    };
    const auto others = [&]() -> task<> {
        for (int i = 0; i < 10; ++i) {
            co_await hosts.run(to, http::repeatable::never, deliver);
        }
    };
    auto delivering = weir::spawn(others());
    const auto run = [&](service::job& job) { return crawls.run(job); };
    const std::string result =
        co_await outcome_of(task_with(R"({"urls":["http://a.test/"],"rate":100})"), run);
    co_await delivering.wait();
    EXPECT_EQ(http::parse_json(result).at("urls").at("done"), 21) << result;
    for (const auto& each : web.requests) {
        starts.push_back(each.when);
    }
    std::sort(starts.begin(), starts.end());
    EXPECT_EQ(starts.size(), 32u);  // with robots.txt
    for (std::size_t i = 5; i < starts.size(); ++i) {
        EXPECT_GE(starts[i] - starts[i - 5], 1s) << i;
    }
}

WEIR_TEST(CrawlTasks, ACrawlWaitsForACircuitThatDeliveriesHaveOpened) {
    simulated_web web;
    make_site(web);
    http::host_policies hosts(shared_limits());
    service::crawl_tasks crawls(options_for(web, &hosts));
    const http::url to = http::url::parse("http://a.test/hook");
    const auto fail = []() -> task<plain_answer> {
        plain_answer made;
        made.code = http::status::service_unavailable;
        co_return made;
    };
    for (int i = 0; i < 3; ++i) {
        co_await hosts.run(to, http::repeatable::never, fail);
    }
    const weir::clock::time_point opened = weir::now();
    const auto run = [&](service::job& job) { return crawls.run(job); };
    const std::string result =
        co_await outcome_of(task_with(R"({"urls":["http://a.test/"],"attempts":1})"), run);
    EXPECT_EQ(http::parse_json(result).at("urls").at("done"), 2) << result;
    EXPECT_GE(web.requests.front().when - opened, 29s);
}

// ---- with states in files

class numbered_pages {
public:
    explicit numbered_pages(int count)
        : count_(count), site_(weir::io::address::loopback(0), [this](http::request& request) {
              return answer_to(std::string(request.path()));
          }) {}
    std::string payload(const std::string& more) const {
        return R"({"urls":[")" + site_.url("127.0.0.1", "/0") + R"(")" + "]" + more + "}";
    }
    task<> stop() { return site_.stop(); }
    std::map<std::string, int> requests;
    bool is_down = false;

private:
    http::response answer_to(const std::string& path) {
        if (path == "/robots.txt") {
            return http::response(http::status::not_found);
        }
        ++requests[path];
        if (is_down) {
            return http::response(http::status::not_found);
        }
        const int number = std::atoi(path.c_str() + 1);
        std::string html;
        for (int i = 1; i <= 3; ++i) {
            html += "<a href='/" + std::to_string((number * 2 + i) % count_) + "'>x</a>";
        }
        http::response made = http::response::text(html);
        made.headers().set("Content-Type", "text/html");
        return made;
    }

    int count_;
    weir_test::recording_site site_;
};

http::address_filter with_loopback() {
    http::address_filter filter = http::address_filter::public_only();
    filter.allow("127.0.0.0/8");
    return filter;
}

service::crawl_tasks_options in_folder(const weir_test::temporary_folder& folder) {
    service::crawl_tasks_options options;
    options.folder = (folder / "crawls").string();
    return options;
}

TEST(CrawlTasks, PrivateAddressesAreRefused) {
    const auto body = []() -> task<> {
        const weir_test::temporary_folder folder;
        numbered_pages site(3);
        service::crawl_tasks crawls(in_folder(folder));
        const auto run = [&](service::job& job) { return crawls.run(job); };
        const std::string ended =
            co_await outcome_of(task_with(site.payload(R"(,"rate":1000)")), run);
        EXPECT_NE(ended.find("failed: crawl: no URL could be fetched"), std::string::npos) << ended;
        EXPECT_NE(ended.find("127.0.0.1"), std::string::npos) << ended;
        EXPECT_TRUE(site.requests.empty());
        co_await site.stop();
    };
    weir::run(body());
}

// Both ways: what a crawl learnt holds a delivery, without an attempt and without a request.
TEST(CrawlTasks, ARetryAfterThatACrawlGotHoldsDeliveries) {
    const auto body = []() -> task<> {
        int hooks = 0;
        const auto busy = [&hooks](http::request& request) {
            hooks += request.path() == "/hook" ? 1 : 0;
            http::response made(request.path() == "/robots.txt" ? http::status::not_found
                                                                : http::status::too_many_requests);
            made.headers().set("Retry-After", "100");
            return made;
        };
        weir_test::recording_site site(weir::io::address::loopback(0), busy);
        http::host_policies hosts(shared_limits());
        service::crawl_tasks_options settings;
        settings.hosts = &hosts;
        service::crawl_tasks crawls(settings, with_loopback());
        const service::task_record crawl_task = task_with(
            R"({"urls":[")" + site.url("127.0.0.1", "/") + R"("],"attempts":1,"rate":1000})");
        const auto run = [&](service::job& job) { return crawls.run(job); };
        const std::string ended = co_await outcome_of(crawl_task, run);
        EXPECT_NE(ended.find("status 429"), std::string::npos) << ended;
        service::http_delivery_options options;
        options.shared = &hosts;
        service::http_delivery delivery(options, with_loopback());
        const service::task_record hook_task =
            task_with(R"({"url":")" + site.url("127.0.0.1", "/hook") + R"("})");
        const auto deliver = [&](service::job& job) { return delivery.deliver(job); };
        const std::string held = co_await outcome_of(hook_task, deliver);
        EXPECT_EQ(held, "postponed: " + site.url("127.0.0.1", "") + " must not be used now");
        EXPECT_EQ(hooks, 0);
        co_await site.stop();
    };
    weir::run(body());
}

// A run that is stopped, and one whose timeout comes near, leave a state that the next one
// continues.
TEST(CrawlTasks, RunsContinueOneAnother) {
    const auto body = []() -> task<> {
        const weir_test::temporary_folder folder;
        constexpr int count = 120;
        numbered_pages site(count);
        service::crawl_tasks crawls(in_folder(folder), with_loopback());
        service::task_record task = task_with(site.payload(R"(,"rate":200)"));
        {
            const auto stopped = [&]() -> weir::task<> {
                service::job job(task);
                co_await crawls.run(job);
            };
            auto running = weir::spawn(stopped());
            while (site.requests.size() < 20) {
                co_await weir::sleep(1ms);
            }
            running.cancel();
            co_await running.wait();
        }
        EXPECT_LT(site.requests.size(), static_cast<std::size_t>(count));
        EXPECT_TRUE(std::filesystem::exists(crawls.path_of(task.id)));
        std::string reason;
        {
            service::job job(task, weir::now() + 100ms);
            try {
                co_await crawls.run(job);
            } catch (const service::postponed& pause) {
                reason = pause.what();
            }
        }
        EXPECT_TRUE(reason.starts_with("the crawl continues: ")) << reason;
        EXPECT_LT(site.requests.size(), static_cast<std::size_t>(count));
        service::job job(task);
        const json::value result = co_await crawls.run(job);
        EXPECT_EQ(result.at("urls").at("done"), count);
        int repeated = 0;
        for (const auto& [path, times] : site.requests) {
            repeated += times - 1;
        }
        EXPECT_LE(repeated, 2 * 8);  // what was in flight at the two stops
        const std::map<std::string, int> before = site.requests;
        // Once more, as after a crash between the last page and the result: nothing is requested.
        service::job after(task);
        const json::value again = co_await crawls.run(after);
        EXPECT_EQ(again, result);
        EXPECT_EQ(site.requests, before);
        co_await site.stop();
    };
    weir::run(body());
}

TEST(CrawlTasks, ARetryFetchesFailedPagesAgain) {
    const auto body = []() -> task<> {
        const weir_test::temporary_folder folder;
        numbered_pages site(5);
        service::crawl_tasks crawls(in_folder(folder), with_loopback());
        service::task_record task = task_with(site.payload(R"(,"rate":1000)"));
        const auto run = [&](service::job& job) { return crawls.run(job); };
        site.is_down = true;
        const std::string failed = co_await outcome_of(task, run);
        EXPECT_NE(failed.find("status 404"), std::string::npos) << failed;
        site.is_down = false;
        task.failures = 1;
        task.error = failed;
        const std::string done = co_await outcome_of(task, run);
        EXPECT_NE(done.find("\"done\":5"), std::string::npos) << done;
        co_await site.stop();
    };
    weir::run(body());
}

TEST(CrawlTasks, StatesOfFinishedTasksAreRemoved) {
    const auto body = []() -> task<> {
        const weir_test::temporary_folder folder;
        numbered_pages site(5);
        service::crawl_tasks crawls(in_folder(folder), with_loopback());
        service::memory_store store;
        service::service tasks(store);
        tasks.handle("crawl", [&](service::job& job) { return crawls.run(job); });
        service::testing::started running(tasks);
        const service::task_id id =
            co_await service::testing::submit(tasks, "crawl", site.payload(R"(,"rate":1000)"));
        for (;;) {
            const service::task_record now = co_await service::testing::record_of(store, id);
            if (now.state == service::task_state::completed) {
                break;
            }
            EXPECT_NE(now.state, service::task_state::failed) << now.error;
            co_await weir::sleep(5ms);
        }
        const std::string path = crawls.path_of(id);
        EXPECT_TRUE(std::filesystem::exists(path));
        const std::string unknown = crawls.path_of(service::next_id(id, 0));
        const std::string other = (folder / "crawls" / "notes.txt").string();
        for (const std::string& each : {unknown, other}) {
            std::ofstream(each) << "x";
        }
        service::new_task later("crawl", site.payload(R"(,"rate":1000)"));
        later.run_at = tasks.now() + 1h;
        const service::task_id waiting = co_await service::testing::submit(tasks, std::move(later));
        std::ofstream(crawls.path_of(waiting)) << "x";
        co_await crawls.remove_finished(tasks);
        EXPECT_FALSE(std::filesystem::exists(path));
        EXPECT_FALSE(std::filesystem::exists(unknown));
        EXPECT_TRUE(std::filesystem::exists(crawls.path_of(waiting)));
        EXPECT_TRUE(std::filesystem::exists(other));
        co_await running.end();
        co_await site.stop();
    };
    weir::run(body());
}

}  // namespace crawl_tasks_test
