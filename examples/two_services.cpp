// SPDX-License-Identifier: MIT
// X7: two services that call one another: deadlines and the id of the request travel with the call
//
// GET /orders/7 of the shop asks the stock for item 7, and the stock asks the shop who waits for
// it. Each call has the time that is left of the first one's deadline, carries the id of the
// request, and is behind a circuit breaker of its caller.
#include <weir/flow/circuit_breaker.hpp>
#include <weir/http/client.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/request_id.hpp>
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/local.hpp>
#include <weir/timeout.hpp>
#include <weir/weir.hpp>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <string>

using namespace std::chrono_literals;
using std::chrono::milliseconds;
namespace http = weir::http;

constexpr const char* time_header = "X-Time-Left";  // milliseconds
constexpr milliseconds longest = 2s;                // for requests that name no time

weir::local<std::string> request_id;  // of the request that the running task works for

// ---- what both services use

// Middleware: works no longer than the caller waits.
weir::task<http::response> in_callers_time(http::request& request, http::next next) {
    const std::string_view given = request.header(time_header);
    long left = longest.count();
    std::from_chars(given.data(), given.data() + given.size(), left);
    try {
        co_return co_await weir::timeout(std::clamp(milliseconds(left), 1ms, longest),
                                         next(request));
    } catch (const weir::timed_out&) {
        throw http::problem(http::status::gateway_timeout, "no time left");
    }
}

// Middleware: the id is known wherever the request leads, also in calls to other services.
weir::task<http::response> with_id(http::request& request, http::next next) {
    request_id.set(request.attached<http::request_id>()->text);
    co_return co_await next(request);
}

// The other service as one of its callers sees it.
class remote {
public:
    remote(std::string name, std::string url) : name_(std::move(name)), url_(std::move(url)) {}

    // The text of the answer. Throws weir::refused while the circuit is open.
    weir::task<std::string> get(std::string path) {
        co_return co_await breaker_.run([&] { return call(path); });
    }

private:
    weir::task<std::string> call(const std::string& path) {
        const auto left =
            std::min<weir::clock::duration>(weir::current_deadline() - weir::now(), longest);
        http::client_request request(http::method::get, url_ + path);
        request.set_header("X-Request-Id", request_id.get());
        request.set_header(time_header, std::to_string(left / 1ms));
        auto answer = co_await client_.send(std::move(request));
        std::string text = co_await answer.text();
        if (!answer.is_success()) {  // an error, which the breaker counts
            const bool is_late = answer.status() == http::status::gateway_timeout;
            throw http::problem(is_late ? http::status::gateway_timeout : http::status::bad_gateway,
                                name_ + " answers " + std::to_string(number_of(answer.status())));
        }
        co_return text;
    }

    std::string name_;
    std::string url_;
    http::client client_;
    weir::circuit_breaker breaker_{{.consecutive_failures = 3, .open_for = 1s}};
};

http::router make_service(std::string name) {
    http::router app;
    app.use(http::request_ids());
    app.use(with_id);
    app.use([name](http::request& request, http::next next) -> weir::task<http::response> {
        std::cout << "  " << name << " [" << request_id.get() << "] " << request.target() << '\n';
        co_return co_await next(request);
    });
    app.use(in_callers_time);
    return app;
}

// ---- the services

http::router make_shop(remote& stock) {
    http::router shop = make_service("shop ");
    shop.get("/orders/{id}", [&](http::request& request) -> weir::task<http::response> {
        const std::string id(request.param("id"));
        std::string available;
        try {
            available = co_await stock.get("/items/" + id);
        } catch (const weir::refused&) {
            available = "the stock cannot be asked now";
        }
        co_return http::response::text("order " + id + ": " + available);
    });
    shop.get("/waiting/{item}", [](http::request&) { return http::response::text("2 waiting"); });
    return shop;
}

enum class condition { well, slow, broken };

http::router make_stock(remote& shop, const condition& state, int& at_work) {
    http::router stock = make_service("stock");
    stock.get("/items/{id}", [&](http::request& request) -> weir::task<http::response> {
        if (state == condition::broken) {
            throw http::problem(http::status::service_unavailable, "no database");
        }
        struct work_guard {
            explicit work_guard(int& count) : counted(count) { ++counted; }
            ~work_guard() { --counted; }
            int& counted;
        } const working(at_work);
        if (state == condition::slow) {
            co_await weir::sleep(1h);
        }
        const std::string waiting =
            co_await shop.get("/waiting/" + std::string(request.param("id")));
        co_return http::response::text("3 in stock, " + waiting);
    });
    return stock;
}

// ---- the scene

weir::task<> ask(http::client& client, std::string url, std::string id, milliseconds time) {
    http::client_request request(http::method::get, url);
    request.set_header("X-Request-Id", id).set_header(time_header, std::to_string(time.count()));
    auto answer = co_await client.send(std::move(request));
    const std::string text = co_await answer.text();
    std::cout << id << ": " << number_of(answer.status()) << ' '
              << (answer.is_success() ? text : "") << '\n';
}

weir::task<> scene() {
    weir::io::listener shop_door = weir::io::listen(weir::io::address::loopback(0));
    weir::io::listener stock_door = weir::io::listen(weir::io::address::loopback(0));
    const std::string shop_url = "http://" + shop_door.local_address().text();
    remote stock("the stock", "http://" + stock_door.local_address().text());
    remote shop("the shop", shop_url);
    condition state = condition::well;
    int at_work = 0;  // requests that the stock works for
    auto serving_shop = weir::spawn(http::serve(std::move(shop_door), make_shop(stock)));
    auto serving_stock =
        weir::spawn(http::serve(std::move(stock_door), make_stock(shop, state, at_work)));
    http::client client;

    co_await ask(client, shop_url + "/orders/7", "all-well", 2s);

    // The stock has no more time than the client gave the shop, and stops working with it.
    state = condition::slow;
    co_await ask(client, shop_url + "/orders/7", "too-slow", 500ms);
    while (at_work > 0) {
        co_await weir::sleep(1ms);
    }
    std::cout << "the stock works for nobody\n";
    state = condition::well;
    co_await ask(client, shop_url + "/orders/7", "in-time", 2s);

    // After three failures the shop does not ask any more, and answers without the stock.
    state = condition::broken;
    for (int i = 1; i <= 4; ++i) {
        co_await ask(client, shop_url + "/orders/7", "broken-" + std::to_string(i), 2s);
    }
    state = condition::well;
    co_await weir::sleep(1100ms);  // then one call is tried
    co_await ask(client, shop_url + "/orders/7", "well-again", 2s);

    serving_shop.cancel();
    serving_stock.cancel();
    co_await serving_shop.wait();
    co_await serving_stock.wait();
}

int main() {
    return weir::run_main(scene());
}
