// SPDX-License-Identifier: MIT
// Middleware: who is behind a proxy.
//
//     app.use(http::trusted_proxies().trust("10.0.0.0/8").trust("unix"));
//     ... request.client_address() ...
//
// If the connection comes from a trusted address, the header is read from its end, where the
// nearest proxy has written: as long as an entry is a trusted proxy, the one before it is asked
// for; the first that is not is the client. Nothing that a client writes itself is believed, since
// what it sends stands before what the proxies add. An entry that is no address ends the search:
// the client is the last proxy that was found then. Use it before everything that asks who the
// client is.
//
// One of the two headers is read, never both: a proxy that sets one lets the other pass as it came.
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

    // '10.0.0.0/8', '2001:db8::7', or 'unix' for all who come over a Unix socket. Throws
    // invalid_argument naming the text.
    trusted_proxies& trust(std::string_view range);

    // Cost: a look at the ranges for each hop; at most 32 hops.
    io::address client_of(const io::address& peer, const headers& fields) const;
    task<response> operator()(request& asked, next inner) const {
        asked.set_client_address(client_of(asked.remote_address(), asked.headers()));
        return inner(asked);
    }

private:
    bool trusts(const io::address& who) const noexcept;

    forwarded_header which_;
    bool trusts_unix_ = false;
    std::vector<address_range> ranges_;
};

}  // namespace weir::http
