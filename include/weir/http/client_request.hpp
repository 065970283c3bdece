// SPDX-License-Identifier: MIT
// A request to be sent by a client.
//
//     weir::http::client_request request(weir::http::method::post, "http://127.0.0.1:8080/tasks");
//     request.headers().set("Content-Type", "application/json");
//     request.set_body(R"({"name": "x"})");
//     auto response = co_await client.send(std::move(request));
#pragma once

#include <weir/clock.hpp>
#include <weir/http/body.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/method.hpp>
#include <weir/http/url.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::http {

// Which redirects the client follows. It returns others to the caller as responses. A redirect that
// would be followed but must not be (too many, another scheme, https to http, a body that cannot be
// sent again) throws redirect_error.
enum class redirects : std::uint8_t {
    none,
    same_host,  // and the same port and scheme, or from http to https
    any,
};

class client_request {
public:
    // Throws invalid_argument unless the URL is http or https and the method is valid.
    client_request(http::method method, std::string_view url);
    client_request(http::method method, http::url url);
    client_request(std::string_view method_name, std::string_view url);

    http::method method() const noexcept { return method_; }
    const std::string& method_name() const noexcept { return method_name_; }
    const http::url& url() const noexcept { return url_; }
    http::headers& headers() noexcept { return headers_; }
    const http::headers& headers() const noexcept { return headers_; }
    http::body& body() noexcept { return body_; }
    const http::body& body() const noexcept { return body_; }

    // A text can be sent again after a redirect, a stream cannot. A stream's function may refer to
    // anything that lives until send() has ended: the function has ended by then.
    client_request& set_body(http::body content);
    client_request& set_body(http::body content, std::string_view content_type);
    client_request& set_header(std::string_view name, std::string_view value);
    // Set the header Authorization.
    client_request& set_basic_auth(std::string_view user, std::string_view password);
    client_request& set_bearer(std::string_view token);

    // In place of the client's limits. clock::duration::max(): no limit.
    client_request& set_timeout(clock::duration total);
    client_request& set_connect_timeout(clock::duration limit);
    client_request& set_stall_timeout(clock::duration limit);
    client_request& set_redirects(redirects followed) noexcept;

    // For the client.
    struct limits {
        std::optional<clock::duration> total{}, connect{}, stall{};
        std::optional<redirects> followed{};
    };
    const limits& own_limits() const noexcept { return limits_; }
    void change_target(http::method method, http::url url);
    // A redirect led to another origin: secrets in the client's default headers are not sent there.
    void leave_origin() noexcept { has_left_origin_ = true; }
    bool has_left_origin() const noexcept { return has_left_origin_; }

private:
    void take_credentials();

    http::method method_;
    std::string method_name_;
    http::url url_;
    http::headers headers_;
    http::body body_;
    limits limits_;
    bool has_left_origin_ = false;
};

}  // namespace weir::http
