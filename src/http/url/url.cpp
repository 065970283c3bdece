// SPDX-License-Identifier: MIT
// What can be done with a URL that has been read. Changing one writes the new text and reads it
// again: there is one place that knows what a URL looks like.

#include "base/quoted.hpp"

#include <weir/error.hpp>
#include <weir/http/percent.hpp>
#include <weir/http/query.hpp>
#include <weir/http/url.hpp>

#include <algorithm>
#include <ostream>

namespace weir::http {

namespace {

constexpr std::size_t none = std::string_view::npos;

// RFC 3986 section 3.1: a colon before anything else that could end it.
bool has_scheme(std::string_view reference) noexcept {
    const std::size_t colon = reference.find_first_of(":/?#");
    return colon != none && colon > 0 && reference[colon] == ':';
}

}  // namespace

bool url::is_secure() const noexcept {
    return scheme() == "https" || scheme() == "wss";
}

std::string url::user() const {
    if (!has_credentials()) {
        return {};
    }
    const std::string_view both = part(scheme_end_ + 3u, host_begin_ - 1u);
    return percent_decode(both.substr(0, both.find(':')));
}

std::string url::password() const {
    if (!has_credentials()) {
        return {};
    }
    const std::string_view both = part(scheme_end_ + 3u, host_begin_ - 1u);
    const std::size_t colon = both.find(':');
    return colon == none ? std::string() : percent_decode(both.substr(colon + 1));
}

std::string_view url::host() const noexcept {
    const std::string_view written = part(host_begin_, host_end_);
    return written.starts_with('[') ? written.substr(1, written.size() - 2) : written;
}

std::string_view url::query() const noexcept {
    return query_end_ == path_end_ ? std::string_view() : part(path_end_ + 1u, query_end_);
}

std::string_view url::fragment() const noexcept {
    return query_end_ == text_.size() ? std::string_view() : part(query_end_ + 1u, text_.size());
}

std::string url::origin() const {
    return empty() ? std::string() : std::string(scheme()) + "://" + std::string(authority());
}

std::optional<io::address> url::address() const {
    return is_ip_literal_ ? std::optional(io::address::parse(host(), port_)) : std::nullopt;
}

url url::without_credentials() const {
    return has_credentials() ? parse(origin() + std::string(part(path_begin_, text_.size())))
                             : *this;
}

url url::without_fragment() const {
    url without = *this;
    without.text_.resize(query_end_);
    return without;
}

url url::with_query(std::string_view query) const {
    std::string text(part(0, path_end_));
    if (!query.empty()) {
        (text += '?') += query;
    }
    return parse(text.append(part(query_end_, text_.size())));
}

url url::with_query(const query_parameters& query) const {
    return with_query(query.text());
}

// RFC 3986 section 5.2.2, but for dots in the path, which go when the result is read.
std::string url::referred(std::string_view reference) const {
    if (empty()) {
        throw invalid_state("url: nothing can be resolved against no URL");
    }
    std::string text;
    if (has_scheme(reference)) {
        // A URL of its own.
    } else if (reference.starts_with("//")) {
        (text = scheme()) += ':';
    } else if (reference.starts_with('/')) {
        text = part(0, path_begin_);
    } else if (reference.starts_with('?')) {
        text = part(0, path_end_);
    } else if (reference.empty() || reference.starts_with('#')) {
        text = part(0, query_end_);
    } else {
        text = part(0, path_begin_ + path().rfind('/') + 1);
    }
    for (const char each : reference.substr(0, max_size + 1)) {
        each == ' ' ? text += "%20" : text += each;
    }
    return text;
}

url url::resolve(std::string_view reference) const {
    return parse(referred(reference));
}

std::optional<url> url::try_resolve(std::string_view reference) const {
    return try_parse(referred(reference));
}

std::ostream& operator<<(std::ostream& out, const url& shown) {
    if (shown.password().empty()) {
        return out << shown.text_;
    }
    const std::size_t colon = shown.text_.find(':', shown.scheme_end_ + 3u);
    return out << shown.part(0, colon + 1) << "***"
               << shown.part(shown.host_begin_ - 1u, shown.text_.size());
}

// Also for what is no URL, such as one whose password has a slash or an at sign in it: rather too
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
