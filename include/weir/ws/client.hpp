// SPDX-License-Identifier: MIT
// A WebSocket client.
//
//     co_await weir::ws::with_connection("wss://example.com/feed", [&](weir::ws::connection& peer) -> weir::task<> {
//         co_await peer.send("subscribe");
//         while (auto said = co_await peer.receive()) {
//             use(said->text());
//         }
//     });
//
// Connects, runs the body, and closes as ws::serve does: with normal when the body returns, with
// internal_error when it throws, with going_away when it is stopped. Gives the result of the body,
// and throws what it throws, ws::closed included.
#pragma once

#include <weir/clock.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/url.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/ws/serve.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weir::tls {
class context;
}
namespace weir::dns {
class resolver;
}

namespace weir::ws {

struct connect_options {
    clock::duration timeout = std::chrono::seconds(30);  // until the handshake has ended
    std::span<const std::string_view> protocols{};       // offered, by preference
    std::span<const http::header_field> headers{};       // additional headers of the request
    std::string_view origin{};                           // sent as Origin, as a browser does
    const tls::context* tls =
        nullptr;  // for wss; default: the certificate authorities of the system
    dns::resolver* resolver = nullptr;        // default: the loop's
    std::size_t max_header_bytes = 16 << 10;  // of the answer
    connection_options connection{};
};

namespace detail {

// All that the handshake needs, copied from the options.
struct client_plan {
    http::url where;
    std::string request;
    std::string accept;     // the expected answer to our key
    std::string protocols;  // offered: 'a, b'
    clock::duration timeout;
    const tls::context* tls;
    dns::resolver* resolver;
    std::size_t max_header_bytes;
    connection_options connection;
};
client_plan plan(std::string_view url, const connect_options& options);
task<> run_client(client_plan plan, io::any_stream stream, handler_function body);
// Only the handshake, over a stream.
task<established> shake_hands(const client_plan& plan, io::any_stream stream);

template <class T, class Body>
task<T> run_client_for(client_plan plan, io::any_stream stream, Body body) {
    // The tasks have names: some compilers destroy aggregates among the arguments of an awaited
    // call twice.
    if constexpr (std::is_void_v<T>) {
        task<> running = run_client(std::move(plan), std::move(stream), to_handler(body));
        co_await std::move(running);
    } else {
        std::optional<T> result;
        auto keep = [&](connection& peer) -> task<> {
            T value = co_await body(peer);
            result.emplace(std::move(value));
        };
        task<> running = run_client(std::move(plan), std::move(stream), to_handler(keep));
        co_await std::move(running);
        co_return std::move(*result);
    }
}

template <class Body>
concept uses_connection = weir::detail::starts_task<Body&, connection&>;

}  // namespace detail

// Throws invalid_argument for a URL that is not ws:// or wss:// and for invalid options, the errors
// of tcp::connect and tls::connect, handshake_error if the server declines, and timed_out.
template <class Body>
    requires detail::uses_connection<std::remove_reference_t<Body>>
auto with_connection(std::string_view url, Body&& body, const connect_options& options = {}) {
    WEIR_CHECK_CALLABLE(Body);
    using result =
        typename std::invoke_result_t<std::remove_reference_t<Body>&, connection&>::value_type;
    return detail::run_client_for<result, weir::detail::held_t<Body>>(
        detail::plan(url, options), io::any_stream(), std::forward<Body>(body));
}

// Over a connected stream: through a proxy, over a Unix socket, or simulated. For wss it must be
// encrypted already.
template <class Body>
    requires detail::uses_connection<std::remove_reference_t<Body>>
auto with_connection(io::any_stream stream, std::string_view url, Body&& body,
                     const connect_options& options = {}) {
    WEIR_CHECK_CALLABLE(Body);
    using result =
        typename std::invoke_result_t<std::remove_reference_t<Body>&, connection&>::value_type;
    return detail::run_client_for<result, weir::detail::held_t<Body>>(
        detail::plan(url, options), std::move(stream), std::forward<Body>(body));
}

}  // namespace weir::ws
