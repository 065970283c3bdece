// SPDX-License-Identifier: MIT
// A web in virtual time: pages with links, delays and faults, and a count of what was requested.
#pragma once

#include <weir/crawl/crawler.hpp>
#include <weir/crawl/fetcher.hpp>
#include <weir/crawl/memory_store.hpp>
#include <weir/testing/testing.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crawl_test {

using namespace weir::crawl;
using namespace std::chrono_literals;
using weir::task;

struct answer {
    int status = 200;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
    weir::clock::duration delay = 10ms;
    page_error error;
    bool is_local_fault = false;

    answer() = default;
    explicit answer(std::string html) : body(std::move(html)) {}
    answer& with(std::string name, std::string value) {
        headers.emplace_back(std::move(name), std::move(value));
        return *this;
    }
    answer& after(weir::clock::duration time) {
        delay = time;
        return *this;
    }
    static answer of_status(int code) {
        answer made;
        made.status = code;
        return made;
    }
    static answer redirect(std::string to, int code = 302) {
        return of_status(code).with("Location", std::move(to));
    }
    static answer failure(error_kind kind) {
        answer made;
        made.status = 0;
        made.error =
            page_error(kind, fetch_stage::connect, "simulated " + std::string(name_of(kind)));
        return made;
    }
};

inline answer empty_page() {
    return answer("<!doctype html><title>t</title>");
}

inline std::string links_to(const std::vector<std::string>& urls) {
    std::string html = "<!doctype html><title>t</title>";
    for (const std::string& each : urls) {
        html += "<a href=\"" + each + "\">x</a>\n";
    }
    return html;
}

class simulated_web final : public fetcher {
public:
    struct request {
        std::string url;
        weir::clock::time_point when;
        weir::http::headers headers;
        bool is_head;
    };

    void set(const std::string& url, answer given) { pages_[url] = std::move(given); }
    // A page with links. No braces: GCC 12 cannot copy arrays of strings into coroutines.
    template <class... Links>
    void page(const std::string& url, const Links&... links) {
        pages_[url] = answer(links_to({std::string(links)...}));
    }
    void page(const std::string& url, const std::vector<std::string>& links) {
        pages_[url] = answer(links_to(links));
    }

    task<fetch_result> fetch(fetch_request request) override {
        const std::string url = request.url.text();
        requests.push_back({url, weir::now(), request.headers, request.body == body_wish::head});
        ++in_flight;
        most_in_flight = std::max(most_in_flight, in_flight);
        struct leave {
            simulated_web& web;
            ~leave() { --web.in_flight; }
        };
        const leave guard{*this};
        answer given = answer_for(url);
        fetch_result result;
        const auto began = weir::now();
        if (given.delay > request.timeout) {
            co_await weir::sleep(request.timeout);
            result.error = page_error(error_kind::timeout, fetch_stage::head, "simulated timeout");
        } else {
            co_await weir::sleep(given.delay);
            result.status = given.status;
            result.error = given.error;
            result.is_local_fault = given.is_local_fault;
            for (const auto& [name, value] : given.headers) {
                result.headers.add(name, value);
            }
            result.headers.set_default("Content-Type", "text/html; charset=utf-8");
            if (given.status == 200 && request.body != body_wish::head) {
                result.body = given.body;
                result.has_body = true;
                result.wire_bytes = given.body.size();
            }
        }
        result.total = result.ttfb = weir::now() - began;
        co_return result;
    }
    task<std::string> address_of(weir::http::url of) override {
        const auto found = addresses.find(std::string(of.host()));
        co_return found == addresses.end() ? std::string(of.host()) : found->second;
    }

    // The pages that were requested, robots.txt apart, in the order of their names: 'URL count, '.
    std::string summary() const {
        std::string text;
        for (const auto& [url, count] : counts()) {
            text += url + " " + std::to_string(count) + ", ";
        }
        return text;
    }
    std::map<std::string, int> counts() const {
        std::map<std::string, int> all;
        for (const request& each : requests) {
            if (!each.url.ends_with("/robots.txt")) {
                ++all[each.url];
            }
        }
        return all;
    }
    int count(const std::string& url) const {
        return static_cast<int>(
            std::count_if(requests.begin(), requests.end(),
                          [&](const request& each) { return each.url == url; }));
    }
    const request* first(const std::string& url) const {
        const auto found = std::find_if(requests.begin(), requests.end(),
                                        [&](const request& each) { return each.url == url; });
        return found == requests.end() ? nullptr : &*found;
    }

    std::vector<request> requests;
    std::map<std::string, std::string> addresses;  // of host names
    std::function<std::optional<answer>(const std::string&)> otherwise;
    int in_flight = 0;
    int most_in_flight = 0;

private:
    answer answer_for(const std::string& url) const {
        const auto found = pages_.find(url);
        if (found != pages_.end()) {
            return found->second;
        }
        if (otherwise) {
            if (std::optional<answer> given = otherwise(url)) {
                return *given;
            }
        }
        return answer::of_status(404);
    }

    std::map<std::string, answer> pages_;
};

// A fetcher to be owned by what is tested, of a web that the test owns.
class view_of_web final : public fetcher {
public:
    explicit view_of_web(simulated_web& web) : web_(web) {}
    task<fetch_result> fetch(fetch_request request) override {
        return web_.fetch(std::move(request));
    }
    task<std::string> address_of(weir::http::url of) override {
        return web_.address_of(std::move(of));
    }

private:
    simulated_web& web_;
};

// Options of a fast crawl: no rate, no retries.
template <class... Seeds>
crawl_options fast(const Seeds&... seeds) {
    crawl_options options;
    (options.seeds.emplace_back(seeds), ...);
    options.rate = 0;
    options.max_attempts = 1;
    return options;
}

inline task<crawl_summary> crawl(const crawl_options& options, simulated_web& web, store& to) {
    crawler one(options, web, to);
    crawl_summary summary = co_await one.run();
    co_return summary;
}

inline task<std::map<std::string, page_record>> pages_of(store& of) {
    std::map<std::string, page_record> all;
    const auto keep = [&all](const page_record& each) {
        all.emplace(each.url, each);
        return true;
    };
    co_await of.each_page(keep);
    co_return all;
}

// The counts are those of the rows in the store.
inline task<> expect_sums(counters totals, store& of) {
    std::map<page_state, std::uint64_t> rows;
    const auto count = [&rows](const page_record& each) {
        ++rows[each.state];
        return true;
    };
    co_await of.each_page(count);
    EXPECT_EQ(totals.done, rows[page_state::done]);
    EXPECT_EQ(totals.failed, rows[page_state::failed]);
    EXPECT_EQ(totals.skipped, rows[page_state::skipped]);
    EXPECT_EQ(totals.pending(), rows[page_state::pending]);
}

// Those that were committed with the rows; at any moment, also while a crawl runs.
inline task<> expect_stored_sums(const crawl_options& options, store& of) {
    const saved_crawl saved = co_await of.open(options.identity(), false);
    co_await expect_sums(saved.totals, of);
}

}  // namespace crawl_test
