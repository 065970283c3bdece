// SPDX-License-Identifier: MIT
// Access control of the API.
//
// With tokens, a client must send one of them: 'Authorization: Bearer <token>'. A token gives full
// access, or that of its scopes, which the routes of make_api() check. A page cannot set
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
#include <utility>

namespace weir::service {

struct access_options {
    // Lines of a token file: 'TOKEN', 'TOKEN read,submit@mail', 'TOKEN name=ci submit'. Without
    // scopes a token gives full access. Empty: only this machine has access. A token has at least
    // 16 characters: letters, digits and -._~+/. Scopes are read, submit and admin, for all queues
    // or, as submit@mail or read@reports/*, for some; and metrics. The name, of letters, digits and
    // -_. , is that of http::principal.
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

// The middleware.
class access_control {
public:
    // Tells whether the route with that pattern needs no token.
    using open_route = std::function<bool(std::string_view route)>;

    // Copies the options. Throws invalid_argument, without showing it, for a token that is too
    // short or cannot be sent in a header, and for an unknown scope.
    explicit access_control(const access_options& options, open_route is_open = {});

    // Of this copy.
    void open_routes(open_route is_open) { is_open_ = std::move(is_open); }
    // The rules from now on, for all copies. Requests that run go on; connections of /events whose
    // token is gone end within a second. Throws as the constructor does, and changes nothing then;
    // invalid_argument if there were tokens and are none now, or the other way round.
    void replace(const access_options& options);

    task<http::response> operator()(http::request& request, http::next inner) const;

private:
    struct rules;
    struct shared_rules;
    std::shared_ptr<shared_rules> rules_;  // copies share them
    open_route is_open_;
};

}  // namespace weir::service
