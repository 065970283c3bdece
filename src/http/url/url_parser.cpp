// SPDX-License-Identifier: MIT
// The basic URL parser of the WHATWG URL standard, for the schemes http, https, ws and wss. Its
// state machine becomes a sequence of steps for these schemes: scheme, authority, path, query and
// fragment, each of which writes its part in normal form and hands on the rest. A relative
// reference copies the beginning of its base and enters the sequence later.

#include "http/url/url_parser.hpp"

#include "base/ascii.hpp"
#include "base/quoted.hpp"
#include "http/message/parameters.hpp"
#include "http/url/url_characters.hpp"
#include "http/url/url_host.hpp"

#include <weir/http/percent.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace weir::http::detail {

namespace {

bool is_control(char letter) noexcept {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f;
}

bool is_slash(char letter) noexcept {
    return is_in(letter, url_set::slash);
}

// The size of the scheme, if the text begins with one and a colon; else 0.
std::size_t scheme_size(std::string_view text) noexcept {
    if (text.empty() || !base::is_letter(text.front())) {
        return 0;
    }
    const auto end = std::find_if_not(text.begin(), text.end(), [](char each) {
        return base::is_alphanumeric(each) || each == '+' || each == '-' || each == '.';
    });
    return end != text.end() && *end == ':' ? static_cast<std::size_t>(end - text.begin()) : 0;
}

std::string_view without_outer_blanks(std::string_view text) noexcept {
    const auto is_blank = [](char each) { return static_cast<unsigned char>(each) <= 0x20; };
    while (!text.empty() && is_blank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

std::string_view without_leading_slashes(std::string_view text) noexcept {
    while (!text.empty() && is_slash(text.front())) {
        text.remove_prefix(1);
    }
    return text;
}

// How many dots the segment of a path is, '%2e' being one; 0 if it is anything else.
std::size_t dots_of(std::string_view segment) noexcept {
    std::size_t dots = 0;
    while (!segment.empty()) {
        const bool is_escape = segment.size() >= 3 && segment[0] == '%' && segment[1] == '2' &&
                               (segment[2] | 0x20) == 'e';
        if (!is_escape && segment.front() != '.') {
            return 0;
        }
        segment.remove_prefix(is_escape ? 3 : 1);
        ++dots;
    }
    return dots;
}

}  // namespace

std::uint16_t default_port(std::string_view scheme) noexcept {
    return scheme == "https" || scheme == "wss" ? 443 : 80;
}

bool url_parser::parse(std::string_view text) {
    if (!check_strictly(text)) {
        return false;
    }
    sets_ = url_sets_of(text);
    return write_from_authority(text.substr(scheme_size(text) + 3));
}

bool url_parser::refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
}

// Refuses what the standard accepts but other parsers understand differently. Writes the scheme.
bool url_parser::check_strictly(std::string_view text) {
    if (text.empty() || text.size() > url::max_size) {
        return refuse(text.empty() ? "it is empty" : "it has more than 8192 bytes");
    }
    const auto bad = std::find_if(text.begin(), text.end(),
                                  [](char each) { return each == ' ' || is_control(each); });
    if (bad != text.end()) {
        return refuse("it contains a space or control character at position " +
                      std::to_string(bad - text.begin()));
    }
    const std::size_t colon = scheme_size(text);
    if (colon == 0) {
        return refuse("it has no scheme such as 'https:'");
    }
    if (!write_scheme(text.substr(0, colon))) {
        return false;
    }
    const std::string_view rest = text.substr(colon + 1);
    if (!rest.starts_with("//") || rest.starts_with("///")) {
        return refuse("two slashes and a host must follow the scheme");
    }
    const std::string_view authority = rest.substr(2, rest.find_first_of("/?#", 2) - 2);
    if (authority.find('\\') != std::string_view::npos) {
        return refuse("it contains a backslash before its path");
    }
    if (authority.find('@') != authority.rfind('@')) {
        return refuse("it contains more than one '@' before its path");
    }
    return true;
}

bool url_parser::resolve(std::string_view base, const url_parts& base_parts,
                         std::string_view reference) {
    reference = without_outer_blanks(reference);
    if (reference.size() > url::max_size) {
        const std::size_t colon = scheme_size(reference);  // 'data:' above all
        const bool has_other_scheme = colon > 0 && !write_scheme(reference.substr(0, colon));
        return has_other_scheme ? false : refuse("it has more than 8192 bytes");
    }
    std::string cleaned;
    sets_ = url_sets_of(reference);
    if ((sets_ & url_set::dropped) != 0) {
        cleaned = reference;
        std::erase_if(cleaned, [](char each) { return is_in(each, url_set::dropped); });
        reference = cleaned;
    }
    // Most absolute links lead to the same site; its host need not be parsed again.
    if (const std::string_view site = base.substr(0, base_parts.path_begin);
        reference.starts_with(site) && reference.size() > site.size() &&
        reference[site.size()] == '/') {
        copy_base(site, base_parts, reference.size());
        return write_from_path(reference.substr(site.size() + 1));
    }
    const std::size_t colon = scheme_size(reference);
    if (colon == 0) {
        return resolve_relative(base, base_parts, reference);
    }
    if (!write_scheme(reference.substr(0, colon))) {
        return false;
    }
    reference.remove_prefix(colon + 1);
    // 'http:path' is relative to a base of the same scheme.
    if (text_ == base.substr(0, base_parts.scheme_end + 3u) && !reference.starts_with("//")) {
        return resolve_relative(base, base_parts, reference);
    }
    return write_from_authority(without_leading_slashes(reference));
}

bool url_parser::resolve_relative(std::string_view base, const url_parts& base_parts,
                                  std::string_view reference) {
    const auto copy_until = [&](std::size_t end) {
        copy_base(base.substr(0, end), base_parts, reference.size());
    };
    const char first = reference.empty() ? '#' : reference[0];
    if (first == '#') {
        copy_until(base_parts.query_end);
        return write_fragment(reference);
    }
    if (first == '?') {
        copy_until(base_parts.path_end);
        return write_from_query(reference);
    }
    if (!is_slash(first)) {
        copy_until(base.substr(0, base_parts.path_end).rfind('/'));
        return write_from_path(reference);
    }
    if (reference.size() == 1 || !is_slash(reference[1])) {
        copy_until(base_parts.path_begin);
        return write_from_path(reference.substr(1));
    }
    copy_until(base_parts.scheme_end + 3u);
    return write_from_authority(without_leading_slashes(reference));
}

void url_parser::copy_base(std::string_view beginning, const url_parts& parts, std::size_t more) {
    text_.clear();
    text_.reserve(beginning.size() + more + 1);
    text_ = beginning;
    parts_ = parts;
}

bool url_parser::write_scheme(std::string_view scheme) {
    text_ = lower_case(scheme);
    if (text_ != "http" && text_ != "https" && text_ != "ws" && text_ != "wss") {
        return refuse("its scheme is " + base::quoted(text_, 20) +
                      ", but must be http, https, ws or wss");
    }
    parts_.scheme_end = static_cast<std::uint16_t>(text_.size());
    text_ += "://";
    return true;
}

bool url_parser::write_from_authority(std::string_view rest) {
    const std::size_t end = find_url_set(rest, url_set::slash | url_set::path_end);
    std::string_view authority = rest.substr(0, end);
    rest.remove_prefix(end);
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
        if (!write_credentials(authority.substr(0, at))) {
            return false;
        }
        authority.remove_prefix(at + 1);
    }
    const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
    const std::size_t colon = authority.find(':', std::min(bracket, authority.size()));
    if (!note_end(parts_.host_begin) ||
        !write_host(authority.substr(0, colon), text_, parts_.is_ip_literal, reason_) ||
        !note_end(parts_.host_end) ||
        !write_port(colon == std::string_view::npos ? std::string_view()
                                                    : authority.substr(colon + 1)) ||
        !note_end(parts_.path_begin)) {
        return false;
    }
    const bool has_path = !rest.empty() && is_slash(rest.front());
    return write_from_path(rest.substr(has_path ? 1 : 0));
}

bool url_parser::write_credentials(std::string_view credentials) {
    const std::size_t colon = std::min(credentials.find(':'), credentials.size());
    const std::string_view user = credentials.substr(0, colon);
    const std::string_view password = credentials.substr(std::min(colon + 1, credentials.size()));
    if (user.empty() && password.empty()) {
        return true;
    }
    if (!write_credential(user)) {
        return false;
    }
    if (!password.empty()) {
        text_ += ':';
        if (!write_credential(password)) {
            return false;
        }
    }
    text_ += '@';
    return true;
}

bool url_parser::write_credential(std::string_view raw) {
    const std::optional<std::string> decoded = try_percent_decode(raw);
    if (!decoded || std::any_of(decoded->begin(), decoded->end(), is_control)) {
        return refuse("its user or password has invalid percent-encoding");
    }
    append_url_encoded(text_, raw, url_set::credentials);
    return true;
}

bool url_parser::write_port(std::string_view port) {
    const std::uint16_t standard_port =
        default_port(std::string_view(text_).substr(0, parts_.scheme_end));
    parts_.port = standard_port;
    if (port.empty()) {
        return true;
    }
    unsigned number = 0;
    for (const char each : port) {
        number = base::is_decimal(each) ? number * 10 + static_cast<unsigned>(each - '0') : 65536;
        if (number > 65535) {
            return refuse("its port is " + base::quoted(port, 20) +
                          ", but must be a number from 1 to 65535");
        }
    }
    if (number == 0) {
        return refuse("its port is 0");
    }
    parts_.port = static_cast<std::uint16_t>(number);
    if (parts_.port != standard_port) {
        (text_ += ':') += std::to_string(number);
    }
    return true;
}

// `rest` begins with the first segment, without the slash before it.
bool url_parser::write_from_path(std::string_view rest) {
    const std::size_t end =
        (sets_ & url_set::path_end) != 0 ? find_url_set(rest, url_set::path_end) : rest.size();
    write_segments(rest.substr(0, end));
    return note_end(parts_.path_end) && write_from_query(rest.substr(end));
}

// Appends to a path that has no slash at its end.
void url_parser::write_segments(std::string_view path) {
    for (;;) {
        const std::size_t size = find_url_set(path, url_set::slash);
        const std::string_view segment = path.substr(0, size);
        const bool is_last = size == path.size();
        const std::size_t dots = dots_of(segment);
        if (dots == 2) {
            const std::size_t parent = text_.rfind('/');
            text_.resize(std::max<std::size_t>(parent, parts_.path_begin));
        }
        if (dots == 0 || dots > 2) {
            write_encoded('/', segment, url_set::path);
        } else if (is_last) {
            text_ += '/';
        }
        if (is_last) {
            return;
        }
        path.remove_prefix(size + 1);
    }
}

// `rest` is empty or begins with '?' or '#'.
bool url_parser::write_from_query(std::string_view rest) {
    if (rest.starts_with('?')) {
        const std::size_t end = std::min(rest.find('#'), rest.size());
        if (end > 1) {
            write_encoded('?', rest.substr(1, end - 1), url_set::query);
        }
        rest.remove_prefix(end);
    }
    return note_end(parts_.query_end) && write_fragment(rest);
}

// `rest` is empty or begins with '#'.
bool url_parser::write_fragment(std::string_view rest) {
    if (rest.size() > 1) {
        write_encoded('#', rest.substr(1), url_set::fragment);
    }
    std::uint16_t end = 0;
    return note_end(end);
}

void url_parser::write_encoded(char delimiter, std::string_view part, std::uint8_t set) {
    text_ += delimiter;
    if ((sets_ & set) != 0) {
        append_url_encoded(text_, part, set);
    } else {
        text_ += part;
    }
}

bool url_parser::note_end(std::uint16_t& offset) {
    if (text_.size() > url::max_size) {
        return refuse("it has more than 8192 bytes in normal form");
    }
    offset = static_cast<std::uint16_t>(text_.size());
    return true;
}

}  // namespace weir::http::detail
