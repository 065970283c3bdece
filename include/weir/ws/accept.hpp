// SPDX-License-Identifier: MIT
// The server's side of the handshake: an HTTP request becomes a WebSocket connection.
//
//     weir::task<> chat(weir::ws::connection& peer);
//
//     app.get("/chat", [](http::request& request) { return ws::accept(request, chat); });
//
// Gives 101 and goes on with the handler once that is sent. What is no such request is answered:
// 426 without an upgrade or with another version than 13, 400 for a bad key or a body, 405 for
// another method than GET, 403 for a page of another origin. Extensions, such as compression, are
// not agreed to. When the server drains, the handler is stopped and the peer told going_away.
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
    // Whose pages may connect, as in 'https://example.com'; "*": anybody's. None: those of the same
    // host, and what is no page and sends no Origin. A browser sends cookies with a connection from
    // any page, so be careful with "*".
    std::span<const std::string_view> origins{};
    // Subprotocols by preference: the first that the client offers is agreed on, if any.
    std::span<const std::string_view> protocols{};
    connection_options connection{};
};

namespace detail {
http::response accept(const http::request& asked, handler_function handler,
                      const accept_options& options);
}

// The handler is copied or moved into the answer and kept until the connection has ended, so a
// coroutine lambda may use its captures. It runs when the request has gone: what it needs from that
// it must own. Throws invalid_argument for bad options.
template <class Handler>
    requires detail::handles_connection<std::decay_t<Handler>>
http::response accept(const http::request& asked, Handler&& handler,
                      const accept_options& options = {}) {
    return detail::accept(asked, detail::handler_function(std::forward<Handler>(handler)), options);
}

}  // namespace weir::ws
