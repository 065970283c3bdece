// SPDX-License-Identifier: MIT
// Writes hosts in their normal form.
//
// libcurl converts names in other scripts (IDNA 2008, by libidn2) according to the locale. That is
// 'C' in most programs, in which the conversion fails; so it runs under 'C.UTF-8', in this thread
// alone. It maps full-width and circled digits to plain ones, and some letters even to slashes: the
// host is checked after the conversion, not before.

#include "http/url/url_host.hpp"

#include "base/quoted.hpp"
#include "http/message/parameters.hpp"

#include <weir/error.hpp>
#include <weir/http/percent.hpp>
#include <weir/io/address.hpp>

#include <locale.h>

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

namespace weir::http::detail {

namespace {

struct text_cleaner {
    void operator()(char* text) const noexcept { curl_free(text); }
};

bool refuse_host(std::string& reason, std::string text) {
    reason = std::move(text);
    return false;
}

bool is_ascii(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(),
                       [](char each) { return static_cast<unsigned char>(each) < 0x80; });
}

#ifdef CURLU_PUNYCODE
class utf8_scope {
public:
    utf8_scope() noexcept {
        static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
        before_ = utf8 != nullptr ? ::uselocale(utf8) : nullptr;
    }
    utf8_scope(const utf8_scope&) = delete;
    utf8_scope& operator=(const utf8_scope&) = delete;
    ~utf8_scope() {
        if (before_ != nullptr) {
            ::uselocale(before_);
        }
    }

private:
    locale_t before_;
};
#endif

// The host in ASCII; empty if it cannot be converted.
std::string ascii_host(CURLU* from) {
    std::string host = get(from, CURLUPART_HOST);
    if (is_ascii(host)) {
        return host;
    }
#ifdef CURLU_PUNYCODE
    const utf8_scope utf8;
    host = get(from, CURLUPART_HOST, CURLU_PUNYCODE);
#endif
    return is_ascii(host) ? host : std::string();
}

bool ends_in_number(std::string_view host) noexcept {
    const std::string_view last = host.substr(host.rfind('.') + 1);
    const bool is_hexadecimal = last.starts_with("0x");
    return !last.empty() &&
           last.find_first_not_of(is_hexadecimal ? "0123456789abcdef" : "0123456789",
                                  is_hexadecimal ? 2 : 0) == std::string_view::npos;
}

bool check_name(std::string_view host, std::string& reason) {
    constexpr std::size_t longest_name = 253;
    constexpr std::size_t longest_label = 63;
    if (host.ends_with('.')) {
        host.remove_suffix(1);
    }
    if (host.empty() || host.size() > longest_name) {
        return refuse_host(
            reason, host.empty() ? "it has no host" : "its host has more than 253 characters");
    }
    std::size_t label = 0;
    for (const char each : host) {
        if (!is_unreserved(each) || each == '~') {
            return refuse_host(reason, "its host contains " + base::quoted({&each, 1}));
        }
        label = each == '.' ? 0 : label + 1;
        if (label > longest_label) {
            return refuse_host(reason, "a label of its host has more than 63 characters");
        }
    }
    if (host.front() == '.' || host.back() == '.' || host.find("..") != std::string_view::npos) {
        return refuse_host(reason, "a label of its host is empty");
    }
    return true;
}

// Writes the address in its normal form; false if it is not one.
bool write_address(const std::string& host, std::string& to) {
    try {
        const io::address read = io::address::parse(host, 0);
        const bool is_v6 = read.kind() == io::address::family::ipv6;
        to += is_v6 ? '[' + read.host() + ']' : read.host();
        return true;
    } catch (const invalid_argument&) {
        return false;
    }
}

}  // namespace

curl_url split_url(const std::string& text, std::string& reason) {
    curl_url handle(::curl_url());
    // The flag allows ws and wss, which need not be built into libcurl.
    const CURLUcode code =
        handle ? curl_url_set(handle.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME)
               : CURLUE_OUT_OF_MEMORY;
    if (code == CURLUE_OUT_OF_MEMORY) {
        throw std::bad_alloc();
    }
    if (code != CURLUE_OK) {
        reason = curl_url_strerror(code);
        handle.reset();
    }
    return handle;
}

std::string get(CURLU* from, CURLUPart part, unsigned flags) {
    char* raw = nullptr;
    const CURLUcode code = curl_url_get(from, part, &raw, flags);
    const std::unique_ptr<char, text_cleaner> owned(raw);
    // With flags, libcurl also reports this when it cannot convert a host.
    if (code == CURLUE_OUT_OF_MEMORY && flags == 0) {
        throw std::bad_alloc();
    }
    return code == CURLUE_OK && raw != nullptr ? std::string(raw) : std::string();
}

bool write_host(CURLU* from, std::string& to, bool& is_ip_literal, std::string& reason) {
    const std::string host = lower_case(ascii_host(from));
    if (host.empty()) {
        return refuse_host(reason, "its host cannot be written in ASCII");
    }
    if (host.front() == '[') {
        if (!get(from, CURLUPART_ZONEID).empty()) {
            return refuse_host(reason,
                               "its host has a zone, which is meaningful on one machine only");
        }
        is_ip_literal = true;
        return write_address(host, to) || refuse_host(reason, "its host is not an IPv6 address");
    }
    if (!check_name(host, reason)) {
        return false;
    }
    const std::string undotted = host.substr(0, host.size() - (host.ends_with('.') ? 1 : 0));
    is_ip_literal = ends_in_number(undotted);
    if (!is_ip_literal) {
        to += host;
        return true;
    }
    // libcurl has not recognised the address if it was converted or ends in a dot.
    const curl_url again = split_url("http://" + undotted + '/', reason);
    return again && (write_address(get(again.get(), CURLUPART_HOST), to) ||
                     refuse_host(reason, "its host ends in a number and is not an IPv4 address"));
}

}  // namespace weir::http::detail
