// SPDX-License-Identifier: MIT
// Which responses are redirects to follow, and the request that follows.
#pragma once

#include <weir/http/client.hpp>
#include <weir/http/client_request.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/status.hpp>
#include <weir/http/url.hpp>

#include <optional>
#include <string_view>

namespace weir::http::detail {

// Headers for one origin, which no other origin gets: Authorization, Cookie, Host, ...
bool is_origin_secret(std::string_view name) noexcept;

// The target to follow, or none if the response, with this status and these headers, is for the
// caller. Throws redirect_error if redirects of this kind are followed, but this one must not be.
std::optional<http::url> redirect_target(const client_request& request, http::status code,
                                         const http::headers& fields, redirects followed,
                                         const client_options& options);
// Turns the request into the next one. `sent` is the body that was sent, unless it was a stream.
void follow_redirect(client_request& request, http::status code, http::body sent,
                     const http::url& target);

}  // namespace weir::http::detail
