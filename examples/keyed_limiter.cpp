// SPDX-License-Identifier: MIT
// P7: a rate for each client, and the answer 429 with Retry-After, in memory that stays bounded
#include <weir/flow/keyed_limiter.hpp>
#include <weir/weir.hpp>

#include <cmath>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

struct request {
    std::string peer;           // the address at the other end of the connection
    std::string forwarded_for;  // the origin of the request, as claimed by the peer
};
struct response {
    int status = 200;
    long retry_after = 0;  // seconds
};

// The client that a request counts for. Every client can write a Forwarded header, so it is trusted
// only from our own proxy: otherwise each request could pose as a new client.
const std::string& client_of(const request& from) {
    const bool is_our_proxy = from.peer == "10.0.0.1";
    return is_our_proxy && !from.forwarded_for.empty() ? from.forwarded_for : from.peer;
}

class middleware {
public:
    weir::task<response> handle(const request& incoming) {
        const auto let_in = clients_.try_acquire(client_of(incoming));
        if (!let_in) {
            const std::chrono::duration<double> wait = let_in.refusal().retry_after;
            co_return response{429, std::lround(std::ceil(wait.count()))};
        }
        co_await weir::sleep(5ms);  // the work
        co_return response{};
    }
    const weir::keyed_limiter<std::string>& clients() const { return clients_; }

private:
    weir::keyed_limiter<std::string> clients_{{.rate = 10, .burst = 20, .max_keys = 100'000}};
};

weir::task<> run() {
    middleware server;
    const auto burst = [&server](const request& from, int count) -> weir::task<> {
        int served = 0;
        response last;
        for (int i = 0; i < count; ++i) {
            last = co_await server.handle(from);
            served += last.status == 200 ? 1 : 0;
        }
        std::cout << client_of(from) << ": " << served << " of " << count << " served";
        if (last.status != 200) {
            std::cout << ", then " << last.status << ", Retry-After: " << last.retry_after;
        }
        std::cout << '\n';
    };
    const request greedy{"192.0.2.7", ""};
    const request modest{"192.0.2.8", ""};
    const request pretender{"192.0.2.7", "203.0.113.1"};  // claims to be another client
    const request proxied{"10.0.0.1", "203.0.113.1"};     // the client, according to our proxy
    co_await burst(greedy, 30);
    co_await burst(modest, 5);
    co_await weir::sleep(1s);
    std::cout << "a second later\n";
    co_await burst(greedy, 30);
    co_await burst(pretender, 5);
    co_await burst(proxied, 5);

    // Hundreds of thousands of addresses with one request each leave no entries behind.
    for (int i = 0; i < 300'000; ++i) {
        const request once{"2001:db8::" + std::to_string(i), ""};
        (void)co_await server.handle(once);
    }
    const auto stats = server.clients().stats();
    std::cout << "served " << stats.granted << " requests, keeps "
              << (stats.keys < 1000 ? "less" : "more") << " than 1000 clients in mind, in "
              << (stats.bytes < 100'000 ? "less" : "more") << " than 100 kB\n";
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
