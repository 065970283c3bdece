// SPDX-License-Identifier: MIT
// What a client asks for.
//
//     weir::http::client_request wanted(weir::http::method::post, "http://127.0.0.1:8080/tasks");
//     wanted.headers().set("Content-Type", "application/json");
//     wanted.set_body(R"({"name": "x"})");
//     auto answer = co_await client.send(std::move(wanted));
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

// Which redirects are followed. Those of a kind that is not are given to the caller as they are;
// what would be followed but must not be (too many, another scheme, https to http, a body that
// cannot be sent again) throws redirect_error.
enum class redirects : std::uint8_t {
    none,
    same_host,  // and the same port and scheme, or from http to https
    any,
};

class client_request {
public:
    // Throws invalid_argument for what is no http or https URL, or no method.
    client_request(http::method wanted, std::string_view url);
    client_request(http::method wanted, http::url url);
    client_request(std::string_view method_name, std::string_view url);

    http::method method() const noexcept { return method_; }
    const std::string& method_name() const noexcept { return method_name_; }
    const http::url& url() const noexcept { return url_; }
    http::headers& headers() noexcept { return headers_; }
    const http::headers& headers() const noexcept { return headers_; }
    http::body& body() noexcept { return body_; }
    const http::body& body() const noexcept { return body_; }

    // A text can be sent again, after a redirect; a stream cannot. A stream's function may refer to
    // what lives until send() has ended: it has ended then, too.
    client_request& set_body(http::body content);
    client_request& set_body(http::body content, std::string_view content_type);
    client_request& set_header(std::string_view name, std::string_view value);
    // The header Authorization.
    client_request& set_basic_auth(std::string_view user, std::string_view password);
    client_request& set_bearer(std::string_view token);

    // In place of the client's. The greatest duration there is: no limit.
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
    // A redirect led elsewhere: the client's default headers may have secrets that are not for
    // there.
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
