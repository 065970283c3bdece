// SPDX-License-Identifier: MIT
// A list of URLs with a rate limit: fetches each once, ten a second for each host, retries what
// fails for a time, and prints what became of it. Nothing is followed: the depth is 0.

#include <weir/crawl/crawler.hpp>
#include <weir/crawl/http_fetcher.hpp>
#include <weir/crawl/memory_store.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/weir.hpp>

#include <chrono>
#include <cstdio>
#include <string>

using namespace std::chrono_literals;

// Fails the first time that '/busy' is asked for; '/gone' is not there.
weir::http::response answer(weir::http::request& request) {
    static int busy = 0;
    if (request.path() == "/busy" && ++busy == 1) {
        return weir::http::response(weir::http::status::service_unavailable);
    }
    if (request.path() == "/robots.txt" || request.path() == "/gone") {
        return weir::http::response(weir::http::status::not_found);
    }
    return weir::http::response::text("here");
}

weir::task<> fetch_list(std::string base) {
    weir::crawl::crawl_options options;
    for (const char* const each : {"/a", "/b", "/busy", "/gone", "/a"}) {
        options.seeds.push_back(base + each);  // '/a' twice: it is fetched once
    }
    options.max_depth = 0;
    options.rate = 50;
    options.retry_delay = 10ms;
    weir::crawl::memory_store store;
    weir::crawl::http_fetcher fetcher(options, weir::http::address_filter::any());
    weir::crawl::crawler crawler(options, fetcher, store);
    const weir::crawl::crawl_summary summary = co_await crawler.run();
    const auto print = [&base](const weir::crawl::page_record& page) {
        std::printf("%-6s %s, status %d, %u requests\n", page.url.substr(base.size()).c_str(),
                    std::string(name_of(page.state)).c_str(), page.status, page.attempts);
        return true;
    };
    co_await store.each_page(print);
    const bool is_polite = summary.time >= 100ms;  // six requests, 20 ms apart
    std::printf("%s\n", is_polite ? "at most 50 requests a second" : "too fast");
}

weir::task<> run() {
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    const std::string base = "http://" + listener.local_address().text();
    auto server = weir::spawn(weir::http::serve(std::move(listener), answer));
    co_await fetch_list(base);
    server.cancel();
    co_await server.wait();
}

int main() {
    weir::run(run());
}
