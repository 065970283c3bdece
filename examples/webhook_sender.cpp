// SPDX-License-Identifier: MIT
// Webhooks to URLs from strangers: retried politely, and never sent into one's own network
#include <weir/http/polite_client.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/weir.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;
namespace http = weir::http;

weir::task<> deliver(http::polite_client& sender, std::string to) {
    std::cout << to.substr(0, to.find_last_of(':')) << ": ";
    try {
        http::client_request event(http::method::post, to);
        event.set_header("Webhook-Id", "msg_7").set_body(R"({"paid": 7})", "application/json");
        const http::fetched answer = co_await sender.fetch(std::move(event), 64 << 10);
        std::cout << http::number_of(answer.status()) << '\n';
    } catch (const http::address_refused& refused) {
        std::cout << "refused, a " << name_of(refused.kind()) << " address\n";
    } catch (const weir::refused& refused) {
        std::cout << "not now: " << refused.what() << '\n';
    }
}

weir::task<> scene() {
    // A customer's server, which is busy at the first request.
    weir::io::listener door = weir::io::listen(weir::io::address::parse("127.0.0.2:0"));
    const std::string port = ':' + std::to_string(door.local_address().port());
    int requests = 0;
    const auto answer = [&requests] {
        return ++requests == 1
                   ? http::response(http::status::service_unavailable).with("Retry-After", "0")
                   : http::response(http::status::no_content);
    };
    auto customer = weir::spawn(http::serve(std::move(door), answer));

    auto filter = http::address_filter::public_only();
    filter.allow("127.0.0.2");  // simulates a public address
    http::client client({.redirects = http::redirects::none}, filter);
    http::polite_client sender(client, {.rate = 100,
                                        .max_attempts = 5,
                                        .backoff = {.initial = 10ms},
                                        .retry_all_methods = true});  // the id identifies repeats
    for (const std::string host : {"127.0.0.2", "127.0.0.1", "0x7f.1", "[::ffff:10.0.0.1]",
                                   "169.254.169.254", "localhost", "[64:ff9b::7f00:1]"}) {
        co_await deliver(sender, "http://" + host + port);
    }
    std::cout << "requests to the customer: " << requests << "\n";
    customer.cancel();
    co_await customer.wait();
}

int main() {
    return weir::run_main(scene());
}
