// SPDX-License-Identifier: MIT
// The four conditions are checked in the order of the RFC, so that a tag always takes precedence
// over a date.

#include "http/files/conditions.hpp"

#include <weir/http/date.hpp>

#include <algorithm>
#include <string>

namespace weir::http::detail {

namespace {

constexpr bool is_weak(std::string_view etag) noexcept {
    return etag.starts_with("W/");
}
constexpr std::string_view opaque(std::string_view etag) noexcept {
    return is_weak(etag) ? etag.substr(2) : etag;
}

bool is_etag_character(char letter) noexcept {
    const auto code = static_cast<unsigned char>(letter);
    return code == 0x21 || (code >= 0x23 && code != 0x7f);
}

bool same_etag(std::string_view left, std::string_view right, comparison kind) noexcept {
    if (kind == comparison::strong && (is_weak(left) || is_weak(right))) {
        return false;
    }
    return opaque(left) == opaque(right);
}

// The length of the tag at the front of the text; 0 if there is none.
std::size_t etag_size(std::string_view text) noexcept {
    const std::size_t quote = is_weak(text) ? 2 : 0;
    if (quote >= text.size() || text[quote] != '"') {
        return 0;
    }
    const std::size_t end = text.find('"', quote + 1);
    if (end == std::string_view::npos ||
        !std::all_of(text.begin() + static_cast<std::ptrdiff_t>(quote) + 1,
                     text.begin() + static_cast<std::ptrdiff_t>(end), is_etag_character)) {
        return 0;
    }
    return end + 1;
}

// Empty for an invalid date, and for a header that occurs twice.
std::optional<std::chrono::sys_seconds> date_of(const headers& fields, std::string_view name) {
    if (fields.count(name) != 1) {
        return std::nullopt;
    }
    const auto date = parse_date(fields.get(name));
    if (!date) {
        return std::nullopt;
    }
    return std::chrono::floor<std::chrono::seconds>(*date);
}

}  // namespace

bool is_etag(std::string_view text) noexcept {
    return !text.empty() && etag_size(text) == text.size();
}

bool lists_etag(std::string_view list, std::string_view etag, comparison kind) noexcept {
    if (list == "*") {
        return true;
    }
    while (!list.empty()) {
        if (list.front() == ',' || list.front() == ' ' || list.front() == '\t') {
            list.remove_prefix(1);
            continue;
        }
        const std::size_t size = etag_size(list);
        if (size == 0) {
            return false;
        }
        if (!etag.empty() && same_etag(list.substr(0, size), etag, kind)) {
            return true;
        }
        list.remove_prefix(size);
        if (!list.empty() && list.front() != ',' && list.front() != ' ' && list.front() != '\t') {
            return false;
        }
    }
    return false;
}

condition check_conditions(http::method method, const headers& fields, const validators& current) {
    const bool is_reading = method == http::method::get || method == http::method::head;
    if (fields.contains("If-Match")) {
        if (!lists_etag(fields.joined("If-Match"), current.etag, comparison::strong)) {
            return condition::failed;
        }
    } else if (const auto since = date_of(fields, "If-Unmodified-Since")) {
        if (current.last_modified && *current.last_modified > *since) {
            return condition::failed;
        }
    }
    if (fields.contains("If-None-Match")) {
        if (lists_etag(fields.joined("If-None-Match"), current.etag, comparison::weak)) {
            return is_reading ? condition::not_modified : condition::failed;
        }
    } else if (is_reading) {
        const auto since = date_of(fields, "If-Modified-Since");
        if (since && current.last_modified && *current.last_modified <= *since) {
            return condition::not_modified;
        }
    }
    return condition::holds;
}

bool range_applies(const headers& fields, const validators& current, std::chrono::sys_seconds now) {
    const std::optional<std::string_view> if_range = fields.find("If-Range");
    if (!if_range) {
        return true;
    }
    if (is_etag(*if_range)) {
        return fields.count("If-Range") == 1 &&
               same_etag(*if_range, current.etag, comparison::strong);
    }
    const auto date = date_of(fields, "If-Range");
    return date && current.last_modified == date &&
           *current.last_modified + std::chrono::seconds(1) <= now;
}

}  // namespace weir::http::detail
