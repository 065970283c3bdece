// SPDX-License-Identifier: MIT
// The rows say what a page waits for: its last attempt, and the times and failures of its host.

#include "program/crawl/crawl_why.hpp"

#include "base/wall_time.hpp"
#include "program/output/text.hpp"

#include <weir/crawl/robots_txt.hpp>

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weir::program {

namespace {

void print_fact(const char* name, const std::string& text) {
    if (!text.empty()) {
        std::printf("  %-12s %s\n", name, shown(text).c_str());
    }
}

std::string times_text(std::uint32_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// 'in 590 s', or nothing if it is over.
std::string wait_text(crawl::timestamp until) {
    const auto left = until - weir::detail::wall_time();
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
    return seconds <= 0 ? std::string() : "in " + std::to_string(seconds) + " s";
}

std::string agent_of(const std::string& identity) {
    constexpr std::string_view name = "agent ";
    const std::size_t at = identity.find(name);
    return at == std::string::npos
               ? std::string("weir-crawl")
               : identity.substr(at + name.size(), identity.find('\n', at) - at - name.size());
}

const crawl::host_row* host_of(const crawl::saved_crawl& saved, const std::string& origin) {
    for (const crawl::host_row& each : saved.hosts) {
        if (each.origin == origin) {
            return &each;
        }
    }
    return nullptr;
}

bool is_disallowed(const crawl::host_row& host, const http::url& url, const std::string& agent) {
    return host.robots == crawl::robots_state::rules &&
           !crawl::robots_txt::parse(host.robots_text, agent).allows(url.target());
}

// What stands between a pending URL and its next request, the most lasting first.
void print_waits(const http::url& url, const crawl::host_row* host,
                 const std::optional<crawl::retry_row>& retry, const std::string& identity) {
    bool has_reason = false;
    const auto print = [&has_reason](const std::string& text) {
        print_fact("waits", text);
        has_reason = true;
    };
    if (retry) {
        const std::string wait = wait_text(retry->due);
        print("for another attempt" + (wait.empty() ? ", which is due" : " " + wait) + ", after " +
              times_text(retry->attempts, "attempt") + "; the last one: " + retry->reason);
    }
    if (host == nullptr) {
        print("for its host, which was not contacted yet");
        return;
    }
    if (!host->given_up.empty()) {
        print("for nothing: its host is given up, and the next run settles it: " + host->given_up);
        return;
    }
    const std::string wait = wait_text(host->not_before);
    if (!wait.empty()) {
        const std::string why =
            host->robots == crawl::robots_state::failed ? "robots.txt fails"
            : host->trips > 0 ? "the breaker is open after " + times_text(host->failures, "failure")
                              : "Retry-After, or the rate";
        print("for its host, which is requested again " + wait + ": " + why);
    }
    const bool obeys = identity.find("robots no\n") == std::string::npos;
    if (obeys && host->robots == crawl::robots_state::failed) {
        print("for robots.txt of its host, which could not be fetched " +
              times_text(host->robots_failures, "time"));
    } else if (obeys && host->robots == crawl::robots_state::unknown) {
        print("for robots.txt of its host, which was not fetched yet");
    } else if (obeys && is_disallowed(*host, url, agent_of(identity))) {
        print("for nothing: robots.txt disallows it, and the next run settles it");
    }
    if (!has_reason) {
        print("for its turn; beyond --max-pages, for a run with a larger limit");
    }
}

void print_page(const crawl::page_record& page) {
    std::printf("%s\n  %s", shown(page.url).c_str(), std::string(name_of(page.state)).c_str());
    if (page.status != 0) {
        std::printf(", status %d", page.status);
    }
    std::printf(", depth %u, found as %s", page.depth, std::string(name_of(page.found_as)).c_str());
    if (page.attempts > 0) {
        std::printf(", %u request%s", page.attempts, page.attempts == 1 ? "" : "s");
    }
    std::printf("\n");
    if (page.error) {
        print_fact("error", std::string(name_of(page.error.kind)) + ": " + page.error.text);
    }
    print_fact("referrer", page.referrer);
    for (const std::string& each : page.redirects) {
        print_fact("redirected by", each);
    }
    print_fact("leads to", page.location);
    print_fact("title", page.title);
    print_fact("type", page.content_type);
}

// The links that lead to the URL, which a rule has refused; kept by crawls with --check.
task<bool> print_refusals(crawl::store& store, const std::string& url) {
    constexpr std::size_t most = 3;
    std::map<crawl::url_id, std::string> places;
    const auto find = [&](const crawl::link_row& each) {
        if (each.refusal != crawl::link_refusal::none && each.url == url) {
            places.emplace(each.page, ":" + std::to_string(each.line) + ":" +
                                          std::to_string(each.column) +
                                          " is refused: " + std::string(name_of(each.refusal)));
        }
        return places.size() < most;
    };
    co_await store.each_link(find);
    if (places.empty()) {
        co_return false;
    }
    const auto print = [&](const crawl::page_record& each) {
        const auto place = places.find(each.id);
        if (place != places.end()) {
            print_fact("the link at", each.url + place->second);
        }
        return true;
    };
    co_await store.each_page(print);
    co_return true;
}

}  // namespace

task<int> explain_url(crawl::store& store, const http::url& url) {
    const crawl::saved_crawl saved = co_await store.peek();
    const std::string& identity = saved.identity;
    const std::optional<crawl::page_record> page = co_await store.find(url.text());
    const crawl::host_row* const host = host_of(saved, url.origin());
    if (page) {
        print_page(*page);
        if (page->state == crawl::page_state::pending) {
            const std::optional<crawl::retry_row> retry = co_await store.retry_of(page->id);
            print_waits(url, host, retry, identity);
        }
        co_return 0;
    }
    std::printf("%s\n  not a URL of this crawl\n", shown(url.text()).c_str());
    const bool is_refused = co_await print_refusals(store, url.text());
    if (!is_refused) {
        print_fact("either", "no page that was fetched links to it");
        print_fact("or",
                   "a rule refuses it: scope, include, exclude, depth, nofollow, a limit "
                   "(crawls with --check keep which)");
    }
    if (host != nullptr && is_disallowed(*host, url, agent_of(identity))) {
        print_fact("besides", "its robots.txt disallows it");
    }
    co_return 1;
}

}  // namespace weir::program
