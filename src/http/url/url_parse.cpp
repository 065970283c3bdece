// SPDX-License-Identifier: MIT
// Text to URLs. libcurl takes the text apart; each part is then checked and written in its normal
// form, and the whole is put together anew, so that reading it again gives the same.

#include "base/quoted.hpp"
#include "http/message/parameters.hpp"
#include "http/url/url_host.hpp"

#include <weir/error.hpp>
#include <weir/http/percent.hpp>
#include <weir/http/url.hpp>

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace weir::http {

namespace {

bool is_control(char letter) noexcept {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f;
}

std::uint16_t default_port(std::string_view scheme) noexcept {
    return scheme == "https" || scheme == "wss" ? 443 : 80;
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

constexpr std::string_view unfit_for_urls = "\"<>\\^`{|}";
constexpr std::string_view unfit_for_credentials = "\"<>\\^`{|}[]@/?#";

}  // namespace

// One URL being read. Nothing is thrown for a bad one: among links they are common.
struct url_parser {
    url made;
    std::string why;  // it is refused

    bool read(std::string_view text) {
        if (!check_beginning(text)) {
            return false;
        }
        const detail::curl_url parts = detail::take_apart(std::string(text), why);
        return parts && write_authority(parts.get()) && write_rest(parts.get());
    }

private:
    bool refuse(std::string reason) {
        why = std::move(reason);
        return false;
    }

    bool check_beginning(std::string_view text);
    bool write_authority(CURLU* from);
    bool write_credential(const std::string& raw);
    bool write_rest(CURLU* from);
    bool note_end(std::uint16_t& at);
};

// What libcurl would take, and others would take otherwise.
bool url_parser::check_beginning(std::string_view text) {
    if (text.empty() || text.size() > url::max_size) {
        return refuse(text.empty() ? "it is empty" : "it has more than 8192 bytes");
    }
    const auto bad = std::find_if(text.begin(), text.end(),
                                  [](char each) { return each == ' ' || is_control(each); });
    if (bad != text.end()) {
        return refuse("it has a blank or a control character in it, at " +
                      std::to_string(bad - text.begin()));
    }
    const std::size_t colon = text.find_first_of(":/?#");
    if (colon == std::string_view::npos || text[colon] != ':' || colon == 0) {
        return refuse("it has no scheme such as 'https:'");
    }
    const std::string scheme = detail::lower_case(text.substr(0, colon));
    if (scheme != "http" && scheme != "https" && scheme != "ws" && scheme != "wss") {
        return refuse("its scheme is " + base::quoted(scheme, 20) +
                      ", and must be http, https, ws or wss");
    }
    const std::string_view rest = text.substr(colon + 1);
    if (!rest.starts_with("//") || rest.starts_with("///")) {
        return refuse("two slashes and a host follow the scheme");
    }
    const std::string_view authority = rest.substr(2, rest.find_first_of("/?#", 2) - 2);
    if (authority.find('\\') != std::string_view::npos) {
        return refuse("there is a backslash before its path");
    }
    return true;
}

bool url_parser::write_authority(CURLU* from) {
    std::string& text = made.text_;
    text = detail::lower_case(detail::get(from, CURLUPART_SCHEME));
    made.scheme_end_ = static_cast<std::uint16_t>(text.size());
    text += "://";
    const std::string user = detail::get(from, CURLUPART_USER);
    const std::string password = detail::get(from, CURLUPART_PASSWORD);
    if (!user.empty() || !password.empty()) {
        if (!write_credential(user)) {
            return false;
        }
        if (!password.empty()) {
            text += ':';
            if (!write_credential(password)) {
                return false;
            }
        }
        text += '@';
    }
    if (!note_end(made.host_begin_) || !detail::write_host(from, text, made.is_ip_literal_, why) ||
        !note_end(made.host_end_)) {
        return false;
    }
    const std::string port = detail::get(from, CURLUPART_PORT);
    made.port_ = default_port(made.scheme());
    if (!port.empty()) {
        made.port_ = 0;  // libcurl has seen to it that it is a number that fits
        std::from_chars(port.data(), port.data() + port.size(), made.port_);
    }
    if (made.port_ == 0) {
        return refuse("its port is 0");
    }
    if (!made.has_default_port()) {
        (text += ':') += std::to_string(made.port_);
    }
    return note_end(made.path_begin_);
}

bool url_parser::write_credential(const std::string& raw) {
    const std::optional<std::string> decoded = try_percent_decode(raw);
    if (!decoded || std::any_of(decoded->begin(), decoded->end(), is_control)) {
        return refuse("its user or password is badly encoded");
    }
    append_encoded(made.text_, raw, unfit_for_credentials);
    return true;
}

bool url_parser::write_rest(CURLU* from) {
    std::string& text = made.text_;
    append_encoded(text, detail::get(from, CURLUPART_PATH), unfit_for_urls);
    if (text.size() == made.path_begin_) {
        text += '/';
    }
    if (!note_end(made.path_end_)) {
        return false;
    }
    if (const std::string query = detail::get(from, CURLUPART_QUERY); !query.empty()) {
        append_encoded(text += '?', query, unfit_for_urls);
    }
    if (!note_end(made.query_end_)) {
        return false;
    }
    if (const std::string fragment = detail::get(from, CURLUPART_FRAGMENT); !fragment.empty()) {
        append_encoded(text += '#', fragment, unfit_for_urls);
    }
    std::uint16_t end = 0;
    return note_end(end);
}

bool url_parser::note_end(std::uint16_t& at) {
    if (made.text_.size() > url::max_size) {
        return refuse("it has more than 8192 bytes when written in full");
    }
    at = static_cast<std::uint16_t>(made.text_.size());
    return true;
}

url url::parse(std::string_view text) {
    url_parser parser;
    if (!parser.read(text)) {
        throw invalid_argument(base::quoted(without_password(text)) + " is no URL: " + parser.why);
    }
    return std::move(parser.made);
}

std::optional<url> url::try_parse(std::string_view text) {
    url_parser parser;
    return parser.read(text) ? std::optional<url>(std::move(parser.made)) : std::nullopt;
}

bool url::has_default_port() const noexcept {
    return port_ == default_port(scheme());
}

}  // namespace weir::http
