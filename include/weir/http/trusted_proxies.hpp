// SPDX-License-Identifier: MIT
// Middleware: finds the client behind trusted proxies.
//
//     app.use(http::trusted_proxies().trust("10.0.0.0/8").trust("unix"));
//     ... request.client_address() ...
//
// If the connection comes from a trusted address, the header is read from its end, where the
// nearest proxy has written. While an entry is a trusted proxy, the entry before it is examined;
// the first that is not trusted is the client. Entries that a client wrote itself are never
// reached, since they stand before those that the proxies add. An entry that is not an address ends
// the search: the last proxy found is then the client. Use it before all middleware that depends on
// the client.
//
// Only one of the two headers is read: a proxy that sets one of them passes the other on unchanged.
#pragma once

#include <weir/http/address_filter.hpp>
#include <weir/http/handler.hpp>

#include <string_view>
#include <vector>

namespace weir::http {

enum class forwarded_header : unsigned char {
    x_forwarded_for,  // 'X-Forwarded-For: 192.0.2.7, 10.0.0.1'
    forwarded,        // 'Forwarded: for=192.0.2.7;proto=https, for="[2001:db8::1]:80"' (RFC 7239)
};

class trusted_proxies {
public:
    explicit trusted_proxies(forwarded_header which = forwarded_header::x_forwarded_for) noexcept
        : which_(which) {}

    // '10.0.0.0/8', '2001:db8::7', or 'unix' for all clients on a Unix socket. Throws
    // invalid_argument that shows the text.
    trusted_proxies& trust(std::string_view range);

    // Cost: one search of the ranges for each hop; at most 32 hops.
    io::address client_of(const io::address& peer, const headers& fields) const;
    task<response> operator()(request& request, next inner) const {
        request.set_client_address(client_of(request.remote_address(), request.headers()));
        return inner(request);
    }

private:
    bool trusts(const io::address& who) const noexcept;

    forwarded_header which_;
    bool trusts_unix_ = false;
    std::vector<address_range> ranges_;
};

}  // namespace weir::http
