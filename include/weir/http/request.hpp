// SPDX-License-Identifier: MIT
// What a handler is asked.
//
//     const auto id = request.param("id");                  // of a route '/tasks/{id}'
//     const auto page = request.query("page");              // an optional<std::string>
//     const std::string body = co_await request.text();     // at most what the server allows
//
// Valid while the handler runs, as are the views that it gives. For tests, and for calls of
// handlers without a server, make one: request(method::post, "/tasks"), set_body(...).
#pragma once

#include <weir/http/body.hpp>
#include <weir/http/detail/request_head.hpp>
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
}

class request {
public:
    request() = default;
    explicit request(http::method which, std::string_view target = "/");
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    http::method method() const noexcept { return head_.method; }
    std::string_view method_name() const noexcept { return head_.method_name; }
    // As it was sent: '/a%20b?c=d'.
    std::string_view target() const noexcept { return head_.target; }
    // The part before '?', as it was sent.
    std::string_view path() const noexcept;
    std::string_view query_string() const noexcept;
    // The first parameter of that name, decoded ('+' is a blank); "" for one without a value.
    std::optional<std::string> query(std::string_view name) const;
    // From the path, decoded; empty if the route has no such parameter.
    std::string_view param(std::string_view name) const noexcept;

    http::headers& headers() noexcept { return head_.fields; }
    const http::headers& headers() const noexcept { return head_.fields; }
    std::string_view header(std::string_view name) const noexcept { return head_.fields.get(name); }
    std::string_view host() const noexcept { return head_.fields.get("Host"); }
    unsigned minor_version() const noexcept { return head_.minor_version; }  // of HTTP/1.x

    // Whose connection it is, and who is behind it: a trusted proxy may have said so (see
    // middleware.hpp); otherwise the same.
    const io::address& remote_address() const noexcept { return remote_; }
    const io::address& client_address() const noexcept { return client_; }
    void set_client_address(const io::address& who) noexcept { client_ = who; }
    bool is_secure() const noexcept { return is_secure_; }
    // The pattern that was matched, '/tasks/{id}', for logs and metrics; empty before routing.
    std::string_view route() const noexcept { return route_; }

    // None: there is no body, or nobody said how long it will be.
    std::optional<std::uint64_t> content_length() const noexcept { return head_.content_length; }
    bool has_body() const noexcept {
        return head_.is_chunked || head_.content_length.value_or(0) > 0;
    }
    // At least one byte of the body, or 0 at its end. Throws protocol_error, which answers the
    // request if it is let through: 413 for more than is allowed, 400 for bad framing or a client
    // that went away, 408 for one that is too slow. Stopped while it waits: the rest is lost, and
    // reading on is a 400.
    task<std::size_t> read(io::bytes into);
    // The rest of it.
    task<std::string> text();
    // More than so many bytes are refused, whatever the server allows otherwise.
    void limit_body(std::uint64_t bytes);

    // Something a middleware found out, by its type.
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

    // For servers: forgets all of the former request, and is filled anew.
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
    std::unique_ptr<std::string> own_body_;  // of set_body
    io::address remote_;
    io::address client_;
    bool is_secure_ = false;
};

}  // namespace weir::http
