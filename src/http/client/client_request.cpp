// SPDX-License-Identifier: MIT
// User and password in the URL become the header Authorization at once, so that the request's URL
// never contains them, neither in messages nor for libcurl.

#include "base/base64.hpp"

#include <weir/error.hpp>
#include <weir/http/client_request.hpp>

#include <array>

namespace weir::http {

namespace {

void check_time(clock::duration value, const char* what) {
    if (value <= clock::duration::zero()) {
        throw invalid_argument(std::string("client_request::") + what + ": " +
                               std::to_string(value.count()) + " ns must be more than 0");
    }
}

std::string name_for(method chosen) {
    if (chosen == method::other || chosen == method::connect) {
        throw invalid_argument(
            "client_request: method::other has no name, and CONNECT is not supported");
    }
    return std::string(name_of(chosen));
}

}  // namespace

client_request::client_request(http::method method, http::url url)
    : method_(method), method_name_(name_for(method)), url_(std::move(url)) {
    take_credentials();
}

client_request::client_request(http::method method, std::string_view url)
    : client_request(method, http::url::parse(url)) {}

client_request::client_request(std::string_view method_name, std::string_view url)
    : method_(method_of(method_name)), method_name_(method_name), url_(http::url::parse(url)) {
    if (!is_token(method_name) || method_ == http::method::connect) {
        throw invalid_argument("client_request: '" + method_name_ +
                               "' is not a method that can be sent");
    }
    take_credentials();
}

void client_request::take_credentials() {
    if (url_.scheme() != "http" && url_.scheme() != "https") {
        throw invalid_argument("client_request: '" + without_password(url_.text()) +
                               "' must be an http or https URL");
    }
    if (url_.has_credentials()) {
        set_basic_auth(url_.user(), url_.password());
        url_ = url_.without_credentials();
    }
    if (!url_.fragment().empty()) {
        url_ = url_.without_fragment();
    }
}

client_request& client_request::set_body(http::body content) {
    body_ = std::move(content);
    return *this;
}

client_request& client_request::set_body(http::body content, std::string_view content_type) {
    headers_.set("Content-Type", content_type);
    return set_body(std::move(content));
}

client_request& client_request::set_header(std::string_view name, std::string_view value) {
    headers_.set(name, value);
    return *this;
}

client_request& client_request::set_basic_auth(std::string_view user, std::string_view password) {
    if (user.find(':') != std::string_view::npos) {
        throw invalid_argument(
            "client_request::set_basic_auth: the user name must not contain ':'");
    }
    headers_.set("Authorization",
                 "Basic " + base::encode_base64(std::string(user) + ':' + std::string(password)));
    return *this;
}

client_request& client_request::set_bearer(std::string_view token) {
    headers_.set("Authorization", "Bearer " + std::string(token));
    return *this;
}

client_request& client_request::set_timeout(clock::duration total) {
    check_time(total, "set_timeout");
    limits_.total = total;
    return *this;
}
client_request& client_request::set_connect_timeout(clock::duration limit) {
    check_time(limit, "set_connect_timeout");
    limits_.connect = limit;
    return *this;
}
client_request& client_request::set_stall_timeout(clock::duration limit) {
    check_time(limit, "set_stall_timeout");
    limits_.stall = limit;
    return *this;
}
client_request& client_request::set_redirects(redirects followed) noexcept {
    limits_.followed = followed;
    return *this;
}

void client_request::change_target(http::method method, http::url url) {
    if (method != method_) {
        method_ = method;
        method_name_ = name_for(method);
    }
    url_ = std::move(url);
}

}  // namespace weir::http
