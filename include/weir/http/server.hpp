// SPDX-License-Identifier: MIT
// An HTTP/1.1 server.
//
//     int main() {
//         http::router app;
//         app.get("/", [] { return http::response::text("hello"); });
//         return weir::run_main(http::serve(weir::io::address::parse(":8080"), std::move(app)));
//     }
//
// Connections are kept and pipelined requests answered in order, one at a time. Every size, time
// and count that a client decides has a limit. What can be read in two ways is refused with 400,
// and the connection closed. Stopped, the server closes its door, ends idle connections at once,
// lets requests under way be answered within the drain deadline ('Connection: close'), then stops
// the rest.
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
    std::uint64_t refused = 0;            // no HTTP, or ambiguous: of the client errors
    std::uint64_t too_slow = 0;           // cut off for it, while idle connections are not counted
    std::uint64_t broken_off = 0;         // answers that could not be sent to their end
    std::uint64_t upgraded = 0;           // to another protocol
    std::uint64_t failed_handshakes = 0;  // of TLS
    tcp::server_stats connections;
};

struct server_options {
    std::size_t max_header_bytes = 16 << 10;  // the request line and all headers
    std::size_t max_headers = 100;
    std::uint64_t max_body_bytes =
        1 << 20;  // request::limit_body() and the body_limit middleware lower it
    // From the first byte of a request to the end of its headers; for the first request of a
    // connection, from when it was accepted.
    clock::duration header_timeout = std::chrono::seconds(10);
    // For waiting on a body, in all; a body that comes faster than the rate gains time as it comes.
    clock::duration body_timeout = std::chrono::seconds(30);
    std::uint64_t min_body_rate = 1 << 10;  // bytes a second
    // For the client to take 64 KiB of an answer.
    clock::duration write_timeout = std::chrono::seconds(30);
    // Between requests.
    clock::duration idle_timeout = std::chrono::seconds(60);
    std::size_t max_requests = 100'000;  // of one connection
    // Accept with TLS. Referred to, as the server runs.
    const tls::context* tls = nullptr;
    std::string_view server_name{};  // the header 'Server'; referred to; none if empty
    bool send_date = true;
    tcp::serve_options connections{};
};

class server {
public:
    using hook = weir::detail::unique_function<task<>()>;

    // Throws invalid_argument for options that make no sense.
    explicit server(handler app, const server_options& options = {});
    server(server&&) noexcept;
    ~server();

    // Awaited in order before the server listens: no request comes before all have ended. One that
    // throws ends serve() with its error.
    server& on_start(hook before);
    // Awaited in reverse order, shielded, when the last connection has gone; also where a start
    // hook failed: as many as there are start hooks that have ended, if both were given in pairs.
    // One that throws keeps none of the others from running; serve() ends with the first error.
    server& on_stop(hook after);

    // Until it is stopped. Throws io_error if it cannot listen. A server serves once at a time.
    task<> serve(io::address at);
    task<> serve(io::listener door);

    const server_stats& stats() const noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

// A server without hooks.
task<> serve(io::address at, handler app, server_options options = {});
task<> serve(io::listener door, handler app, server_options options = {});

// One connection, wherever it comes from, to its end. Those of tests are simulated.
task<> serve_connection(io::any_stream stream, handler& app, server_options options,
                        tcp::session& session);

}  // namespace weir::http
