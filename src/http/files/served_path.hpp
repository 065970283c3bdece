// SPDX-License-Identifier: MIT
// The path of a request as a path below a folder. Does no I/O, so that it can be fuzzed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::http {
class request;
class response;
}  // namespace weir::http

namespace weir::http::detail {

struct served_path {
    std::string text;           // 'css/main.css'; empty: the folder itself
    bool is_directory = false;  // the path is empty or ends with a slash
};

// Decodes a path without a leading slash, 'css/main.css'. Empty for a path that names nothing below
// a folder: with an invalid escape, an escaped slash or zero byte, a segment that is empty, '.' or
// '..', or more than 4000 bytes. With hides_dots also for a segment that begins with a dot, except
// '.well-known' as the first (RFC 8615).
std::optional<served_path> served_path_of(std::string_view sent, bool hides_dots);

// The request's path after the prefix or, if that is empty, after what its route has before the
// last parameter ('/static/{path...}'); without a leading slash. Empty if the path has another
// prefix.
std::optional<std::string_view> rest_of_path(const request& request,
                                             std::string_view prefix) noexcept;

// A redirect to the same path with a final slash. The location is relative, so that no path can be
// taken for a host.
response redirect_to_folder(const request& request);

}  // namespace weir::http::detail
