// SPDX-License-Identifier: MIT
// HTTP: an API for clients with a token, a few requests a second each
//
// rate_limited_api             plays a small scene with clients of its own
// rate_limited_api ADDRESS     serves there:
//                              curl -i -H 'Authorization: Bearer alices-token' ADDRESS/quote
#include <weir/http/bearer_auth.hpp>
#include <weir/http/client.hpp>
#include <weir/http/client_limit.hpp>
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/weir.hpp>

#include <chrono>
#include <iostream>
#include <string>

namespace http = weir::http;

http::router quotes() {
    http::bearer_auth auth;
    auth.token("alices-token", "alice").token("bobs-token", "bob").realm("quotes");

    // Addresses first: clients that guess tokens are slowed down, too.
    http::client_limit by_address({.rate = 100, .burst = 200, .name = "address"});
    http::client_limit by_name(
        {.rate = 1, .burst = 2, .name = "user"},
        [](const http::request& request) { return request.attached<http::principal>()->name; });

    http::router api;
    api.use(by_address);
    api.use(auth);
    api.use(by_name);
    api.get("/quote", [](http::request& request) {
        return http::response::text("All things flow, " +
                                    request.attached<http::principal>()->name + ".");
    });
    return api;
}

// ---- the scene

weir::task<int> ask(http::client& client, std::string url, std::string token) {
    http::client_request wanted(http::method::get, url);
    wanted.set_bearer(token);
    auto answer = co_await client.send(std::move(wanted));
    const std::string text = co_await answer.text();
    std::cout << token << ": " << number_of(answer.status());
    if (answer.is_success()) {
        std::cout << ' ' << text << ' ' << answer.header("RateLimit-Remaining") << " of "
                  << answer.header("RateLimit-Limit") << " left";
    } else if (const auto challenge = answer.headers().find("WWW-Authenticate")) {
        std::cout << ' ' << *challenge;
    }
    std::cout << '\n';
    const std::string wait(answer.header("Retry-After"));
    co_return wait.empty() ? 0 : std::stoi(wait);
}

weir::task<> scene() {
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    const std::string url = "http://" + listener.local_address().text() + "/quote";
    auto serving = weir::spawn(http::serve(std::move(listener), quotes()));

    http::client client;
    co_await ask(client, url, "forged-token");
    co_await ask(client, url, "alices-token");
    co_await ask(client, url, "alices-token");
    const int wait = co_await ask(client, url, "alices-token");
    co_await ask(client, url, "bobs-token");
    std::cout << "alice waits as long as she was told\n";
    co_await weir::sleep(std::chrono::seconds(wait));
    co_await ask(client, url, "alices-token");

    serving.cancel();
    co_await serving.wait();
}

weir::task<> serve_at(std::string where) {
    co_await http::serve(weir::io::address::parse(where), quotes());
}

int main(int count, char** arguments) {
    if (count > 1) {
        return weir::run_main(serve_at(arguments[1]));
    }
    return weir::run_main(scene());
}
