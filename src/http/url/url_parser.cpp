// SPDX-License-Identifier: MIT
// libcurl takes the text apart. Each part is then checked and written in its normal form, so that
// parsing the result again gives the same URL.

#include "http/url/url_parser.hpp"

#include "base/quoted.hpp"
#include "http/message/parameters.hpp"
#include "http/url/url_host.hpp"

#include <weir/http/percent.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace weir::http::detail {

namespace {

constexpr std::string_view unfit_for_urls = "\"<>\\^`{|}";
constexpr std::string_view unfit_for_credentials = "\"<>\\^`{|}[]@/?#";

bool is_control(char letter) noexcept {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f;
}

void append_encoded(std::string& to, std::string_view text, std::string_view unfit) {
    for (const char each : text) {
        if (static_cast<unsigned char>(each) >= 0x80 ||
            unfit.find(each) != std::string_view::npos) {
            base::append_percent(to, each);
        } else {
            to += each;
        }
    }
}

}  // namespace

std::size_t scheme_size(std::string_view text) noexcept {
    const std::size_t end = text.find_first_of(":/?#");
    return end != std::string_view::npos && text[end] == ':' ? end : 0;
}

std::uint16_t default_port(std::string_view scheme) noexcept {
    return scheme == "https" || scheme == "wss" ? 443 : 80;
}

bool url_parser::parse(std::string_view text) {
    if (!check_beginning(text)) {
        return false;
    }
    const curl_url parts = split_url(std::string(text), reason_);
    return parts && write_authority(parts.get()) && write_path_and_rest(parts.get());
}

bool url_parser::refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
}

// Text that libcurl accepts, but that other parsers understand differently.
bool url_parser::check_beginning(std::string_view text) {
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
    const std::string scheme = lower_case(text.substr(0, colon));
    if (scheme != "http" && scheme != "https" && scheme != "ws" && scheme != "wss") {
        return refuse("its scheme is " + base::quoted(scheme, 20) +
                      ", but must be http, https, ws or wss");
    }
    const std::string_view rest = text.substr(colon + 1);
    if (!rest.starts_with("//") || rest.starts_with("///")) {
        return refuse("two slashes and a host must follow the scheme");
    }
    const std::string_view authority = rest.substr(2, rest.find_first_of("/?#", 2) - 2);
    if (authority.find('\\') != std::string_view::npos) {
        return refuse("it contains a backslash before its path");
    }
    return true;
}

bool url_parser::write_authority(CURLU* from) {
    text_ = lower_case(get(from, CURLUPART_SCHEME));
    parts_.scheme_end = static_cast<std::uint16_t>(text_.size());
    text_ += "://";
    const std::string user = get(from, CURLUPART_USER);
    const std::string password = get(from, CURLUPART_PASSWORD);
    if (!user.empty() || !password.empty()) {
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
    }
    if (!note_end(parts_.host_begin) || !write_host(from, text_, parts_.is_ip_literal, reason_) ||
        !note_end(parts_.host_end)) {
        return false;
    }
    const std::string port = get(from, CURLUPART_PORT);
    const std::uint16_t standard_port =
        default_port(std::string_view(text_).substr(0, parts_.scheme_end));
    parts_.port = standard_port;
    if (!port.empty()) {
        parts_.port = 0;  // libcurl has checked that it is a number that fits
        std::from_chars(port.data(), port.data() + port.size(), parts_.port);
    }
    if (parts_.port == 0) {
        return refuse("its port is 0");
    }
    if (parts_.port != standard_port) {
        (text_ += ':') += std::to_string(parts_.port);
    }
    return note_end(parts_.path_begin);
}

bool url_parser::write_credential(const std::string& raw) {
    const std::optional<std::string> decoded = try_percent_decode(raw);
    if (!decoded || std::any_of(decoded->begin(), decoded->end(), is_control)) {
        return refuse("its user or password has invalid percent-encoding");
    }
    append_encoded(text_, raw, unfit_for_credentials);
    return true;
}

bool url_parser::write_path_and_rest(CURLU* from) {
    append_encoded(text_, get(from, CURLUPART_PATH), unfit_for_urls);
    if (text_.size() == parts_.path_begin) {
        text_ += '/';
    }
    if (!note_end(parts_.path_end)) {
        return false;
    }
    if (const std::string query = get(from, CURLUPART_QUERY); !query.empty()) {
        append_encoded(text_ += '?', query, unfit_for_urls);
    }
    if (!note_end(parts_.query_end)) {
        return false;
    }
    if (const std::string fragment = get(from, CURLUPART_FRAGMENT); !fragment.empty()) {
        append_encoded(text_ += '#', fragment, unfit_for_urls);
    }
    std::uint16_t end = 0;
    return note_end(end);
}

bool url_parser::note_end(std::uint16_t& offset) {
    if (text_.size() > url::max_size) {
        return refuse("it has more than 8192 bytes in normal form");
    }
    offset = static_cast<std::uint16_t>(text_.size());
    return true;
}

}  // namespace weir::http::detail
