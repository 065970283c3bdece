// SPDX-License-Identifier: MIT
// The four conditions are asked in the order that the RFC gives, so that a tag always outranks a
// date.

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

bool same_etag(std::string_view left, std::string_view right, comparison how) noexcept {
    if (how == comparison::strong && (is_weak(left) || is_weak(right))) {
        return false;
    }
    return opaque(left) == opaque(right);
}

// How long the tag is that the text begins with; 0: it does not.
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

// A header that came twice is no date.
std::optional<std::chrono::sys_seconds> date_of(const headers& asked, std::string_view name) {
    if (asked.count(name) != 1) {
        return std::nullopt;
    }
    const auto date = parse_date(asked.get(name));
    if (!date) {
        return std::nullopt;
    }
    return std::chrono::floor<std::chrono::seconds>(*date);
}

}  // namespace

bool is_etag(std::string_view text) noexcept {
    return !text.empty() && etag_size(text) == text.size();
}

bool lists_etag(std::string_view list, std::string_view etag, comparison how) noexcept {
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
        if (!etag.empty() && same_etag(list.substr(0, size), etag, how)) {
            return true;
        }
        list.remove_prefix(size);
        if (!list.empty() && list.front() != ',' && list.front() != ' ' && list.front() != '\t') {
            return false;
        }
    }
    return false;
}

condition check_conditions(method which, const headers& asked, const validators& there) {
    const bool is_reading = which == method::get || which == method::head;
    if (asked.contains("If-Match")) {
        if (!lists_etag(asked.joined("If-Match"), there.etag, comparison::strong)) {
            return condition::failed;
        }
    } else if (const auto since = date_of(asked, "If-Unmodified-Since")) {
        if (there.last_modified && *there.last_modified > *since) {
            return condition::failed;
        }
    }
    if (asked.contains("If-None-Match")) {
        if (lists_etag(asked.joined("If-None-Match"), there.etag, comparison::weak)) {
            return is_reading ? condition::not_modified : condition::failed;
        }
    } else if (is_reading) {
        const auto since = date_of(asked, "If-Modified-Since");
        if (since && there.last_modified && *there.last_modified <= *since) {
            return condition::not_modified;
        }
    }
    return condition::holds;
}

bool range_applies(const headers& asked, const validators& there, std::chrono::sys_seconds now) {
    const std::optional<std::string_view> given = asked.find("If-Range");
    if (!given) {
        return true;
    }
    if (is_etag(*given)) {
        return asked.count("If-Range") == 1 && same_etag(*given, there.etag, comparison::strong);
    }
    const auto date = date_of(asked, "If-Range");
    return date && there.last_modified == date &&
           *there.last_modified + std::chrono::seconds(1) <= now;
}

}  // namespace weir::http::detail
