// SPDX-License-Identifier: MIT
// Ingestion: all pages of an HTTP API, politely, through a queue and workers, into SQLite
#include <weir/db/sqlite/database.hpp>
#include <weir/http/json.hpp>
#include <weir/http/link.hpp>
#include <weir/http/polite_client.hpp>
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/weir.hpp>

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;
namespace http = weir::http;
namespace sqlite = weir::sqlite;

struct product {
    std::int64_t id;
    std::string name;
    std::int64_t cents;
};

// ---- the way of a page: fetched, queued, parsed, stored

// Follows the link of each page to the next. When the workers are behind, the queue is full, and
// this task waits.
weir::task<> fetch_all(http::polite_client& api, std::string url, weir::queue<std::string>& pages) {
    while (!url.empty()) {
        http::fetched page = co_await api.fetch(url);
        if (!page.is_success()) {
            throw std::runtime_error(url + " answered " + std::to_string(number_of(page.status())));
        }
        const auto next = http::find_link(page.headers(), "next");
        url = next ? page.url().resolve(next->target).text() : "";
        co_await pages.put(std::move(page).body());
    }
    pages.close();
}

std::vector<product> parse(std::string_view page) {
    std::vector<product> all;
    for (const auto& each : http::member<boost::json::array>(http::parse_json(page), "items")) {
        all.push_back({http::member<std::int64_t>(each, "id"),
                       http::member<std::string>(each, "name"),
                       http::member<std::int64_t>(each, "cents")});
    }
    return all;
}

// A page is stored as a whole or not at all; pages that wait at the same time share a commit. A
// product that arrives twice is stored once, so that a repeated run is harmless.
weir::task<> work(weir::queue<std::string>& pages, sqlite::database& store) {
    for (;;) {
        const std::optional<std::string> page = co_await pages.next();
        if (!page) {
            co_return;
        }
        auto insert = [found = parse(*page)](sqlite::session& on) {
            for (const product& each : found) {
                on.execute("INSERT OR REPLACE INTO products VALUES (?, ?, ?)", each.id, each.name,
                           each.cents);
            }
        };
        co_await store.write(insert);
    }
}

weir::task<> ingest(http::polite_client& api, std::string url, sqlite::database& store) {
    co_await store.script(
        "CREATE TABLE IF NOT EXISTS products(id INTEGER PRIMARY KEY, name TEXT, cents INTEGER)");
    weir::queue<std::string> pages(8);
    auto all = [&](weir::task_group& group) -> weir::task<> {  // if one fails, all stop
        group.spawn(fetch_all(api, url, pages));
        for (int i = 0; i < 4; ++i) {
            group.spawn(work(pages, store));
        }
        co_return;
    };
    co_await weir::with_group(all);
}

// ---- an API of another company: 250 products, 10 on a page, sometimes busy

http::router products_api(int& requests) {
    http::router api;
    api.get("/products", [&requests](http::request& request) {
        if (++requests % 9 == 0) {
            return http::response(http::status::service_unavailable).with("Retry-After", "0");
        }
        const int page = std::stoi(request.query("page").value_or("1"));
        boost::json::array items;
        for (int id = 10 * page - 9; id <= 10 * page; ++id) {
            items.push_back(
                {{"id", id}, {"name", "product " + std::to_string(id)}, {"cents", 100 + id}});
        }
        auto answer = http::json({{"items", items}});
        return page == 25
                   ? std::move(answer)
                   : std::move(answer).with(
                         "Link", "</products?page=" + std::to_string(page + 1) + ">; rel=\"next\"");
    });
    return api;
}

weir::task<> scene(std::filesystem::path folder) {
    int requests = 0;
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    const std::string url = "http://" + listener.local_address().text() + "/products";
    auto serving = weir::spawn(http::serve(std::move(listener), products_api(requests)));

    http::client client;
    http::polite_client api(client, {.rate = 100,  // a second
                                     .max_concurrent = 1,
                                     .max_attempts = 5,
                                     .backoff = {.initial = 10ms}});
    auto store = co_await sqlite::open((folder / "products.db").string());
    co_await ingest(api, url, store);

    const auto found = co_await store.query("SELECT count(*), sum(cents) FROM products");
    const auto last = co_await store.query("SELECT * FROM products ORDER BY id DESC LIMIT 1");
    std::cout << requests << " requests\n"
              << found[0].get<int>(0) << " products for " << found[0].get<int>(1) << " cents\n"
              << "the last: " << last.one<product>().name << '\n';
    co_await store.close();
    serving.cancel();
    co_await serving.wait();
}

int main() {
    const auto folder =
        std::filesystem::temp_directory_path() / ("weir-ingestion-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    const int code = weir::run_main(scene(folder));
    std::filesystem::remove_all(folder);
    return code;
}
