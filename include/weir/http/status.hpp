// SPDX-License-Identifier: MIT
// The status of an answer. Any number from 100 to 999 can be cast to it; those with a name are
// here.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::http {

enum class status : std::uint16_t {
    continue_ = 100,
    switching_protocols = 101,
    ok = 200,
    created = 201,
    accepted = 202,
    no_content = 204,
    partial_content = 206,
    moved_permanently = 301,
    found = 302,
    see_other = 303,
    not_modified = 304,
    temporary_redirect = 307,
    permanent_redirect = 308,
    bad_request = 400,
    unauthorized = 401,
    forbidden = 403,
    not_found = 404,
    method_not_allowed = 405,
    not_acceptable = 406,
    request_timeout = 408,
    conflict = 409,
    gone = 410,
    length_required = 411,
    precondition_failed = 412,
    content_too_large = 413,
    uri_too_long = 414,
    unsupported_media_type = 415,
    range_not_satisfiable = 416,
    expectation_failed = 417,
    misdirected_request = 421,
    unprocessable_content = 422,
    upgrade_required = 426,
    precondition_required = 428,
    too_many_requests = 429,
    request_header_fields_too_large = 431,
    internal_server_error = 500,
    not_implemented = 501,
    bad_gateway = 502,
    service_unavailable = 503,
    gateway_timeout = 504,
    http_version_not_supported = 505,
};

constexpr unsigned number_of(status code) noexcept {
    return static_cast<unsigned>(code);
}
// 'Not Found'; empty for a number without a name.
std::string_view reason_of(status code) noexcept;

constexpr bool is_success(status code) noexcept {
    return number_of(code) / 100 == 2;
}
constexpr bool is_redirect(status code) noexcept {
    return number_of(code) / 100 == 3;
}
constexpr bool is_error(status code) noexcept {
    return number_of(code) >= 400;
}
// 1xx, 204 and 304 never have a body; nor do responses to HEAD.
constexpr bool may_have_body(status code) noexcept {
    return number_of(code) >= 200 && code != status::no_content && code != status::not_modified;
}

}  // namespace weir::http
