// SPDX-License-Identifier: MIT
// Access control of the API.
//
// With tokens, a client must send one of them: 'Authorization: Bearer <token>'. A page cannot set
// headers of a WebSocket handshake, so there the token may be an offered subprotocol:
// 'weir.token.<base64url of the token>'.
//
// Without tokens, only clients on this machine have access. Pages of other sites run on this
// machine too, in its browser; so Host must be localhost, 127.0.0.1 or [::1] (another name that
// resolves to 127.0.0.1 is refused). With and without tokens, Origin and Sec-Fetch-Site must not
// name another site.
//
// All responses have Content-Security-Policy, nosniff, no framing and no referrer.
#pragma once

#include <weir/http/handler.hpp>
#include <weir/io/address.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace weir::service {

struct access_options {
    // Any of them gives full access; empty: only this machine has access. Each has at least 16
    // characters: letters, digits and -._~+/
    std::span<const std::string_view> tokens{};
    // Allowed origins besides the service's own, such as 'https://tasks.example.com', for a proxy
    // that changes Host.
    std::span<const std::string_view> origins{};
    // Without tokens: allowed values of Host besides localhost.
    std::span<const std::string_view> hosts{};
    bool open_health = false;  // /healthz and /readyz need no token
};

// To be called before listening. Throws invalid_argument that says what to do if other machines can
// reach the address and no token is set.
void check_exposure(const io::address& at, const access_options& options);

// The middleware. `is_open` tells whether the route with that pattern needs no token.
class access_control {
public:
    // Copies the options. Throws invalid_argument, without showing it, for a token that is too
    // short or cannot be sent in a header.
    explicit access_control(const access_options& options,
                            std::function<bool(std::string_view route)> is_open = {});

    task<http::response> operator()(http::request& request, http::next inner) const;

private:
    struct rules;
    std::shared_ptr<const rules> rules_;  // copies share them
};

}  // namespace weir::service
