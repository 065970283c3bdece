// SPDX-License-Identifier: MIT
// Serves a WebSocket connection over any stream, after the handshake. ws::accept and
// ws::with_connection use it for HTTP, tests for simulated networks.
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/base/unique_function.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/ws/connection.hpp>

#include <string>
#include <utility>

namespace weir::ws {

// A connection after its handshake.
struct established {
    io::any_stream stream;
    ws::role role = ws::role::server;
    std::string received{};  // bytes that were received after the handshake
    std::string protocol{};
};

namespace detail {

using handler_function = weir::detail::unique_function<task<>(connection&)>;

// Throws what the handler throws, and closes in any case.
task<> run_connection(established opened, handler_function handler, connection_options options);
// The same for a server, where ws::closed is not an error.
task<> serve(established opened, handler_function handler, connection_options options);

template <class Handler>
concept handles_connection = weir::detail::starts_task<Handler&, connection&>;

// An lvalue is referred to, anything else is moved in.
template <class Handler>
handler_function to_handler(Handler&& handler) {
    return [held = weir::detail::held_t<Handler>(std::forward<Handler>(handler))](
               connection& peer) mutable -> task<> { return held(peer); };
}

}  // namespace detail

// Runs handler(connection&) and closes: with normal when it returns, internal_error when it throws,
// and going_away when it is stopped, each with the close handshake within close_timeout. Throws
// what the handler throws, except ws::closed. Nothing is left running.
template <class Handler>
    requires detail::handles_connection<std::remove_reference_t<Handler>>
task<> serve(io::any_stream stream, Handler&& handler, const connection_options& options = {}) {
    WEIR_CHECK_CALLABLE(Handler);
    check(options);
    established opened;
    opened.stream = std::move(stream);
    return detail::serve(std::move(opened), detail::to_handler(std::forward<Handler>(handler)),
                         options);
}

}  // namespace weir::ws
