// SPDX-License-Identifier: MIT
// As RFC 9110 section 15.4 and browsers have it: 303 always becomes a GET, 301 and 302 turn a POST
// into a GET, 307 and 308 keep method and body. Headers that are secrets of one origin are not sent
// to another.

#include "http/client/redirect.hpp"

#include "http/transfer/transfer_error.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace weir::http::detail {

namespace {

constexpr std::array<std::string_view, 4> origin_secrets{"Authorization", "Cookie",
                                                         "Proxy-Authorization", "Host"};

bool has_target(http::status code) noexcept {
    switch (code) {
        case http::status::moved_permanently:
        case http::status::found:
        case http::status::see_other:
        case http::status::temporary_redirect:
        case http::status::permanent_redirect:
            return true;
        default:
            return false;
    }
}

bool is_same_origin(const http::url& from, const http::url& to) noexcept {
    return from.scheme() == to.scheme() && from.host() == to.host() && from.port() == to.port();
}

// A change from http to https counts as the same host.
bool is_same_host(const http::url& from, const http::url& to) noexcept {
    return from.host() == to.host() &&
           (from.port() == to.port() || (from.has_default_port() && to.has_default_port()));
}

bool becomes_get(http::status code, http::method method) noexcept {
    if (method == http::method::get || method == http::method::head) {
        return false;
    }
    return code == http::status::see_other ||
           ((code == http::status::moved_permanently || code == http::status::found) &&
            method == http::method::post);
}

[[noreturn]] void throw_bad_redirect(const client_request& request, http::status code,
                                     const char* reason) {
    throw redirect_error(description_of(request) + ": " + std::to_string(number_of(code)) +
                         ", but " + reason);
}

}  // namespace

bool is_origin_secret(std::string_view name) noexcept {
    return std::any_of(origin_secrets.begin(), origin_secrets.end(),
                       [&](std::string_view each) { return same_name(name, each); });
}

std::optional<http::url> redirect_target(const client_request& request, http::status code,
                                         const http::headers& fields, redirects followed,
                                         const client_options& options) {
    if (!has_target(code) || followed == redirects::none) {
        return {};
    }
    const std::string_view location = fields.get("Location");
    if (location.empty()) {
        return {};
    }
    const http::url& from = request.url();
    const std::optional<http::url> target = from.try_resolve(location);
    if (!target.has_value()) {
        throw_bad_redirect(request, code, "its Location is not an http or https URL");
    }
    if (followed == redirects::same_host && !is_same_host(from, *target)) {
        return {};
    }
    if (target->scheme() != "http" && target->scheme() != "https") {
        throw_bad_redirect(request, code, "its Location is not an http or https URL");
    }
    if (from.is_secure() && !target->is_secure() && !options.allow_https_to_http) {
        throw_bad_redirect(request, code, "it leads from https to http");
    }
    if (request.body().is_stream() && !becomes_get(code, request.method())) {
        throw_bad_redirect(request, code, "the body is a stream, which cannot be sent again");
    }
    // Credentials in a Location are the server's choice, not the caller's.
    return target->has_credentials() ? target->without_credentials() : target;
}

void follow_redirect(client_request& request, http::status code, http::body sent,
                     const http::url& target) {
    http::headers& fields = request.headers();
    if (!is_same_origin(request.url(), target)) {
        for (const std::string_view secret : origin_secrets) {
            fields.remove(secret);
        }
        request.leave_origin();
    }
    http::method method = request.method();
    if (becomes_get(code, method)) {
        method = http::method::get;
        request.set_body({});
        for (const char* const body_field :
             {"Content-Type", "Content-Length", "Transfer-Encoding", "Content-Encoding",
              "Content-Language", "Content-Location", "Expect"}) {
            fields.remove(body_field);
        }
    } else if (!request.body().is_stream()) {
        request.set_body(std::move(sent));
    }
    request.change_target(method, target.fragment().empty() ? target : target.without_fragment());
}

}  // namespace weir::http::detail
