// SPDX-License-Identifier: MIT
// Host names to addresses, without ever blocking the loop.
//
//     std::vector<weir::io::address> found = co_await weir::dns::resolve("example.com", "https");
//
// That uses the loop's own resolver. One of your own has its own servers, cache and limits:
//
//     weir::dns::resolver names({.timeout = 1s, .tries = 2});
//     auto found = co_await names.resolve("example.com", 443);
//
// Sources, in this order: a literal address; 'localhost', which is this machine; the hosts file;
// the cache; the name servers, with queries for IPv4 and IPv6 at once.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/clock.hpp>
#include <weir/io/address.hpp>
#include <weir/io/error.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::dns {

enum class families : unsigned char {
    any,  // ordered by RFC 6724: IPv6 first if there is a route
    ipv4_first,
    ipv6_first,
    ipv4_only,
    ipv6_only,
};

struct resolver_options {
    std::span<const io::address> servers{};  // copied; empty: those of resolv_conf
    std::string_view resolv_conf =
        "/etc/resolv.conf";                      // search domains, too; read again when it changes
    std::string_view hosts_file = "/etc/hosts";  // empty: none
    clock::duration timeout =
        std::chrono::seconds(2);  // of the first try; doubled for each further one
    int tries = 3;                // of each server
    dns::families families = dns::families::any;
    // After IPv4 addresses have arrived, how long to wait for IPv6 ones (RFC 8305).
    clock::duration resolution_delay = std::chrono::milliseconds(50);
    std::size_t cache_size = 1000;  // names; 0: no cache
    clock::duration min_time_to_live = clock::duration::zero();
    clock::duration max_time_to_live = std::chrono::hours(1);
    clock::duration negative_time = std::chrono::seconds(5);  // how long 'no such host' is cached
    std::size_t max_queries = 256;  // names being resolved at a time; others wait in line
};

struct resolver_stats {
    std::uint64_t queries = 0;  // questions sent to servers, usually two per name
    std::uint64_t cache_hits = 0;
    std::size_t cached = 0;   // names in the cache
    std::size_t running = 0;  // names being resolved, also those without waiters
    std::size_t queued = 0;
};

class resolver;

namespace detail {

class resolver_core;
struct lookup;

class WEIR_MUST_AWAIT resolve_operation final : public operation {
public:
    resolve_operation(resolver_core& core, std::string_view host, std::uint16_t port);
    resolve_operation(resolver_core& core, std::string_view host, std::string_view service);
    resolve_operation(resolve_operation&& unawaited) noexcept;
    ~resolve_operation();

    bool ready() noexcept override;
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "dns.resolve"; }
    std::vector<io::address> resume();

private:
    friend class resolver_core;

    void finish(const std::vector<io::address>& found) noexcept;
    void fail(const std::string& message) noexcept;
    void wake(const std::vector<io::address>& found) noexcept;
    void wake_failed(const std::string& message) noexcept;

    resolver_core* core_;
    lookup* lookup_ = nullptr;  // while it waits for a server
    std::string host_;
    std::uint16_t port_ = 0;
    std::vector<io::address> found_;
    std::exception_ptr error_;
};

}  // namespace detail

// Belongs to the loop on which it first asks a server. Operations in flight when it is destroyed
// fail with a resolve_error.
class resolver {
public:
    // Throws invalid_argument for an invalid option, resolve_error if c-ares cannot start.
    explicit resolver(const resolver_options& options = {});
    resolver(const resolver&) = delete;
    resolver& operator=(const resolver&) = delete;
    ~resolver();

    // co_await resolve("example.com", 443) or ("example.com", "https"): the addresses with that
    // port, the best first; at least one. Throws resolve_error with the host and the reason,
    // invalid_argument for an unknown service. Simultaneous calls for the same name share one
    // question. Cancelling takes effect at once; the question continues, and its answer is cached
    // for later calls.
    detail::resolve_operation resolve(std::string_view host, std::uint16_t port = 0);
    detail::resolve_operation resolve(std::string_view host, std::string_view service);

    void clear_cache() noexcept;
    resolver_stats stats() const noexcept;

private:
    std::unique_ptr<detail::resolver_core> core_;
};

// The same with the running loop's own resolver, which has the default options.
detail::resolve_operation resolve(std::string_view host, std::uint16_t port = 0);
detail::resolve_operation resolve(std::string_view host, std::string_view service);
// The running loop's own resolver.
resolver& loop_resolver();

}  // namespace weir::dns
