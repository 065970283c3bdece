// SPDX-License-Identifier: MIT
// Parses Content-Type as in RFC 9110, section 8.3.

#include "base/quoted.hpp"
#include "http/message/parameters.hpp"

#include <weir/error.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/media_type.hpp>

namespace weir::http {

std::optional<media_type> media_type::try_parse(std::string_view text) {
    media_type read;
    detail::skip_blanks(text);
    const std::string_view type = detail::take_token(text);
    if (type.empty() || !text.starts_with('/')) {
        return std::nullopt;
    }
    text.remove_prefix(1);
    const std::string_view subtype = detail::take_token(text);
    if (subtype.empty() || !detail::take_parameters(text, read.parameters_, false) ||
        !text.empty()) {
        return std::nullopt;
    }
    read.essence_ = detail::lower_case(type) + '/' + detail::lower_case(subtype);
    return read;
}

media_type media_type::parse(std::string_view text) {
    auto read = try_parse(text);
    if (!read) {
        throw invalid_argument(base::quoted(text) +
                               " is not a media type such as text/html; charset=utf-8");
    }
    return std::move(*read);
}

std::string_view media_type::type() const noexcept {
    return std::string_view(essence_).substr(0, essence_.find('/'));
}

std::string_view media_type::subtype() const noexcept {
    return std::string_view(essence_).substr(essence_.find('/') + 1);
}

std::string_view media_type::suffix() const noexcept {
    const std::size_t plus = subtype().rfind('+');
    return plus == std::string_view::npos ? std::string_view() : subtype().substr(plus + 1);
}

std::optional<std::string_view> media_type::parameter(std::string_view name) const noexcept {
    for (const auto& [known, value] : parameters_) {
        if (same_name(known, name)) {
            return value;
        }
    }
    return std::nullopt;
}

bool media_type::is(std::string_view essence_or_range) const noexcept {
    if (essence_or_range == "*/*") {
        return true;
    }
    return essence_or_range.ends_with("/*")
               ? same_name(essence_or_range.substr(0, essence_or_range.size() - 2), type())
               : same_name(essence_or_range, essence_);
}

std::string media_type::text() const {
    std::string text = essence_;
    for (const auto& [name, value] : parameters_) {
        ((text += ';') += name) += '=';
        if (is_token(value)) {
            text += value;
            continue;
        }
        text += '"';
        for (const char each : value) {
            if (each == '"' || each == '\\') {
                text += '\\';
            }
            text += each;
        }
        text += '"';
    }
    return text;
}

}  // namespace weir::http
