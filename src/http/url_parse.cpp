// SPDX-License-Identifier: MIT
// Text to URLs. libcurl takes the text apart; each part is then checked and written in its normal form,
// and the whole is put together anew, so that reading it again gives the same.
//
// libcurl converts names in other scripts (IDNA 2008, by libidn2) according to the locale, which is
// 'C' in most programs and would make it fail; so the conversion runs under 'C.UTF-8', in this thread
// alone. It maps full-width and circled digits to plain ones, and some letters even to slashes: the
// host is checked after it, not before.

#include "detail/quoted.hpp"

#include <weir/error.hpp>
#include <weir/http/percent.hpp>
#include <weir/http/url.hpp>

#include <curl/curl.h>

#include <locale.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <clocale>
#include <memory>

namespace weir::http {

namespace {

struct curl_deleter {
    void operator()(CURLU* handle) const noexcept { curl_url_cleanup(handle); }
    void operator()(char* text) const noexcept { curl_free(text); }
};
using curl_handle = std::unique_ptr<CURLU, curl_deleter>;

// Thrown and caught in this file: what is wrong, without the text it is wrong with.
struct refusal {
    std::string why;
};

bool is_ascii(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(),
                       [](char each) { return static_cast<unsigned char>(each) < 0x80; });
}

char to_lower(char letter) noexcept {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + ('a' - 'A')) : letter;
}

std::string to_lower(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char each) { return to_lower(each); });
    return lower;
}

// Empty if there is none.
std::string get(CURLU* from, CURLUPart part, unsigned flags = 0) {
    char* raw = nullptr;
    const CURLUcode code = curl_url_get(from, part, &raw, flags);
    const std::unique_ptr<char, curl_deleter> owned(raw);
    return code == CURLUE_OK && raw != nullptr ? std::string(raw) : std::string();
}

curl_handle read_by_curl(const std::string& text) {
    curl_handle handle(curl_url());
    if (!handle) {
        throw std::bad_alloc();
    }
    // Also for ws and wss, which need not be built into libcurl.
    const CURLUcode code =
        curl_url_set(handle.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME);
    if (code == CURLUE_OUT_OF_MEMORY) {
        throw std::bad_alloc();
    }
    if (code != CURLUE_OK) {
        throw refusal{curl_url_strerror(code)};
    }
    return handle;
}

std::string ascii_host(CURLU* from) {
    std::string host = get(from, CURLUPART_HOST);
    if (is_ascii(host)) {
        return host;
    }
#ifdef CURLU_PUNYCODE
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (utf8 != nullptr) {
        const locale_t before = ::uselocale(utf8);
        host = get(from, CURLUPART_HOST, CURLU_PUNYCODE);
        ::uselocale(before);
        if (!host.empty() && is_ascii(host)) {
            return host;
        }
    }
#endif
    throw refusal{"its host cannot be written in ASCII"};
}

bool ends_in_number(std::string_view host) noexcept {
    const std::string_view last = host.substr(host.rfind('.') + 1);
    const bool is_hexadecimal = last.starts_with("0x");
    return !last.empty() &&
           last.find_first_not_of(is_hexadecimal ? "0123456789abcdef" : "0123456789",
                                  is_hexadecimal ? 2 : 0) == std::string_view::npos;
}

void check_name(std::string_view host) {
    constexpr std::size_t longest_name = 253;
    constexpr std::size_t longest_label = 63;
    if (host.ends_with('.')) {
        host.remove_suffix(1);
    }
    if (host.empty() || host.size() > longest_name) {
        throw refusal{host.empty() ? "it has no host" : "its host has more than 253 characters"};
    }
    std::size_t label = 0;
    for (const char each : host) {
        const bool is_in_names = is_unreserved(each) && each != '~';
        label = each == '.' ? 0 : label + 1;
        if (!is_in_names || label > longest_label) {
            throw refusal{is_in_names ? "a label of its host has more than 63 characters"
                                      : "its host has " + detail::quoted({&each, 1}) + " in it"};
        }
    }
    if (host.front() == '.' || host.back() == '.' || host.find("..") != std::string_view::npos) {
        throw refusal{"a label of its host is empty"};
    }
}

std::string address_text(const std::string& host, const char* otherwise) {
    try {
        return io::address::parse(host, 0).host();
    } catch (const invalid_argument&) {
        throw refusal{otherwise};
    }
}

// Brackets included.
std::string normal_host(CURLU* from, bool& is_ip_literal) {
    std::string host = to_lower(ascii_host(from));
    is_ip_literal = true;
    if (host.starts_with('[')) {
        if (!get(from, CURLUPART_ZONEID).empty()) {
            throw refusal{"its host has a zone, which means something on one machine only"};
        }
        return '[' + address_text(host, "its host is no IPv6 address") + ']';
    }
    check_name(host);
    std::string undotted = host.substr(0, host.size() - (host.ends_with('.') ? 1 : 0));
    if (!ends_in_number(undotted)) {
        is_ip_literal = false;
        return host;
    }
    // What was converted or had a dot at its end has not been seen as an address yet.
    undotted = get(read_by_curl("http://" + undotted + '/').get(), CURLUPART_HOST);
    return address_text(undotted, "its host ends in a number and is no IPv4 address");
}

std::uint16_t default_port(std::string_view scheme) noexcept {
    return scheme == "https" || scheme == "wss" ? 443 : 80;
}

std::uint16_t read_port(const std::string& digits, std::string_view scheme) {
    if (digits.empty()) {
        return default_port(scheme);
    }
    std::uint16_t port = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (port == 0) {
        throw refusal{"its port is 0"};
    }
    return port;
}

void append_encoded(std::string& to, std::string_view text, std::string_view unfit) {
    for (const char each : text) {
        if (static_cast<unsigned char>(each) >= 0x80 ||
            unfit.find(each) != std::string_view::npos) {
            detail::append_percent(to, each);
        } else {
            to += each;
        }
    }
}

constexpr std::string_view unfit_for_urls = "\"<>\\^`{|}";
constexpr std::string_view unfit_for_credentials = "\"<>\\^`{|}[]@/?#";

void append_credential(std::string& to, const std::string& raw) {
    const std::optional<std::string> decoded = try_percent_decode(raw);
    if (!decoded || std::any_of(decoded->begin(), decoded->end(), [](char each) {
            return static_cast<unsigned char>(each) < 0x20 || each == 0x7f;
        })) {
        throw refusal{"its user or password is badly encoded"};
    }
    append_encoded(to, raw, unfit_for_credentials);
}

// What libcurl would take, and others would take otherwise.
void check_beginning(std::string_view text) {
    if (text.empty() || text.size() > url::max_size) {
        throw refusal{text.empty() ? "it is empty" : "it has more than 8192 bytes"};
    }
    const auto bad = std::find_if(text.begin(), text.end(), [](char each) {
        return static_cast<unsigned char>(each) <= 0x20 || each == 0x7f;
    });
    if (bad != text.end()) {
        throw refusal{"it has a blank or a control character in it, at " +
                      std::to_string(bad - text.begin())};
    }
    const std::size_t colon = text.find_first_of(":/?#");
    if (colon == std::string_view::npos || text[colon] != ':' || colon == 0) {
        throw refusal{"it has no scheme such as 'https:'"};
    }
    const std::string scheme = to_lower(text.substr(0, colon));
    if (scheme != "http" && scheme != "https" && scheme != "ws" && scheme != "wss") {
        throw refusal{"its scheme is " + detail::quoted(scheme, 20) +
                      ", and must be http, https, ws or wss"};
    }
    const std::string_view rest = text.substr(colon + 1);
    if (!rest.starts_with("//") || rest.starts_with("///")) {
        throw refusal{"two slashes and a host follow the scheme"};
    }
    if (rest.substr(2, rest.find_first_of("/?#", 2) - 2).find('\\') != std::string_view::npos) {
        throw refusal{"there is a backslash before its path"};
    }
}

}  // namespace

struct url_parser {
    static url parse(std::string_view text);
};

url url_parser::parse(std::string_view text) {
    check_beginning(text);
    const curl_handle read = read_by_curl(std::string(text));
    url made;
    std::string& whole = made.text_;
    const auto end_of = [&whole] {
        if (whole.size() > url::max_size) {
            throw refusal{"it has more than 8192 bytes when written in full"};
        }
        return static_cast<std::uint16_t>(whole.size());
    };
    whole = to_lower(get(read.get(), CURLUPART_SCHEME));
    made.scheme_end_ = end_of();
    whole += "://";
    const std::string user = get(read.get(), CURLUPART_USER);
    const std::string password = get(read.get(), CURLUPART_PASSWORD);
    if (!user.empty() || !password.empty()) {
        append_credential(whole, user);
        if (!password.empty()) {
            whole += ':';
            append_credential(whole, password);
        }
        whole += '@';
    }
    made.host_begin_ = end_of();
    whole += normal_host(read.get(), made.is_ip_literal_);
    made.host_end_ = end_of();
    made.port_ = read_port(get(read.get(), CURLUPART_PORT), made.scheme());
    if (!made.has_default_port()) {
        whole += ':' + std::to_string(made.port_);
    }
    made.path_begin_ = end_of();
    append_encoded(whole, get(read.get(), CURLUPART_PATH), unfit_for_urls);
    if (whole.size() == made.path_begin_) {
        whole += '/';
    }
    made.path_end_ = end_of();
    if (const std::string query = get(read.get(), CURLUPART_QUERY); !query.empty()) {
        append_encoded(whole += '?', query, unfit_for_urls);
    }
    made.query_end_ = end_of();
    if (const std::string fragment = get(read.get(), CURLUPART_FRAGMENT); !fragment.empty()) {
        append_encoded(whole += '#', fragment, unfit_for_urls);
    }
    end_of();
    return made;
}

url url::parse(std::string_view text) {
    try {
        return url_parser::parse(text);
    } catch (const refusal& refused) {
        throw invalid_argument(detail::quoted(without_password(text)) +
                               " is no URL: " + refused.why);
    }
}

std::optional<url> url::try_parse(std::string_view text) {
    try {
        return url_parser::parse(text);
    } catch (const refusal&) {
        return std::nullopt;
    }
}

bool url::has_default_port() const noexcept {
    return port_ == default_port(scheme());
}

}  // namespace weir::http
