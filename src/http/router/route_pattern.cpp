// SPDX-License-Identifier: MIT
// A pattern is split at its slashes. Encoded paths are compared digit by digit, so that nothing has
// to be decoded before it is known to be wanted.

#include "http/router/route_pattern.hpp"

#include "base/ascii.hpp"

#include <weir/error.hpp>

#include <algorithm>

namespace weir::http::detail {

namespace {

// The character at the position, which moves on.
char take_decoded(std::string_view text, std::size_t& at) noexcept {
    if (text[at] != '%') {
        return text[at++];
    }
    const int code = base::hex_digit_of(text[at + 1]) * 16 + base::hex_digit_of(text[at + 2]);
    at += 3;
    return static_cast<char>(code);
}

bool is_name(std::string_view text) noexcept {
    const auto is_letter = [](char each) {
        return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || each == '_';
    };
    return !text.empty() && is_letter(text.front()) &&
           std::all_of(text.begin(), text.end(),
                       [&](char each) { return is_letter(each) || (each >= '0' && each <= '9'); });
}

[[noreturn]] void refuse(std::string_view pattern, std::string_view reason) {
    throw invalid_argument("router: the pattern '" + std::string(pattern) +
                           "': " + std::string(reason));
}

}  // namespace

route_pattern::route_pattern(std::string text) : text_(std::move(text)) {
    std::string_view rest = text_;
    if (!rest.empty() && rest.front() != '/') {
        refuse(text_, "it must begin with '/'");
    }
    while (!rest.empty()) {
        const split_path parts(rest);
        rest = parts.others;
        if (!segments_.empty() && segments_.back().kind == segment_kind::rest) {
            refuse(text_, "nothing can follow the rest of the path");
        }
        if (parts.segment.empty() && !rest.empty()) {
            refuse(text_, "a segment is empty");
        }
        add(parts.segment);
    }
}

void route_pattern::add(std::string_view segment) {
    if (segment.size() >= 2 && segment.front() == '{' && segment.back() == '}') {
        std::string_view name = segment.substr(1, segment.size() - 2);
        if (name.ends_with("...")) {
            name.remove_suffix(3);
            add_named(segment_kind::rest, name);
        } else if (name.starts_with('*')) {
            name.remove_prefix(1);
            add_named(segment_kind::rest, name);
        } else {
            add_named(segment_kind::parameter, name);
        }
        return;
    }
    for (const char each : segment) {
        const auto code = static_cast<unsigned char>(each);
        if (each == '{' || each == '}') {
            refuse(text_, "a parameter is a whole segment, '{name}' or, at the end, '{name...}'");
        }
        if (each == '%') {
            refuse(text_, "patterns are written decoded, without '%'");
        }
        if (each == '?' || each == '#' || code < 0x20 || code == 0x7f) {
            refuse(text_, "'?', '#' and control characters are never part of a path");
        }
    }
    segments_.push_back({segment_kind::text, segment});
}

void route_pattern::add_named(segment_kind kind, std::string_view name) {
    if (!is_name(name)) {
        refuse(text_, "'" + std::string(name) +
                          "' is no name of a parameter: letters, digits and '_' are, and no digit "
                          "comes first");
    }
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
        refuse(text_, "there are two parameters '" + std::string(name) + "'");
    }
    names_.push_back(name);
    segments_.push_back({kind, name});
}

std::string route_pattern::shape() const {
    std::string made;
    for (const pattern_segment& each : segments_) {
        made += '/';
        made += each.kind == segment_kind::text        ? each.text
                : each.kind == segment_kind::parameter ? "{}"
                                                       : "{...}";
    }
    return made;
}

path_form form_of(std::string_view path) noexcept {
    path_form form = path_form::plain;
    for (std::size_t at = path.find('%'); at != std::string_view::npos;
         at = path.find('%', at + 3)) {
        if (at + 2 >= path.size() || base::hex_digit_of(path[at + 1]) < 0 ||
            base::hex_digit_of(path[at + 2]) < 0 || (path[at + 1] == '0' && path[at + 2] == '0')) {
            return path_form::bad;
        }
        form = path_form::encoded;
    }
    return form;
}

int compare_decoded(std::string_view segment, std::string_view text) noexcept {
    std::size_t at = 0;
    for (const char each : text) {
        if (at == segment.size()) {
            return -1;
        }
        const auto left = static_cast<unsigned char>(take_decoded(segment, at));
        const auto right = static_cast<unsigned char>(each);
        if (left != right) {
            return left < right ? -1 : 1;
        }
    }
    return at == segment.size() ? 0 : 1;
}

std::string decode_path(std::string_view text) {
    if (text.find('%') == std::string_view::npos) {
        return std::string(text);
    }
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        decoded += take_decoded(text, at);
    }
    return decoded;
}

}  // namespace weir::http::detail
