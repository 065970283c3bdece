// SPDX-License-Identifier: MIT
// As RFC 9110 section 15.4 and browsers have it: 303 always becomes a GET, 301 and 302 make a GET
// of a POST, 307 and 308 keep method and body. What was meant for one origin does not go to
// another.

#include "http/client/redirect.hpp"

namespace weir::http::detail {

namespace {

bool is_same_origin(const http::url& from, const http::url& to) noexcept {
    return from.scheme() == to.scheme() && from.host() == to.host() && from.port() == to.port();
}

bool becomes_get(http::status code, http::method method) noexcept {
    if (method == http::method::get || method == http::method::head) {
        return false;
    }
    return code == http::status::see_other ||
           ((code == http::status::moved_permanently || code == http::status::found) &&
            method == http::method::post);
}

[[noreturn]] void refuse(const transfer& answered, const std::string& why) {
    throw redirect_error(std::string(answered.what()) + ": " +
                         std::to_string(number_of(answered.status())) + ", but " + why);
}

}  // namespace

std::optional<http::url> redirect_target(const transfer& answered, const client_request& wanted,
                                         redirects followed, const client_options& options) {
    switch (answered.status()) {
        case http::status::moved_permanently:
        case http::status::found:
        case http::status::see_other:
        case http::status::temporary_redirect:
        case http::status::permanent_redirect:
            break;
        default:
            return {};
    }
    const std::optional<std::string_view> location = answered.fields().find("Location");
    if (followed == redirects::none || !location.has_value() || location->empty()) {
        return {};
    }
    std::optional<http::url> target = wanted.url().try_resolve(*location);
    if (!target.has_value()) {
        refuse(answered, "its Location is no http or https URL");
    }
    const http::url& from = wanted.url();
    if (followed == redirects::same_host &&
        (target->host() != from.host() ||
         (target->port() != from.port() &&
          !(from.has_default_port() && target->has_default_port())))) {
        return {};
    }
    if (target->scheme() != "http" && target->scheme() != "https") {
        refuse(answered, "its Location is no http or https URL");
    }
    if (from.is_secure() && !target->is_secure() && !options.allow_https_to_http) {
        refuse(answered, "it leads from https to http");
    }
    if (wanted.body().is_stream() && !becomes_get(answered.status(), wanted.method())) {
        refuse(answered, "the body is a stream, which cannot be sent again");
    }
    // Who is asked for in a Location is not who the caller is.
    return target->has_credentials() ? target->without_credentials() : std::move(target);
}

void follow(client_request& wanted, transfer& answered, const http::url& target) {
    http::headers& fields = wanted.headers();
    if (!is_same_origin(wanted.url(), target)) {
        for (const std::string_view secret : secrets_of_an_origin) {
            fields.remove(secret);
        }
        wanted.leave_origin();
    }
    http::method method = wanted.method();
    if (becomes_get(answered.status(), method)) {
        method = http::method::get;
        wanted.set_body({});
        for (const char* const of_body :
             {"Content-Type", "Content-Length", "Transfer-Encoding", "Content-Encoding",
              "Content-Language", "Content-Location", "Expect"}) {
            fields.remove(of_body);
        }
    } else if (!wanted.body().is_stream()) {
        wanted.set_body(answered.take_sent());
    }
    wanted.change_target(method, target.fragment().empty() ? target : target.without_fragment());
}

}  // namespace weir::http::detail
