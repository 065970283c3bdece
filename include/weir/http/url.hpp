// SPDX-License-Identifier: MIT
// Where something is on the web: an http, https, ws or wss URL, in its one normal form.
//
//     auto page = weir::http::url::parse("HTTPS://Example.com:443/a/../b?q=1#top");
//     page.text();                      // 'https://example.com/b?q=1#top'
//     page.resolve("../c").text();      // 'https://example.com/c': links and redirects
//
// libcurl's URL functions take it apart, so that what checks a URL and what follows it agree on
// what it means. On top of them:
// - the host has one spelling: lower case, percent-encoding undone, names in other scripts as
//   'xn--...', IPv6 addresses as RFC 5952 writes them, and IPv4 addresses dotted, however they were
//   written: 'http://0x7f.1', 'http://2130706433' and 'http://127.0.0.1.' are all
//   'http://127.0.0.1/';
// - what parsers are known to disagree about is refused: blanks and control characters, a backslash
// before the path, hosts that end in a number but are no address, port 0, other than two slashes;
// - what does not belong in a URL ('"', '<', '>', '^', '`', '{', '|', '}', letters outside ASCII)
//   is percent-encoded, and a fragment or query that is empty is none.
#pragma once

#include <weir/io/address.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace weir::http {

class query_parameters;

// One string and where its parts lie. Views are valid as long as the object is unchanged.
class url {
public:
    // In bytes, as given and as written. Longer ones are refused.
    static constexpr std::size_t max_size = 8192;

    // None: all parts are empty.
    url() noexcept = default;
    // Throws invalid_argument with the text, less its password, and what is wrong with it.
    static url parse(std::string_view text);
    // The same without an error, for links by the thousand, many of which are no such URLs.
    static std::optional<url> try_parse(std::string_view text);

    // What a reference found at this URL leads to, as RFC 3986 section 5 has it. Blanks inside the
    // reference, which are common in documents and in Location, become '%20'. Throws as parse does.
    url resolve(std::string_view reference) const;
    std::optional<url> try_resolve(std::string_view reference) const;

    bool empty() const noexcept { return text_.empty(); }
    const std::string& text() const noexcept { return text_; }
    std::string_view scheme() const noexcept { return part(0, scheme_end_); }
    bool is_secure() const noexcept;  // https or wss
    bool has_credentials() const noexcept { return host_begin_ > scheme_end_ + 3; }
    std::string user() const;      // decoded
    std::string password() const;  // decoded
    // Without the brackets of an IPv6 address.
    std::string_view host() const noexcept;
    std::uint16_t port() const noexcept { return port_; }
    bool has_default_port() const noexcept;
    // As in the header Host: 'example.com', 'example.com:8080', '[::1]:8080'.
    std::string_view authority() const noexcept { return part(host_begin_, path_begin_); }
    std::string_view path() const noexcept { return part(path_begin_, path_end_); }
    std::string_view query() const noexcept;     // without the '?'
    std::string_view fragment() const noexcept;  // without the '#'
    // Path and query: what the first line of a request asks for.
    std::string_view target() const noexcept { return part(path_begin_, query_end_); }
    // 'https://example.com', 'http://example.com:8080': who it is that answers.
    std::string origin() const;

    // The host, if it is an address, with the port.
    std::optional<io::address> address() const;
    bool is_ip_literal() const noexcept { return is_ip_literal_; }

    url without_credentials() const;
    url without_fragment() const;
    url with_query(std::string_view query) const;  // encoded already; empty: none
    url with_query(const query_parameters& query) const;

    friend bool operator==(const url& a, const url& b) noexcept { return a.text_ == b.text_; }
    friend std::ostream& operator<<(std::ostream& out,
                                    const url& shown);  // its text, less its password

private:
    friend struct url_parser;

    std::string_view part(std::size_t begin, std::size_t end) const noexcept {
        return std::string_view(text_).substr(begin, end - begin);
    }
    std::string referred(std::string_view reference) const;

    std::string text_;
    std::uint16_t scheme_end_ = 0;
    std::uint16_t host_begin_ = 0;  // of the brackets, if it has them
    std::uint16_t host_end_ = 0;
    std::uint16_t path_begin_ = 0;
    std::uint16_t path_end_ = 0;
    std::uint16_t query_end_ = 0;
    std::uint16_t port_ = 0;
    bool is_ip_literal_ = false;
};

// The text of a URL, or of what was meant to be one, with '***' for a password: for logs and
// messages.
std::string without_password(std::string_view text);

}  // namespace weir::http

template <>
struct std::hash<weir::http::url> {
    std::size_t operator()(const weir::http::url& of) const noexcept {
        return std::hash<std::string>()(of.text());
    }
};
