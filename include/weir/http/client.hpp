// SPDX-License-Identifier: MIT
// An HTTP client: HTTP/1.1 and HTTP/2, kept connections, limits on everything.
//
//     weir::http::client client({.max_connections = 100, .max_per_host = 8, .timeout = 30s});
//     auto response = co_await client.get("http://127.0.0.1:8080/tasks/7");
//     if (response.status() == weir::http::status::ok) {
//         std::string text = co_await response.text();
//     }
//
// A response with any status is a value; client_error.hpp lists what is thrown. libcurl implements
// the protocol, on the loop and without threads; weir::dns looks up names. A client belongs to the
// loop that first uses it, and its connections close with that loop.
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

// The client copies all texts; the resolver must outlive it.
struct client_options {
    // Open connections, idle ones included; further requests wait for one.
    std::size_t max_connections = 100;
    std::size_t max_per_host = 8;
    // An idle connection is not used again after this time.
    clock::duration idle_time = std::chrono::seconds(30);
    // clock::duration::max(): no limit.
    clock::duration timeout = std::chrono::minutes(5);
    clock::duration connect_timeout = std::chrono::seconds(10);
    clock::duration stall_timeout = std::chrono::seconds(60);

    http::redirects redirects = http::redirects::any;
    int max_redirects = 10;
    bool allow_https_to_http = false;  // in redirects

    std::size_t max_header_count = 256;
    // libcurl itself accepts up to 300 KiB, and lines of up to 100 KiB.
    std::size_t max_header_bytes = 256 * 1024;
    // Send Accept-Encoding and decompress bodies, up to max_decompressed bytes each.
    bool decompress = true;
    std::uint64_t max_decompressed = 1024 * 1024 * 1024;

    bool http2 = true;  // where an https server offers it
    // Requests to a host share an HTTP/2 connection. A response that is not read to its end then
    // blocks the others on that connection.
    bool multiplex = false;

    // Cookies that responses set are sent with later requests, as browsers do.
    bool cookies = false;
    std::string_view user_agent = "weir";
    // 'http://host:port' or 'https://host:port', optionally with user and password. Empty: no
    // proxy, even if the environment names one.
    std::string_view proxy{};
    // Trust and certificates; the client sets alpn and cached_sessions itself.
    tls::client_options tls{};
    // Default: the loop's resolver. Must outlive the client.
    dns::resolver* resolver = nullptr;
};

struct client_stats {
    std::uint64_t requests = 0;     // sent, redirects included
    std::uint64_t connections = 0;  // opened
    std::size_t open = 0;           // connections now, idle ones included
    std::size_t active = 0;         // requests in flight, unread responses included
};

class client {
public:
    // Throws invalid_argument for an invalid option.
    explicit client(const client_options& options = {});
    // The filter checks every address that a host name resolves to, and again the address that the
    // client connects to; hosts of redirects and the proxy included. Behind a proxy, the proxy
    // connects to hosts; the client resolves and checks their names all the same.
    client(const client_options& options, address_filter filter);
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    // Requests in flight end with a transport_error.
    ~client();

    // co_await send(request): the response, as soon as its head has been received. Cancelling ends
    // the request at once, and closes its connection if anything was sent.
    task<client_response> send(client_request request);
    task<client_response> get(std::string_view url);
    task<client_response> head(std::string_view url);
    task<client_response> post(std::string_view url, http::body content,
                               std::string_view content_type = "application/octet-stream");
    task<client_response> put(std::string_view url, http::body content,
                              std::string_view content_type = "application/octet-stream");
    task<client_response> delete_(std::string_view url);

    // Sent with every request that does not set the same header. Authorization, Cookie and Host are
    // not sent to another origin that a redirect leads to.
    http::headers& default_headers() noexcept;
    client_stats stats() const noexcept;

private:
    std::shared_ptr<detail::client_core> core_;
};

}  // namespace weir::http
