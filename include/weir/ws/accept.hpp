// SPDX-License-Identifier: MIT
// The handshake of a server: turns an HTTP request into a WebSocket connection.
//
//     weir::task<> chat(weir::ws::connection& peer);
//
//     app.get("/chat", [](http::request& request) { return ws::accept(request, chat); });
//
// Gives a 101 response; the handler runs when that has been sent. Other requests are answered with
// 426 (no upgrade, or a version other than 13), 400 (an invalid key, or a body), 405 (not GET) or
// 403 (a page of another origin). Extensions such as compression are not supported. When the server
// drains, the handler is stopped and the connection closed with going_away.
#pragma once

#include <weir/http/request.hpp>
#include <weir/http/response.hpp>
#include <weir/ws/serve.hpp>

#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weir::ws {

struct accept_options {
    // Origins whose pages may connect, such as 'https://example.com'; "*": all. Empty: pages of the
    // same host. Clients that send no Origin, which are no browsers, may always connect. A browser
    // sends cookies from every page, so be careful with "*".
    std::span<const std::string_view> origins{};
    // Subprotocols by preference: the first that the client offers is used, if any.
    std::span<const std::string_view> protocols{};
    connection_options connection{};
};

namespace detail {
http::response accept(const http::request& request, handler_function handler,
                      const accept_options& options);
}

// The handler is copied or moved into the response and kept until the connection has ended, so a
// coroutine lambda may use its captures. It runs after the request has ended, and must own what it
// needs of it. Throws invalid_argument for invalid options.
template <class Handler>
    requires detail::handles_connection<std::decay_t<Handler>>
http::response accept(const http::request& request, Handler&& handler,
                      const accept_options& options = {}) {
    return detail::accept(request, detail::handler_function(std::forward<Handler>(handler)),
                          options);
}

}  // namespace weir::ws
