// SPDX-License-Identifier: MIT
// P7: a limit for each client, also behind a reverse proxy, whose word about the client is trusted
#include <weir/http/client.hpp>
#include <weir/http/client_limit.hpp>
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/http/trusted_proxies.hpp>
#include <weir/io/listener.hpp>
#include <weir/weir.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;
namespace http = weir::http;

http::router make_app(std::string_view proxies) {
    http::router app;
    // First, so that all that follows sees the client and not the proxy.
    app.use(http::trusted_proxies().trust(proxies));
    app.use(http::client_limit({.rate = 1, .per = 1h, .burst = 2}));
    app.get("/", [](http::request& request) {
        return http::response::text("hello, " + request.client_address().host());
    });
    return app;
}

// A request as a proxy at 127.0.0.1 passes it on: it adds the address that it sees to what the
// client has sent.
weir::task<> ask(http::client& client, std::string url, std::string forwarded_for) {
    http::client_request request(http::method::get, url);
    if (!forwarded_for.empty()) {
        request.set_header("X-Forwarded-For", forwarded_for);
    }
    auto answer = co_await client.send(std::move(request));
    const std::string text = co_await answer.text();
    std::cout << (forwarded_for.empty() ? "(no header)" : forwarded_for) << ": "
              << number_of(answer.status());
    if (answer.is_success()) {
        std::cout << ' ' << text;
    } else {
        std::cout << ", Retry-After "
                  << (answer.header("Retry-After").empty() ? "missing" : "given");
    }
    std::cout << '\n';
}

weir::task<> scene(std::string title, std::string proxies) {
    std::cout << title << '\n';
    weir::io::listener door = weir::io::listen(weir::io::address::loopback(0));
    const std::string here = "http://" + door.local_address().text() + "/";
    auto serving = weir::spawn(http::serve(std::move(door), make_app(proxies)));
    http::client client;
    for (const std::string each :
         {"192.0.2.7", "192.0.2.7", "192.0.2.7",  // one too many
          "192.0.2.8",
          // Clients cannot escape by writing the header themselves: the
          // proxy's entry is the last, and the only one that counts.
          "203.0.113.1, 192.0.2.7", "203.0.113.2, 192.0.2.8", "203.0.113.3, 192.0.2.8", ""}) {
        co_await ask(client, here, each);
    }
    serving.cancel();
    co_await serving.wait();
}

weir::task<> run() {
    co_await scene("The proxy is trusted:", "127.0.0.0/8");
    // The header is worth nothing then: all requests are of the one that connects.
    co_await scene("Another proxy is trusted:", "10.0.0.0/8");
}

int main() {
    return weir::run_main(run());
}
