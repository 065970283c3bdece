// SPDX-License-Identifier: MIT
// Changing a URL writes the new text and parses it again: only url_parser knows the normal form.

#include "base/quoted.hpp"
#include "http/url/canonical_escapes.hpp"
#include "http/url/url_parser.hpp"

#include <weir/error.hpp>
#include <weir/http/percent.hpp>
#include <weir/http/query.hpp>
#include <weir/http/url.hpp>

#include <algorithm>
#include <ostream>

namespace weir::http {

namespace {

constexpr std::size_t none = std::string_view::npos;

}  // namespace

url url::parse(std::string_view text) {
    detail::url_parser parser;
    if (!parser.parse(text)) {
        throw invalid_argument(base::quoted(without_password(text)) +
                               " is not a valid URL: " + parser.reason());
    }
    return {std::move(parser.text()), parser.parts()};
}

std::optional<url> url::try_parse(std::string_view text) {
    detail::url_parser parser;
    return parser.parse(text) ? std::optional(url(std::move(parser.text()), parser.parts()))
                              : std::nullopt;
}

bool url::is_secure() const noexcept {
    return scheme() == "https" || scheme() == "wss";
}

std::string url::user() const {
    if (!has_credentials()) {
        return {};
    }
    const std::string_view credentials = part(parts_.scheme_end + 3u, parts_.host_begin - 1u);
    return percent_decode(credentials.substr(0, credentials.find(':')));
}

std::string url::password() const {
    if (!has_credentials()) {
        return {};
    }
    const std::string_view credentials = part(parts_.scheme_end + 3u, parts_.host_begin - 1u);
    const std::size_t colon = credentials.find(':');
    return colon == none ? std::string() : percent_decode(credentials.substr(colon + 1));
}

std::string_view url::host() const noexcept {
    const std::string_view written = part(parts_.host_begin, parts_.host_end);
    return written.starts_with('[') ? written.substr(1, written.size() - 2) : written;
}

std::string_view url::query() const noexcept {
    return parts_.query_end == parts_.path_end ? std::string_view()
                                               : part(parts_.path_end + 1u, parts_.query_end);
}

std::string_view url::fragment() const noexcept {
    return parts_.query_end == text_.size() ? std::string_view()
                                            : part(parts_.query_end + 1u, text_.size());
}

bool url::has_default_port() const noexcept {
    return parts_.port == detail::default_port(scheme());
}

std::string url::origin() const {
    return empty() ? std::string() : std::string(scheme()) + "://" + std::string(authority());
}

std::optional<io::address> url::address() const {
    return parts_.is_ip_literal ? std::optional(io::address::parse(host(), parts_.port))
                                : std::nullopt;
}

url url::without_credentials() const {
    return has_credentials() ? parse(origin() + std::string(part(parts_.path_begin, text_.size())))
                             : *this;
}

url url::without_fragment() const {
    url without = *this;
    without.text_.resize(parts_.query_end);
    return without;
}

url url::with_query(std::string_view query) const {
    std::string text(part(0, parts_.path_end));
    if (!query.empty()) {
        (text += '?') += query;
    }
    return parse(text.append(part(parts_.query_end, text_.size())));
}

url url::with_query(const query_parameters& query) const {
    return with_query(query.text());
}

url url::resolve(std::string_view reference) const {
    detail::url_parser parser;
    if (!resolve_with(parser, reference)) {
        throw invalid_argument(base::quoted(without_password(reference)) +
                               " is not a valid reference: " + parser.reason());
    }
    return {std::move(parser.text()), parser.parts()};
}

std::optional<url> url::try_resolve(std::string_view reference) const {
    detail::url_parser parser;
    return resolve_with(parser, reference)
               ? std::optional(url(std::move(parser.text()), parser.parts()))
               : std::nullopt;
}

bool url::resolve_with(detail::url_parser& parser, std::string_view reference) const {
    if (empty()) {
        throw invalid_state("url::resolve: the base URL is empty");
    }
    return parser.resolve(text_, parts_, reference);
}

url url::canonical() const& {
    return url(*this).canonical();
}

// No dot segment can appear here: the parser removes encoded ones, too.
url url::canonical() && {
    const bool has_final_dot = host().ends_with('.');
    if (!has_final_dot && !detail::has_other_escapes(text_)) {
        return std::move(*this);
    }
    detail::url_parts parts = parts_;
    std::string text;
    text.reserve(text_.size());
    const auto append = [&](std::size_t begin, std::size_t end, std::uint16_t& new_end) {
        detail::append_canonical_escapes(text, part(begin, end));
        new_end = static_cast<std::uint16_t>(text.size());
    };
    append(0, parts_.host_begin, parts.host_begin);
    append(parts_.host_begin, parts_.host_end - (has_final_dot ? 1u : 0u), parts.host_end);
    append(parts_.host_end, parts_.path_begin, parts.path_begin);
    append(parts_.path_begin, parts_.path_end, parts.path_end);
    append(parts_.path_end, parts_.query_end, parts.query_end);
    detail::append_canonical_escapes(text, part(parts_.query_end, text_.size()));
    return {std::move(text), parts};
}

std::ostream& operator<<(std::ostream& out, const url& shown) {
    if (shown.password().empty()) {
        return out << shown.text_;
    }
    const std::size_t colon = shown.text_.find(':', shown.parts_.scheme_end + 3u);
    return out << shown.part(0, colon + 1) << "***"
               << shown.part(shown.parts_.host_begin - 1u, shown.text_.size());
}

// The text may be invalid, such as one whose password contains a slash or an at sign: rather too
// much is left out than too little.
std::string without_password(std::string_view text) {
    const std::size_t slashes = text.find("//");
    const std::size_t begin = slashes == none ? 0 : slashes + 2;
    const std::size_t at = text.substr(0, text.find_first_of("?#")).rfind('@');
    const std::size_t colon = text.find(':', begin);
    if (at == none || at < begin || colon == none || colon > at) {
        return std::string(text);
    }
    return std::string(text.substr(0, colon + 1)) + "***" + std::string(text.substr(at));
}

}  // namespace weir::http
