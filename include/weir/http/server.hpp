// SPDX-License-Identifier: MIT
// An HTTP/1.1 server.
//
//     int main() {
//         http::router app;
//         app.get("/", [] { return http::response::text("hello"); });
//         return weir::run_main(http::serve(weir::io::address::parse(":8080"), std::move(app)));
//     }
//
// Connections are kept, and pipelined requests are answered in order, one at a time. Every size,
// time and count that a client decides has a limit. A request that can be read in two ways is
// answered with 400, and the connection is closed. When the server is stopped, it stops listening,
// closes idle connections at once, lets requests in flight be answered within the drain deadline
// ('Connection: close'), and then stops the rest.
//
// On several loops: the same on each, with {.connections = {.listen = {.reuse_port = true}}}.
#pragma once

#include <weir/base/unique_function.hpp>
#include <weir/clock.hpp>
#include <weir/http/handler.hpp>
#include <weir/io/address.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/serve.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace weir::tls {
class context;
}

namespace weir::http {

struct server_stats {
    std::uint64_t requests = 0;
    std::uint64_t client_errors = 0;      // answered with 4xx, by handlers or by the server itself
    std::uint64_t server_errors = 0;      // answered with 5xx
    std::uint64_t refused = 0;            // client errors that were no valid HTTP
    std::uint64_t too_slow = 0;           // connections cut by a timeout other than idle_timeout
    std::uint64_t broken_off = 0;         // responses that could not be sent completely
    std::uint64_t abandoned = 0;          // requests that were stopped because the client had left
    std::uint64_t upgraded = 0;           // connections that changed to another protocol
    std::uint64_t failed_handshakes = 0;  // of TLS
    tcp::server_stats connections;
};

struct server_options {
    std::size_t max_header_bytes = 16 << 10;  // the request line and all headers
    std::size_t max_headers = 100;
    // request::limit_body() and the middleware body_limit can only lower it.
    std::uint64_t max_body_bytes = 1 << 20;
    // From the first byte of a request to the end of its headers; for the first request of a
    // connection, from the moment it was accepted.
    clock::duration header_timeout = std::chrono::seconds(10);
    // For waiting on a body, in total. A body that arrives faster than min_body_rate gets more
    // time.
    clock::duration body_timeout = std::chrono::seconds(30);
    std::uint64_t min_body_rate = 1 << 10;  // bytes a second
    // For the client to take 64 KiB of a response.
    clock::duration write_timeout = std::chrono::seconds(30);
    // Between requests.
    clock::duration idle_timeout = std::chrono::seconds(60);
    std::size_t max_requests = 100'000;  // of one connection
    // A client that disconnects stops the handler of its request, and the function of a streamed
    // body. A client that ends its own direction within this time behind the request waits for the
    // response, and only a reset stops its handler. A handler that must not be stopped uses
    // shield(); clock::duration::max() leaves all handlers alone.
    clock::duration disconnect_grace = std::chrono::milliseconds(100);
    // Accept with TLS. Must outlive the server.
    const tls::context* tls = nullptr;
    // The header 'Server'; empty: none. Must outlive the server.
    std::string_view server_name{};
    bool send_date = true;
    tcp::serve_options connections{};
};

class server {
public:
    using hook = weir::detail::unique_function<task<>()>;

    // Throws invalid_argument for an empty handler or invalid options.
    explicit server(handler app, const server_options& options = {});
    server(server&&) noexcept;
    ~server();

    // Awaited in order before the server listens: no request is accepted before all have ended. A
    // start hook that throws ends serve() with its error.
    server& on_start(hook function);
    // Awaited in reverse order, shielded, when the last connection has gone. If a start hook
    // failed, only as many stop hooks run as start hooks have succeeded, for hooks given in pairs.
    // A stop hook that throws does not keep the others from running; serve() ends with the first
    // error.
    server& on_stop(hook function);

    // Serves until it is stopped. Throws io_error if it cannot listen. A server serves once at a
    // time.
    task<> serve(io::address address);
    task<> serve(io::listener listener);

    const server_stats& stats() const noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

// A server without hooks.
task<> serve(io::address address, handler app, server_options options = {});
task<> serve(io::listener listener, handler app, server_options options = {});

// Serves one connection of any kind to its end; tests use it with simulated streams.
task<> serve_connection(io::any_stream stream, handler& app, server_options options,
                        tcp::session& session);

}  // namespace weir::http
