// SPDX-License-Identifier: MIT
// Segments are split before they are decoded, so that an escaped slash is part of a name, and no
// file has such a name.

#include "http/files/served_path.hpp"

#include "base/ascii.hpp"

#include <weir/http/request.hpp>
#include <weir/http/response.hpp>

#include <algorithm>

namespace weir::http::detail {

namespace {

constexpr std::size_t max_length = 4000;  // PATH_MAX, less what may be added to it

bool append_decoded(std::string& to, std::string_view segment) {
    for (std::size_t i = 0; i < segment.size(); ++i) {
        char letter = segment[i];
        if (letter == '%') {
            const int high = i + 2 < segment.size() ? base::hex_digit_of(segment[i + 1]) : -1;
            const int low = i + 2 < segment.size() ? base::hex_digit_of(segment[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return false;
            }
            letter = static_cast<char>(high * 16 + low);
            i += 2;
        }
        if (letter == '/' || letter == '\0') {
            return false;
        }
        to += letter;
    }
    return true;
}

}  // namespace

std::optional<served_path> served_path_of(std::string_view sent, bool hides_dots) {
    served_path found;
    found.is_directory = sent.empty() || sent.back() == '/';
    if (found.is_directory && !sent.empty()) {
        sent.remove_suffix(1);
        if (sent.empty()) {
            return std::nullopt;  // '//': an empty segment
        }
    }
    if (sent.empty()) {
        return found;
    }
    if (sent.size() > 3 * max_length) {
        return std::nullopt;
    }
    for (;;) {
        const std::size_t end = sent.find('/');
        const std::size_t at = found.text.size();
        if (!append_decoded(found.text, sent.substr(0, end))) {
            return std::nullopt;
        }
        const std::string_view segment = std::string_view(found.text).substr(at);
        if (segment.empty() || segment == "." || segment == ".." ||
            (hides_dots && segment.front() == '.' && !(at == 0 && segment == ".well-known"))) {
            return std::nullopt;
        }
        if (end == std::string_view::npos) {
            break;
        }
        found.text += '/';
        sent.remove_prefix(end + 1);
    }
    if (found.text.size() > max_length) {
        return std::nullopt;
    }
    return found;
}

std::optional<std::string_view> rest_of_path(const request& request,
                                             std::string_view prefix) noexcept {
    std::string_view path = request.path();
    if (!prefix.empty()) {
        while (prefix.ends_with('/')) {
            prefix.remove_suffix(1);
        }
        if (!path.starts_with(prefix)) {
            return std::nullopt;
        }
        path.remove_prefix(prefix.size());
        if (!path.empty() && path.front() != '/') {
            return std::nullopt;
        }
        return path.substr(path.empty() ? 0 : 1);
    }
    // As many slashes as the pattern has before its last parameter; without one, the first.
    const std::string_view route = request.route();
    const std::size_t parameter = route.rfind('{');
    std::ptrdiff_t slashes = 1;
    if (parameter != std::string_view::npos) {
        slashes =
            std::count(route.begin(), route.begin() + static_cast<std::ptrdiff_t>(parameter), '/');
    }
    for (; slashes > 0; --slashes) {
        const std::size_t slash = path.find('/');
        if (slash == std::string_view::npos) {
            return std::string_view();
        }
        path.remove_prefix(slash + 1);
    }
    return path;
}

response redirect_to_folder(const request& request) {
    const std::string_view path = request.path();
    std::string location = "./";
    location += path.substr(path.rfind('/') + 1);
    location += '/';
    if (!request.query_string().empty()) {
        location += '?';
        location += request.query_string();
    }
    return response::redirect(location, status::moved_permanently);
}

}  // namespace weir::http::detail
