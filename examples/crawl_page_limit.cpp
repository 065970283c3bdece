// SPDX-License-Identifier: MIT
// A concurrent scraper with a page limit: follows links from a start page, extracts something from
// each page, and stops after exactly so many pages. Here the site is a server in the same program.

#include <weir/crawl/crawler.hpp>
#include <weir/crawl/http_fetcher.hpp>
#include <weir/crawl/memory_store.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/weir.hpp>

#include <cstdio>
#include <map>
#include <string>

// A page with a price and links to others: a shop without end.
weir::http::response shop(weir::http::request& request) {
    if (request.path() == "/robots.txt") {
        return weir::http::response(weir::http::status::not_found);
    }
    const int number = std::atoi(std::string(request.path()).c_str() + 1);
    std::string html = "<title>Item " + std::to_string(number) + "</title>";
    for (int i = 1; i <= 5; ++i) {
        html += "<a href='/" + std::to_string(number * 5 + i) + "'>more</a>";
    }
    weir::http::response page = weir::http::response::text(html);
    page.headers().set("Content-Type", "text/html");
    return page;
}

weir::task<> scrape(std::string start) {
    weir::crawl::crawl_options options;
    options.seeds.push_back(start);
    options.max_pages = 20;
    options.rate = 0;  // our own server
    weir::crawl::memory_store store;
    weir::crawl::http_fetcher fetcher(options, weir::http::address_filter::any());
    weir::crawl::crawler crawler(options, fetcher, store);

    std::map<std::string, int> titles;
    crawler.on_page([&](const weir::crawl::page& page) -> weir::task<std::string> {
        ++titles[page.title];  // a database in real life: the page counts when this has ended
        co_return page.title;
    });
    const weir::crawl::crawl_summary summary = co_await crawler.run();
    std::printf("%s: %zu titles of %llu pages\n", std::string(name_of(summary.why)).c_str(),
                titles.size(), static_cast<unsigned long long>(summary.fetched));
}

weir::task<> run() {
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    const std::string start = "http://" + listener.local_address().text() + "/0";
    auto server = weir::spawn(weir::http::serve(std::move(listener), shop));
    co_await scrape(start);
    server.cancel();
    co_await server.wait();
}

int main() {
    weir::run(run());
}
