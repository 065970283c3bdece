// SPDX-License-Identifier: MIT
// URLs and their parts: one normal form, whose parts mean the same to every parser. The input is a
// URL and, after a line end, a reference to resolve.

#include "fuzz.hpp"

#include <weir/error.hpp>
#include <weir/http/address_filter.hpp>
#include <weir/http/percent.hpp>
#include <weir/http/query.hpp>
#include <weir/http/url.hpp>

#include <optional>

namespace {

using fuzz::require;
using weir::http::query_parameters;
using weir::http::url;

void require_normal(const url& of) {
    const auto again = url::try_parse(of.text());
    require(again && *again == of, "the normal form is its own");
    require(again->scheme() == of.scheme() && again->host() == of.host(), "scheme and host");
    require(again->port() == of.port() && of.port() != 0, "port");
    require(again->target() == of.target() && of.target().starts_with('/'), "target");
    require(again->fragment() == of.fragment(), "fragment");
    require(again->user() == of.user() && again->password() == of.password(), "credentials");
    require(of.text().size() <= url::max_size, "the limit");
    for (const char each : of.text()) {
        require(each > ' ' && each < 0x7f, "visible ASCII");
    }
    require(!of.host().empty(), "a host");
    require(of.host().find_first_of("/?#@\\%ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string_view::npos,
            "nothing else in the host");
    require(of.is_ip_literal() == of.address().has_value(), "an address");
    if (of.is_ip_literal()) {
        const auto kind = weir::http::classify(*of.address());
        require(kind != weir::http::address_class::none, "an address of some kind");
    }

    const auto origin = url::try_parse(of.origin());
    require(origin && origin->host() == of.host() && origin->port() == of.port(), "origin");
    const url bare = of.without_credentials();
    require(!bare.has_credentials() && bare.host() == of.host() && bare.target() == of.target(),
            "without credentials");
    require(of.without_fragment().fragment().empty(), "without fragment");
    const auto itself = of.try_resolve(of.text());
    require(itself && *itself == of, "resolving itself");
    const url canonical = of.canonical();
    require(canonical.canonical() == canonical, "the canonical form is its own");
    require(canonical.port() == of.port() && !canonical.host().ends_with('.'), "canonical host");
    const auto canonical_again = url::try_parse(canonical.text());
    require(canonical_again && *canonical_again == canonical, "the canonical form is normal");
    require(canonical_again->target() == canonical.target(), "canonical target");
    require(weir::http::without_password(of.text()).find('@') != std::string::npos ||
                !of.has_credentials(),
            "the user is shown");
}

void check_query(std::string_view text) {
    try {
        const query_parameters parsed = query_parameters::parse(text, 20);
        require(parsed.size() <= 20, "the limit of parameters");
        require(query_parameters::parse(parsed.text()) == parsed, "a query means the same again");
    } catch (const weir::invalid_argument&) {
    }
}

}  // namespace

WEIR_FUZZ_TARGET(url) {
    const std::size_t line_end = input.find('\n');
    const std::string_view first = input.substr(0, line_end);
    const std::string_view second =
        line_end == std::string_view::npos ? std::string_view() : input.substr(line_end + 1);

    const std::optional<url> base = url::try_parse(first);
    static const url elsewhere = url::parse("wss://elsewhere.example/a/b?c");
    if (const auto reference = elsewhere.try_resolve(first)) {
        require_normal(*reference);
        require(!base || *reference == *base, "a URL means the same as a reference");
    } else {
        require(!base, "every URL is a reference");
    }
    if (base) {
        require_normal(*base);
        check_query(base->query());
        if (const auto resolved = base->try_resolve(second)) {
            require_normal(*resolved);
        }
    }
    try {
        const url thrown = url::parse(first);
        require(base && thrown == *base, "both ways to parse agree");
    } catch (const weir::invalid_argument&) {
        require(!base, "both ways to parse agree");
    }
    static_cast<void>(weir::http::without_password(input));
    check_query(second);
    if (const auto decoded = weir::http::try_percent_decode(second)) {
        require(weir::http::percent_decode(weir::http::encode_component(*decoded)) == *decoded,
                "encoding is undone by decoding");
    }
    try {
        const auto range = weir::http::address_range::parse(second);
        require(weir::http::address_range::parse(range.text()) == range, "a range is its own");
    } catch (const weir::invalid_argument&) {
    }
}
