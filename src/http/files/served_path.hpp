// SPDX-License-Identifier: MIT
// From the path of a request to a path below a folder. No input and no output: for fuzzing too.
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
    bool is_directory = false;  // it ended with a slash, or is empty
};

// Decodes 'css/main.css' as it was sent, without a slash at its front. None for what names nothing
// below a folder: a bad escape, an escaped slash or zero byte, a segment that is empty, '.' or
// '..', more than 4000 bytes. With hides_dots also for a segment that begins with a dot, but
// '.well-known' at the front (RFC 8615).
std::optional<served_path> served_path_of(std::string_view sent, bool hides_dots);

// What is left of the request's path behind the prefix, or, if that is empty, behind what its route
// has before its last parameter ('/static/{path...}'); without a slash at its front. None: it has
// another prefix.
std::optional<std::string_view> rest_of_path(const request& asked,
                                             std::string_view prefix) noexcept;

// To the same path with a slash behind it. The location is relative: no path can be taken for a
// host.
response redirect_to_folder(const request& asked);

}  // namespace weir::http::detail
