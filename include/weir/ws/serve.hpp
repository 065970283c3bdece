// SPDX-License-Identifier: MIT
// A WebSocket connection over any stream, after the handshake: what ws::accept and
// ws::with_connection do for HTTP, and what tests do over simulated networks.
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/base/unique_function.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/ws/connection.hpp>

#include <string>
#include <utility>

namespace weir::ws {

// What is known of a connection when it begins.
struct established {
    io::any_stream stream;
    ws::role role = ws::role::server;
    std::string received{};  // what came behind the handshake already
    std::string protocol{};
};

namespace detail {

using handler_function = weir::detail::unique_function<task<>(connection&)>;

// Throws what the handler throws; closes whatever happens.
task<> run_connection(established begun, handler_function handler, connection_options options);
// The same for a server, where a peer that goes is no error.
task<> serve(established begun, handler_function handler, connection_options options);

template <class Handler>
concept handles_connection = weir::detail::starts_task<Handler&, connection&>;

// As elsewhere, an lvalue is referred to and anything else moved in.
template <class Handler>
handler_function to_handler(Handler&& handler) {
    return [held = weir::detail::held_t<Handler>(std::forward<Handler>(handler))](
               connection& peer) mutable -> task<> { return held(peer); };
}

}  // namespace detail

// Runs handler(connection&) and closes: with normal when it returns, internal_error when it throws,
// and going_away when it is stopped, each with the close handshake within close_timeout. Throws
// what the handler throws, except ws::closed when the peer has gone. Nothing is left running.
template <class Handler>
    requires detail::handles_connection<std::remove_reference_t<Handler>>
task<> serve(io::any_stream stream, Handler&& handler, const connection_options& options = {}) {
    WEIR_CHECK_CALLABLE(Handler);
    check(options);
    established begun;
    begun.stream = std::move(stream);
    return detail::serve(std::move(begun), detail::to_handler(std::forward<Handler>(handler)),
                         options);
}

}  // namespace weir::ws
