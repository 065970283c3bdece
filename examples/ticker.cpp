// SPDX-License-Identifier: MIT
// WebSocket: a price ticker; slow clients lose old ticks, reconnecting clients get the missed ones
//
// ticker             plays a subscriber against a market of its own
// ticker ADDRESS     ten prices a second at ws://ADDRESS/ticks, or /ticks?since=TOKEN to go on
#include <weir/http/json.hpp>
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/io/io.hpp>
#include <weir/weir.hpp>
#include <weir/ws/ws.hpp>

#include <iostream>
#include <random>
#include <string>

namespace http = weir::http;
namespace io = weir::io;
namespace ws = weir::ws;
using namespace std::chrono_literals;
using boost::json::object;

class market {
public:
    void step() {
        cents_ += static_cast<int>(random_() % 201) - 100;
        feed_.publish("prices", [&](const ws::position& at) {
            return http::to_json(
                object{{"number", at.number}, {"token", at.text()}, {"cents", cents_}});
        });
    }
    weir::task<> run() {
        for (auto next = weir::now();; next += 100ms) {
            co_await weir::sleep_until(next);
            step();
        }
    }

    http::router routes() {
        http::router app;
        app.get("/ticks", [this](http::request& request) {
            // Old prices are worth little: a subscriber that is slow, or comes back, gets the
            // newest hundred at most.
            ws::accept_options options;
            options.connection.outbox_messages = 100;
            options.connection.when_full = ws::overflow::drop_oldest;
            const std::string since = request.query("since").value_or("");
            return ws::accept(
                request,
                [this, since](ws::connection& peer) -> weir::task<> { return attend(peer, since); },
                options);
        });
        return app;
    }

private:
    weir::task<> attend(ws::connection& peer, std::string since) {
        const auto welcome = [](const ws::catch_up& found) {
            return http::to_json(object{{"replayed", found.replayed}, {"missed", found.missed}});
        };
        const auto member = feed_.join(peer, "prices", since, welcome);
        co_await peer.wait_closed();
    }

    ws::hub feed_{{.keep_messages = 1000}};
    std::mt19937 random_{7};
    int cents_ = 10'000;
};

// ---- the scene

class subscriber {
public:
    explicit subscriber(std::string server) : server_(std::move(server)) {}

    std::string url() const { return server_ + "/ticks?since=" + token_; }
    weir::task<> welcome(ws::connection& peer) {
        const auto said = co_await peer.receive();
        const boost::json::value heard = http::parse_json(said.value().text());
        std::cout << "subscribed: " << heard.at("replayed") << " ticks follow, "
                  << heard.at("missed") << " are gone\n";
    }
    weir::task<> read(ws::connection& peer, int count) {
        for (int i = 1; i <= count; ++i) {
            const auto said = co_await peer.receive();
            const boost::json::value tick = http::parse_json(said.value().text());
            const auto number = http::member<std::uint64_t>(tick, "number");
            if (number > last_ + 1) {
                std::cout << "  too slow for " << number - last_ - 1 << " ticks\n";
            }
            last_ = number;
            token_ = http::member<std::string>(tick, "token");
            if (i <= 3 || i == count) {
                std::cout << (i > 4 ? "  ...\n" : "") << "  tick " << number << ": "
                          << tick.at("cents") << '\n';
            }
        }
    }

private:
    std::string server_;
    std::string token_;
    std::uint64_t last_ = 0;
};

weir::task<> scene() {
    market prices;
    io::listener door = io::listen(io::address::loopback(0));
    subscriber reader("ws://" + door.local_address().text());
    auto serving = weir::spawn(http::serve(std::move(door), prices.routes()));

    auto watch = [&](ws::connection& peer) -> weir::task<> {
        co_await reader.welcome(peer);
        prices.step();
        prices.step();
        co_await reader.read(peer, 2);
    };
    co_await ws::with_connection(reader.url(), watch);

    std::cout << "away for three ticks\n";
    prices.step();
    prices.step();
    prices.step();
    auto go_on = [&](ws::connection& peer) -> weir::task<> {
        co_await reader.welcome(peer);
        co_await reader.read(peer, 3);
        std::cout << "a thousand ticks at once\n";
        for (int i = 0; i < 1000; ++i) {
            prices.step();
        }
        co_await reader.read(peer, 100);
    };
    co_await ws::with_connection(reader.url(), go_on);
    serving.cancel();
    co_await serving.wait();
}

weir::task<> serve_at(std::string where) {
    market prices;
    auto ticking = weir::spawn(prices.run());
    io::listener door = io::listen(io::address::parse(where));
    std::cout << "ws://" << door.local_address().text() << "/ticks" << std::endl;
    auto end = [&]() -> weir::task<> {
        ticking.cancel();
        co_await ticking.wait();
    };
    co_await weir::finally(http::serve(std::move(door), prices.routes()), end);
}

int main(int count, char** arguments) {
    return weir::run_main(count > 1 ? serve_at(arguments[1]) : scene());
}
