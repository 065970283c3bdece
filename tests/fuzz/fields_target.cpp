// SPDX-License-Identifier: MIT
// Headers that servers and clients read, each with the whole input as its value.

#include "fuzz.hpp"
#include "http/coding/content_coding.hpp"
#include "http/files/conditions.hpp"
#include "http/files/ranges.hpp"
#include "http/files/served_path.hpp"

#include <weir/http/date.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/link.hpp>
#include <weir/http/media_type.hpp>
#include <weir/http/retry_after.hpp>
#include <weir/http/trusted_proxies.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <vector>

namespace {

using fuzz::require;
using namespace weir::http::detail;
using std::chrono::sys_seconds;
using weir::http::headers;

void check_ranges(std::string_view input, std::uint64_t size) {
    constexpr std::size_t most = 4;
    std::vector<byte_range> chosen;
    const range_choice choice = choose_ranges(input, size, most, chosen);
    if (choice != range_choice::parts) {
        return;
    }
    require(!chosen.empty() && chosen.size() <= most, "so many parts");
    for (const byte_range& each : chosen) {
        require(each.size != 0 && each.first < size && each.size <= size - each.first,
                "a part of what is there");
        require(content_range(each, size).starts_with("bytes "), "Content-Range");
    }
    std::sort(chosen.begin(), chosen.end(),
              [](const byte_range& a, const byte_range& b) { return a.first < b.first; });
    for (std::size_t i = 1; i < chosen.size(); ++i) {
        require(chosen[i].first - chosen[i - 1].first >= chosen[i - 1].size, "no byte twice");
    }
}

void check_codings(std::string_view input) {
    constexpr std::array<coding, 2> offered = {coding::brotli, coding::gzip};
    const coding_choice choice = choose_coding(input, offered);
    require(choice.which != coding::deflate, "one that is offered");
    require(choose_coding(input, {}).which == coding::identity, "nothing is offered");
    static_cast<void>(is_compressible(input));
}

void check_dates(std::string_view input) {
    const auto now = sys_seconds(std::chrono::seconds(1'700'000'000));
    const auto date = weir::http::parse_date(input, now);
    if (date && *date < std::chrono::system_clock::time_point::max() - std::chrono::hours(24) &&
        *date > std::chrono::system_clock::time_point::min() + std::chrono::hours(24)) {
        require(weir::http::parse_date(weir::http::format_date(*date), now) == date,
                "a date is the same again");
    }
}

void check_tags(std::string_view input) {
    static_cast<void>(lists_etag(input, "\"a\"", comparison::weak));
    if (is_etag(input)) {
        require(lists_etag(input, input, comparison::weak), "a tag is itself");
        require(lists_etag(input, input, comparison::strong) != input.starts_with("W/"),
                "strongly so without W/");
        const std::string list = "\"x\", " + std::string(input) + " ,W/\"y\"";
        require(lists_etag(list, input, comparison::weak), "and in a list");
    }
}

void check_conditions_of(std::string_view input) {
    const validators there{"\"a\"", sys_seconds(std::chrono::seconds(1'000'000'000))};
    for (const char* name :
         {"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"}) {
        headers asked;
        asked.add(name, input);
        const condition get = check_conditions(weir::http::method::get, asked, there);
        const condition post = check_conditions(weir::http::method::post, asked, there);
        require(post != condition::not_modified, "304 is for GET and HEAD");
        require(get == condition::holds || std::string_view(name) != "If-Range",
                "If-Range is about ranges");
        static_cast<void>(range_applies(asked, there, *there.last_modified));
    }
}

void check_paths(std::string_view input) {
    for (const bool hides_dots : {false, true}) {
        const auto path = served_path_of(input, hides_dots);
        if (!path) {
            continue;
        }
        const std::string inside = "/" + path->text + "/";
        require(inside.find("/../") == std::string::npos && inside.find("/./") == std::string::npos,
                "no way out");
        require(path->text.empty() || inside.find("//") == std::string::npos, "no empty segment");
        require(inside.find('\0') == std::string::npos, "no zero");
        require(!hides_dots || inside.find("/.") == std::string::npos || inside.rfind("/.") == 0,
                "nothing hidden, but at the front");
    }
}

void check_media_types(std::string_view input) {
    const auto type = weir::http::media_type::try_parse(input);
    if (!type) {
        return;
    }
    require(type->is(type->essence()) && type->is("*/*"), "it is what it is");
    require(weir::http::is_token(type->type()) && weir::http::is_token(type->subtype()),
            "both halves are tokens");
    require(weir::http::media_type::try_parse(type->text()) == type, "a type is the same again");
}

void check_links(std::string_view input) {
    const auto links = weir::http::parse_links(input, 5);
    require(links.size() <= 5, "no more than wanted");
    for (const auto& each : links) {
        require(each.target.find('>') == std::string::npos, "the target ends at its bracket");
        static_cast<void>(each.has_relation("next"));
    }
}

void check_retry_after(std::string_view input) {
    headers of;
    of.add("Retry-After", input);
    of.add("Date", "Sun, 06 Nov 1994 08:49:37 GMT");
    const auto wait = weir::http::retry_after(of);
    require(!wait || *wait >= weir::clock::duration::zero(), "no waiting into the past");
}

// No field of a client makes it pass for another client: the proxy appends the real address after
// it.
void check_forwarded(std::string_view input) {
    using weir::http::forwarded_header;
    const auto proxy = weir::io::address::parse("10.0.0.1", 1);
    const auto client = weir::io::address::parse("203.0.113.7", 0);
    for (const auto which : {forwarded_header::x_forwarded_for, forwarded_header::forwarded}) {
        const bool is_list = which == forwarded_header::x_forwarded_for;
        const char* const name = is_list ? "X-Forwarded-For" : "Forwarded";
        const std::string_view added = is_list ? "203.0.113.7" : "for=203.0.113.7";
        weir::http::trusted_proxies proxies(which);
        proxies.trust("10.0.0.0/8");

        headers one_line;
        one_line.add(name, std::string(input) + ", " + std::string(added));
        const auto found = proxies.client_of(proxy, one_line);
        // A quote that it leaves open invalidates its line, and then only the proxy is known.
        require(found == client || (!is_list && found == proxy), "nobody else");

        headers two_lines;
        two_lines.add(name, input);
        two_lines.add(name, added);
        require(proxies.client_of(proxy, two_lines) == client, "nobody else by a line of its own");

        headers alone;
        alone.add(name, input);
        require(proxies.client_of(client, alone) == client, "who is not trusted is not believed");
        static_cast<void>(proxies.client_of(proxy, alone));
    }
}

}  // namespace

WEIR_FUZZ_TARGET(fields) {
    for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{100},
                                     std::numeric_limits<std::uint64_t>::max()}) {
        check_ranges(input, size);
    }
    check_codings(input);
    check_dates(input);
    check_tags(input);
    check_paths(input);
    check_media_types(input);
    check_links(input);
    if (weir::http::is_field_value(input)) {
        check_conditions_of(input);
        check_retry_after(input);
        check_forwarded(input);
        headers some;
        some.add("A", input);
        require(some.get("a") == input && some.joined("A") == input,
                "a header is what it was set to");
        static_cast<void>(some.lists("A", "gzip"));
    }
}
