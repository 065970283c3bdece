// SPDX-License-Identifier: MIT
// An HTTP client: HTTP/1.1 and HTTP/2, kept connections, limits on everything.
//
//     weir::http::client client({.max_connections = 100, .max_per_host = 8, .timeout = 30s});
//     auto answer = co_await client.get("http://127.0.0.1:8080/tasks/7");
//     if (answer.status() == weir::http::status::ok) {
//         std::string text = co_await answer.text();
//     }
//
// An answer with any status is a value; what throws is in client_error.hpp. libcurl speaks the
// protocol, on the loop and without threads; names are looked up by weir::dns. A client belongs to
// the loop that first uses it, and its connections end with that loop.
#pragma once

#include <weir/clock.hpp>
#include <weir/http/address_filter.hpp>
#include <weir/http/client_error.hpp>
#include <weir/http/client_request.hpp>
#include <weir/http/client_response.hpp>
#include <weir/io/tls_context.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weir::dns {
class resolver;
}

namespace weir::http {

namespace detail {
class client_core;
}

// Everything that texts and pointers refer to is copied, the resolver excepted.
struct client_options {
    // Connections at a time, idle ones included; requests beyond wait for one.
    std::size_t max_connections = 100;
    std::size_t max_per_host = 8;
    // How long an idle connection may be kept before it is no longer used.
    clock::duration idle_time = std::chrono::seconds(30);
    // The greatest duration there is: no limit.
    clock::duration timeout = std::chrono::minutes(5);
    clock::duration connect_timeout = std::chrono::seconds(10);
    clock::duration stall_timeout = std::chrono::seconds(60);

    http::redirects redirects = http::redirects::any;
    int max_redirects = 10;
    bool allow_https_to_http = false;  // in redirects

    std::size_t max_header_count = 256;
    std::size_t max_header_bytes = 256 * 1024;
    // Accept-Encoding is sent and what comes is decompressed, up to so many bytes a body.
    bool decompress = true;
    std::uint64_t max_decompressed = 1024 * 1024 * 1024;

    bool http2 = true;  // where a server of https offers it
    // Requests to a host share a connection of HTTP/2. An answer that is not read to its end then
    // holds up the others of that connection.
    bool multiplex = false;

    // Cookies that answers set are sent with later requests, as browsers do.
    bool cookies = false;
    std::string_view user_agent = "weir";
    // 'http://host:port' or 'https://host:port', with user and password if need be; empty: none,
    // also if the environment names one.
    std::string_view proxy{};
    // Trust and certificates; alpn and cached_sessions are the client's own affair.
    tls::client_options tls{};
    // Default: the loop's. Must live as long as the client.
    dns::resolver* resolver = nullptr;
};

struct client_stats {
    std::uint64_t requests = 0;     // sent, redirects included
    std::uint64_t connections = 0;  // opened
    std::size_t open = 0;           // connections now, idle ones included
    std::size_t active = 0;         // requests under way, unread answers included
};

class client {
public:
    // Throws invalid_argument for an option that makes no sense.
    explicit client(const client_options& options = {});
    // The filter is asked about every address that a host's name leads to, and again about the one
    // that is about to be connected to: hosts of redirects and the proxy included. Behind a proxy
    // it is the proxy that connects to hosts; their names are resolved and checked here all the
    // same.
    client(const client_options& options, address_filter filter);
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    // Requests under way end with a transport_error.
    ~client();

    // co_await send(request): the answer, as soon as its head is there. Cancelling ends the request
    // at once, and its connection if anything was sent.
    task<client_response> send(client_request request);
    task<client_response> get(std::string_view url);
    task<client_response> head(std::string_view url);
    task<client_response> post(std::string_view url, http::body content,
                               std::string_view content_type = "application/octet-stream");
    task<client_response> put(std::string_view url, http::body content,
                              std::string_view content_type = "application/octet-stream");
    task<client_response> delete_(std::string_view url);

    // Sent with every request that does not have a header of that name; but Authorization, Cookie
    // and Host not to another origin that a redirect leads to.
    http::headers& default_headers() noexcept;
    client_stats stats() const noexcept;

private:
    std::shared_ptr<detail::client_core> core_;
};

}  // namespace weir::http
