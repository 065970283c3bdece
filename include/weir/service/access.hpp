// SPDX-License-Identifier: MIT
// Who may use the API.
//
// With tokens: whoever sends one of them, 'Authorization: Bearer <token>'. A page cannot do that
// where it opens a WebSocket, so there the token may be one of the subprotocols offered,
// 'weir.token.<base64url of the token>'.
//
// Without: whoever is on this machine. A page of another site is, too, as it runs in a browser
// here; so Host must be localhost, 127.0.0.1 or [::1] (a name that its owner has pointed to
// 127.0.0.1 is refused), and what browsers send along, Origin and Sec-Fetch-Site, must not speak of
// another site. The latter is asked of everybody, token or not.
//
// All answers tell browsers to be careful: Content-Security-Policy, nosniff, no frames, no
// referrer.
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
    // Any of them opens everything; none: only this machine gets in. Each at least 16 characters,
    // so that nobody guesses it: letters, digits and -._~+/
    std::span<const std::string_view> tokens{};
    // Origins of pages besides the service's own, 'https://tasks.example.com': for a proxy that
    // changes Host.
    std::span<const std::string_view> origins{};
    // Without tokens: names for this machine, besides localhost, that Host may have.
    std::span<const std::string_view> hosts{};
    bool open_health = false;  // /healthz and /readyz need no token
};

// The program is about to listen there. Throws invalid_argument, saying what to do, if others could
// reach that address and there is no token.
void check_exposure(const io::address& at, const access_options& options);

// The middleware. `is_open` says of a route's pattern that its page needs no token.
class access_control {
public:
    // Copies the options. Throws invalid_argument for tokens that are too short or cannot be sent;
    // never shows one.
    explicit access_control(const access_options& options,
                            std::function<bool(std::string_view route)> is_open = {});

    task<http::response> operator()(http::request& asked, http::next inner) const;

private:
    struct rules;
    std::shared_ptr<const rules> rules_;  // copies share them
};

}  // namespace weir::service
