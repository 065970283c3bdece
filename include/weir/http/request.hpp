// SPDX-License-Identifier: MIT
// A request, as a handler gets it.
//
//     const auto id = request.param("id");                  // of a route '/tasks/{id}'
//     const auto page = request.query("page");              // an optional<std::string>
//     const std::string body = co_await request.text();     // at most what the server allows
//
// Valid while the handler runs, as are its views. To call a handler without a server, in tests for
// example, make one: request(method::post, "/tasks"), set_body(...).
#pragma once

#include <weir/http/body.hpp>
#include <weir/http/error.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/method.hpp>
#include <weir/io/address.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::http {

namespace detail {

template <class T>
inline constexpr char tag_of = 0;  // its address stands for the type

// The part of a request before the body. Reused for the next request, so that nothing is allocated.
struct request_head {
    http::method method = http::method::get;
    std::string method_name = "GET";
    std::string target = "/";
    unsigned minor_version = 1;  // HTTP/1.x
    headers fields;
    bool keep_alive = true;
    bool expects_continue = false;
    bool wants_upgrade = false;
    bool is_chunked = false;
    std::optional<std::uint64_t> content_length;  // empty: no body, unless chunked
};

}  // namespace detail

class request {
public:
    request() = default;
    explicit request(http::method which, std::string_view target = "/");
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    http::method method() const noexcept { return head_.method; }
    std::string_view method_name() const noexcept { return head_.method_name; }
    // Unchanged, still encoded: '/a%20b?c=d'.
    std::string_view target() const noexcept { return head_.target; }
    // The part of the target before '?', still encoded.
    std::string_view path() const noexcept;
    std::string_view query_string() const noexcept;
    // The first parameter of that name, decoded ('+' is a blank); "" if it has no value.
    std::optional<std::string> query(std::string_view name) const;
    // A parameter of the route, decoded; empty if the route has no such parameter.
    std::string_view param(std::string_view name) const noexcept;

    http::headers& headers() noexcept { return head_.fields; }
    const http::headers& headers() const noexcept { return head_.fields; }
    std::string_view header(std::string_view name) const noexcept { return head_.fields.get(name); }
    std::string_view host() const noexcept { return head_.fields.get("Host"); }
    unsigned minor_version() const noexcept { return head_.minor_version; }  // of HTTP/1.x

    // The peer of the connection, and the client: the same, unless trusted_proxies has found the
    // client behind a proxy.
    const io::address& remote_address() const noexcept { return remote_; }
    const io::address& client_address() const noexcept { return client_; }
    void set_client_address(const io::address& who) noexcept { client_ = who; }
    bool is_secure() const noexcept { return is_secure_; }
    // False once the client has closed the connection, or its own direction of it. The server stops
    // a handler whose client has left (server_options::disconnect_grace), a moment later; ask here
    // right before work that is lost if nobody takes the response. Costs a system call.
    bool is_client_connected() const noexcept {
        return content_ == nullptr || content_->is_client_connected();
    }
    // The pattern that matched, '/tasks/{id}', for logs and metrics; empty before routing.
    std::string_view route() const noexcept { return route_; }

    // Empty if there is no body, or if its length is unknown.
    std::optional<std::uint64_t> content_length() const noexcept { return head_.content_length; }
    bool has_body() const noexcept {
        return head_.is_chunked || head_.content_length.value_or(0) > 0;
    }
    // Reads at least one byte of the body; 0 at its end. Throws protocol_error, which answers the
    // request unless the handler catches it: 413 for a body above the limit, 400 for invalid
    // framing or a client that disconnected, 408 for a client that is too slow. If it is stopped
    // while it waits, the rest of the body is lost, and further reads throw a 400.
    task<std::size_t> read(io::bytes into);
    // The rest of the body.
    task<std::string> text();
    // Refuses a larger body, even if the server allows more.
    void limit_body(std::uint64_t bytes);

    // Attaches an object, at most one of each type, for middleware that passes results on.
    template <class T>
    T& attach(T value) {
        auto held = std::make_shared<T>(std::move(value));
        T& place = *held;
        put(&detail::tag_of<T>, std::move(held));
        return place;
    }
    // Null if there is none.
    template <class T>
    T* attached() const noexcept {
        return static_cast<T*>(find(&detail::tag_of<T>));
    }

    // For tests.
    void set_body(std::string content);
    void set_remote_address(const io::address& who) noexcept { remote_ = client_ = who; }

    // For routers.
    void set_route(std::string_view pattern) { route_ = pattern; }
    void add_param(std::string_view name, std::string value) {
        params_.emplace_back(name, std::move(value));
    }
    void clear_params() noexcept { params_.clear(); }

    // For servers: prepares for the next request of the connection.
    detail::request_head& reset();
    void connect(body_reader* content, const io::address& remote, bool is_secure) noexcept;

private:
    void put(const void* tag, std::shared_ptr<void> value);
    void* find(const void* tag) const noexcept;

    detail::request_head head_;
    std::string_view route_;
    std::vector<std::pair<std::string_view, std::string>> params_;
    std::vector<std::pair<const void*, std::shared_ptr<void>>> attached_;
    body_reader* content_ = nullptr;
    std::unique_ptr<std::string> own_body_;  // of set_body()
    io::address remote_;
    io::address client_;
    bool is_secure_ = false;
};

}  // namespace weir::http
