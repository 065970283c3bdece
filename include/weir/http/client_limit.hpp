// SPDX-License-Identifier: MIT
// Middleware: limits the rate of requests of each client.
//
//     app.use(http::trusted_proxies().trust("10.0.0.0/8"));          // if there are proxies
//     app.use(http::client_limit({.rate = 10, .burst = 20}));         // each address, IPv6 by /64
//     app.use(http::client_limit({.rate = 100}, [](const http::request& request) {
//         const auto* user = request.attached<http::principal>();
//         return user != nullptr ? user->name : std::string();       // empty: no limit
//     }));
//
// Requests above the limit are answered with 429 and Retry-After in seconds. All responses say how
// much is left: RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset (seconds until the whole
// burst is available again), and the same as RateLimit-Policy and RateLimit, as in the later drafts
// of the standard. Of several limits in a row, the older headers show the tightest one and the
// newer headers all of them.
//
// Memory is bounded as in keyed_limiter: while max_clients clients are being limited, new clients
// are answered with 503.
#pragma once

#include <weir/base/unique_function.hpp>
#include <weir/clock.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/http/handler.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace weir::http {

struct client_limit_options {
    double rate = 0;  // requests of each client in the time `per`
    clock::duration per = std::chrono::seconds(1);
    double burst = 1;  // requests that a client may send at once
    std::size_t max_clients = 100'000;
    unsigned ipv6_prefix = 64;  // bits: a client usually owns all addresses with the same prefix
    std::string_view name = "default";  // of the policy, in headers and metrics
};

struct client_limit_stats {
    std::uint64_t let_in = 0;
    std::uint64_t refused = 0;  // 429
    std::uint64_t full = 0;     // 503
    std::size_t clients = 0;    // that the limiter remembers
};

class client_limit {
public:
    // Gives the client of a request; empty: no limit.
    using key_function = weir::detail::unique_function<std::string(const request&)>;

    // Clients are distinguished by client_address(). Throws invalid_argument for invalid options.
    explicit client_limit(const client_limit_options& options);
    client_limit(const client_limit_options& options, key_function key);

    task<response> operator()(request& request, next inner) const;

    client_limit_stats stats() const;
    void write_metrics(metric_writer& to) const;

private:
    class state;
    template <class Key>
    class keyed_state;
    std::shared_ptr<state> state_;  // shared by copies
};

// The number of a client: the 32 bits of an IPv4 address, also if mapped into IPv6; the first bits
// of an IPv6 address. All other addresses are one client.
std::uint64_t client_key(const io::address& who, unsigned ipv6_prefix = 64) noexcept;

}  // namespace weir::http
