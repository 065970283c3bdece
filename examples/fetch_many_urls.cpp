// SPDX-License-Identifier: MIT
// HTTP: many URLs under limits, a few at a time from each host, and nothing from inside
//
// fetch_many_urls              plays a small scene with servers of its own
// fetch_many_urls URL...       fetches those, from public addresses only
#include <weir/http/polite_client.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/weir.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;
namespace http = weir::http;

struct outcome {
    std::string url;
    std::string text;
};

weir::task<outcome> fetch(http::polite_client& polite, std::string url) {
    try {
        const http::fetched page = co_await polite.fetch(url, 1024 * 1024);
        co_return outcome{page.url().text(), std::to_string(number_of(page.status())) + ", " +
                                                 std::to_string(page.body().size()) + " bytes"};
    } catch (const std::exception& error) {
        co_return outcome{url, error.what()};
    }
}

weir::task<std::vector<outcome>> fetch_all(http::client& client, std::vector<std::string> urls) {
    http::polite_client polite(client, {.rate = 200, .max_concurrent = 2, .max_attempts = 2});
    std::vector<weir::task<outcome>> work;
    for (std::string& each : urls) {
        work.push_back(fetch(polite, std::move(each)));
    }
    std::vector<outcome> all = co_await weir::gather(std::move(work));
    co_return all;
}

weir::task<> fetch_given(std::vector<std::string> urls) {
    http::client client({.max_connections = 50, .timeout = 20s},
                        http::address_filter::public_only());
    const std::vector<outcome> all = co_await fetch_all(client, std::move(urls));
    for (const outcome& each : all) {
        std::cout << each.url << ": " << each.text << '\n';
    }
}

// ---- the scene

weir::task<http::response> page(http::request& request, int& now, int& most) {
    most = std::max(most, ++now);
    co_await weir::sleep(5ms);
    --now;
    const std::string path(request.path());
    if (path == "/moved") {
        co_return http::response::redirect("/page/1");
    }
    if (path == "/metadata") {
        co_return http::response::redirect("http://169.254.169.254/latest/meta-data/");
    }
    co_return path.starts_with("/page/") ? http::response::text(std::string(100, 'x'))
                                         : http::response(http::status::not_found);
}

weir::task<> scene() {
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    const std::string site = "http://" + listener.local_address().text();
    int now = 0;
    int most = 0;
    auto handler = [&](http::request& request) { return page(request, now, most); };
    auto serving = weir::spawn(http::serve(std::move(listener), handler));

    std::vector<std::string> urls{site + "/moved", site + "/nowhere", site + "/metadata",
                                  "http://10.0.0.1/"};
    for (int i = 0; i < 40; ++i) {
        urls.push_back(site + "/page/" + std::to_string(i));
    }
    // The scene's own server is inside; all else inside stays out of reach.
    http::address_filter filter = http::address_filter::public_only();
    filter.allow("127.0.0.1");
    http::client client({.max_connections = 50, .timeout = 5s}, filter);
    const std::vector<outcome> all = co_await fetch_all(client, std::move(urls));
    int good = 0;
    for (const outcome& each : all) {
        if (each.text == "200, 100 bytes") {
            ++good;
            continue;
        }
        std::string text = each.url + ": " + each.text;
        for (std::size_t at; (at = text.find(site)) != std::string::npos;) {
            text.replace(at, site.size(), "SITE");
        }
        std::cout << text << '\n';
    }
    std::cout << good << " pages, at most " << most << " at a time\n";
    serving.cancel();
    co_await serving.wait();
}

int main(int count, char** arguments) {
    if (count > 1) {
        return weir::run_main(fetch_given({arguments + 1, arguments + count}));
    }
    return weir::run_main(scene());
}
