// SPDX-License-Identifier: MIT
// An http, https, ws or wss URL in its normal form.
//
//     auto page = weir::http::url::parse("HTTPS://Example.com:443/a/../b?q=1#top");
//     page.text();                      // 'https://example.com/b?q=1#top'
//     page.resolve("../c").text();      // 'https://example.com/c': links and redirects
//     page.canonical();                 // one spelling of a URL, to compare and to store
//
// What is accepted means what it means to browsers, by the WHATWG URL standard:
// - the host has one spelling: lower case, percent-encoding undone, names in other scripts as
//   'xn--...', IPv6 addresses as RFC 5952 writes them, and IPv4 addresses dotted, however they were
//   written: 'http://0x7f.1', 'http://2130706433' and 'http://127.0.0.1.' are all
//   'http://127.0.0.1/';
// - dot segments are removed, '%2e%2e' among them, and a backslash in the path is a slash;
// - characters that do not belong in a URL ('"', '<', '>', letters outside ASCII) are
//   percent-encoded, and so are '\', '^', '`', '{', '|' and '}', which browsers send as they are;
//   an empty fragment or query is the same as none.
// Invalid, though browsers may accept them, are hosts that DNS cannot hold or that IDNA 2008 does
// not allow, and port 0. parse() also refuses the text that other parsers are known to understand
// differently, which resolve() accepts: blanks and control characters, a backslash before the path,
// two '@', and anything but two slashes after the scheme.
#pragma once

#include <weir/io/address.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace weir::http {

class query_parameters;

namespace detail {

class url_parser;

// Offsets of the parts in the text of a URL.
struct url_parts {
    std::uint16_t scheme_end = 0;
    std::uint16_t host_begin = 0;  // of the brackets, if it has them
    std::uint16_t host_end = 0;
    std::uint16_t path_begin = 0;
    std::uint16_t path_end = 0;
    std::uint16_t query_end = 0;
    std::uint16_t port = 0;
    bool is_ip_literal = false;
};

}  // namespace detail

// One string and the offsets of its parts. Views are valid as long as the object is unchanged.
class url {
public:
    // In bytes, as given and in normal form. Longer ones are invalid.
    static constexpr std::size_t max_size = 8192;

    // No URL: all parts are empty.
    url() noexcept = default;
    // Throws invalid_argument with the text, without its password, and the reason.
    static url parse(std::string_view text);
    // None if it is invalid: for links, many of which are not such URLs.
    static std::optional<url> try_parse(std::string_view text);

    // The URL that a reference found at this URL leads to: a link in HTML as it stands in its
    // attribute, or a Location. As in browsers, blanks around it are dropped, tabs and line ends
    // inside it too, other blanks become '%20', and a backslash is a slash, so that '/\host' leads
    // to another host. Throws as parse() does.
    url resolve(std::string_view reference) const;
    std::optional<url> try_resolve(std::string_view reference) const;

    // One spelling for URLs that are sure to mean the same, to compare, store and count them by:
    // the normal form, with the final dot of the host dropped, %-escapes in upper case, and those
    // of letters, digits and -._~ decoded. Everything else stays as it is: the other escapes, the
    // order of the query, double slashes, the fragment. The canonical form is its own canonical
    // form.
    url canonical() const&;
    url canonical() &&;

    bool empty() const noexcept { return text_.empty(); }
    const std::string& text() const noexcept { return text_; }
    std::string_view scheme() const noexcept { return part(0, parts_.scheme_end); }
    bool is_secure() const noexcept;  // https or wss
    bool has_credentials() const noexcept { return parts_.host_begin > parts_.scheme_end + 3; }
    std::string user() const;      // decoded
    std::string password() const;  // decoded
    // Without the brackets of an IPv6 address.
    std::string_view host() const noexcept;
    std::uint16_t port() const noexcept { return parts_.port; }
    bool has_default_port() const noexcept;
    // As in the header Host: 'example.com', 'example.com:8080', '[::1]:8080'.
    std::string_view authority() const noexcept {
        return part(parts_.host_begin, parts_.path_begin);
    }
    std::string_view path() const noexcept { return part(parts_.path_begin, parts_.path_end); }
    std::string_view query() const noexcept;     // without the '?'
    std::string_view fragment() const noexcept;  // without the '#'
    // Path and query, as in the first line of a request.
    std::string_view target() const noexcept { return part(parts_.path_begin, parts_.query_end); }
    // 'https://example.com', 'http://example.com:8080'.
    std::string origin() const;

    // Host and port, if the host is an address.
    std::optional<io::address> address() const;
    bool is_ip_literal() const noexcept { return parts_.is_ip_literal; }

    url without_credentials() const;
    url without_fragment() const;
    url with_query(std::string_view query) const;  // already encoded; empty: none
    url with_query(const query_parameters& query) const;

    friend bool operator==(const url& a, const url& b) noexcept { return a.text_ == b.text_; }
    friend std::ostream& operator<<(std::ostream& out,
                                    const url& shown);  // without the password

private:
    url(std::string text, const detail::url_parts& parts) noexcept
        : text_(std::move(text)), parts_(parts) {}
    std::string_view part(std::size_t begin, std::size_t end) const noexcept {
        return std::string_view(text_).substr(begin, end - begin);
    }
    bool resolve_with(detail::url_parser& parser, std::string_view reference) const;

    std::string text_;
    detail::url_parts parts_;
};

// The text of a URL, valid or not, with '***' for a password: for logs and messages.
std::string without_password(std::string_view text);

}  // namespace weir::http

template <>
struct std::hash<weir::http::url> {
    std::size_t operator()(const weir::http::url& url) const noexcept {
        return std::hash<std::string>()(url.text());
    }
};
