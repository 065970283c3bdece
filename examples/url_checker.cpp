// SPDX-License-Identifier: MIT
// HTTP: checks a list of URLs, a few at a time, with a line of progress and a deadline for each
//
// url_checker            checks the pages of a server of its own
// url_checker URL...     checks those; exit code 1 if one is broken
#include <weir/flow/map_concurrent.hpp>
#include <weir/http/client.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/weir.hpp>

#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;
namespace http = weir::http;

struct checked_url {
    std::string url;
    std::string error;  // empty: it answered with 2xx
};

weir::task<checked_url> check(http::client& client, std::string url) {
    try {
        const http::client_response page = co_await weir::timeout(5s, client.get(url));
        const int code = number_of(page.status());
        co_return checked_url{url, code / 100 == 2 ? "" : "status " + std::to_string(code)};
    } catch (const weir::timed_out&) {
        co_return checked_url{url, "no answer within 5 seconds"};
    } catch (const http::error& error) {
        co_return checked_url{url, error.what()};
    }
}

// The broken ones. Ctrl-C stops the requests that are in flight.
weir::task<std::vector<checked_url>> check_all(http::client& client,
                                               std::vector<std::string> urls) {
    const std::size_t count = urls.size();
    auto check_one = [&client](std::string url) { return check(client, std::move(url)); };
    auto results = weir::map_as_completed(std::move(urls), 8, check_one);
    std::vector<checked_url> broken;
    std::size_t done = 0;
    while (auto result = co_await results.next()) {
        std::cerr << '\r' << ++done << " of " << count << std::flush;
        if (!result->error.empty()) {
            broken.push_back(std::move(*result));
        }
    }
    std::cerr << '\n';
    co_return broken;
}

weir::task<int> check_given(std::vector<std::string> urls) {
    http::client client;
    const std::vector<checked_url> broken = co_await check_all(client, std::move(urls));
    for (const checked_url& each : broken) {
        std::cout << each.url << ": " << each.error << '\n';
    }
    co_return broken.empty() ? 0 : 1;
}

// ---- the scene

http::response answer(http::request& request) {
    return request.path() == "/3" ? http::response(http::status::not_found)
                                  : http::response::text("a page");
}

weir::task<int> scene() {
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    const std::string site = "http://" + listener.local_address().text();
    auto serving = weir::spawn(http::serve(std::move(listener), answer));
    std::vector<std::string> urls;
    for (int page = 0; page < 20; ++page) {
        urls.push_back(site + "/" + std::to_string(page));
    }
    http::client client;
    const std::vector<checked_url> broken = co_await check_all(client, std::move(urls));
    for (const checked_url& each : broken) {
        std::cout << each.url.substr(site.size()) << ": " << each.error << '\n';
    }
    serving.cancel();
    co_await serving.wait();
    co_return 0;
}

int main(int count, char** arguments) {
    if (count > 1) {
        return weir::run_main(check_given({arguments + 1, arguments + count}));
    }
    return weir::run_main(scene());
}
