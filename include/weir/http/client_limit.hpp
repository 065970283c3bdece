// SPDX-License-Identifier: MIT
// Middleware: so many requests of each client, and no more.
//
//     app.use(http::trusted_proxies().trust("10.0.0.0/8"));          // if there are proxies
//     app.use(http::client_limit({.rate = 10, .burst = 20}));         // each address, IPv6 by /64
//     app.use(http::client_limit({.rate = 100}, [](const http::request& request) {
//         const auto* who = request.attached<http::principal>();
//         return who != nullptr ? who->name : std::string();         // empty: no limit
//     }));
//
// What is too much is answered with 429, and with Retry-After in seconds. All answers say how much
// is left: RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset (seconds until all of it is
// there again), and the same as RateLimit-Policy and RateLimit, as the later drafts of the standard
// have it. Of several limits, one after the other, the tightest is told; the later form has them
// all.
//
// Memory is bounded, on keyed_limiter's terms: while max_clients clients limit at once, new ones
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
    double rate = 0;  // requests of each client ...
    clock::duration per = std::chrono::seconds(1);
    double burst = 1;  // and at most so many at once
    std::size_t max_clients = 100'000;
    unsigned ipv6_prefix = 64;  // bits; who has one address usually has all that begin alike
    std::string_view name = "default";  // of the policy, in headers and metrics; copied
};

struct client_limit_stats {
    std::uint64_t let_in = 0;
    std::uint64_t refused = 0;  // 429
    std::uint64_t full = 0;     // 503
    std::size_t clients = 0;    // remembered
};

class client_limit {
public:
    // Whose request it is; empty: one without a limit.
    using key_function = weir::detail::unique_function<std::string(const request&)>;

    // By client_address(). Throws invalid_argument for options that make no sense.
    explicit client_limit(const client_limit_options& options);
    client_limit(const client_limit_options& options, key_function key);

    task<response> operator()(request& asked, next inner) const;

    client_limit_stats stats() const;
    void write_metrics(metric_writer& to) const;

private:
    class state;
    template <class Key>
    class keyed_state;
    std::shared_ptr<state> state_;  // copies share it
};

// 32 bits of IPv4, also in IPv6 dress; the first bits of IPv6; all others are one.
std::uint64_t client_key(const io::address& who, unsigned ipv6_prefix = 64) noexcept;

}  // namespace weir::http
