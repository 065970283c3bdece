// SPDX-License-Identifier: MIT
// The keys are keyed hashes, as those of the seen set, so that a site cannot choose URLs that share
// one. A pattern takes 40 bytes of memory or so, and only if its option is set.

#include "crawl/frontier/trap_counts.hpp"

#include <algorithm>

namespace weir::crawl::detail {

namespace {

bool is_decimal(char c) noexcept {
    return c >= '0' && c <= '9';
}

std::size_t end_of_origin(std::string_view url) noexcept {
    const std::size_t host = url.find("//");
    return std::min(url.find('/', host == std::string_view::npos ? 0 : host + 2), url.size());
}

}  // namespace

std::string pattern_of(std::string_view url) {
    const std::size_t path = end_of_origin(url);
    std::string pattern(url.substr(0, path));  // digits of a host or port stay
    bool is_query = false;
    bool is_value = false;
    char before = '\0';
    for (const char c : url.substr(path)) {
        is_query = is_query || c == '?';
        is_value = is_query && (c == '=' || (is_value && c != '&'));
        const bool is_first = !is_decimal(c) || !is_decimal(before);
        if ((!is_value || c == '=') && is_first) {
            pattern += is_decimal(c) ? '0' : c;
        }
        before = c;
    }
    return pattern;
}

bool trap_counts::has_room_for(std::string_view url) const {
    if (!counts_patterns()) {
        return true;
    }
    const auto found = patterns_.find(key_of(pattern_of(url)));
    return found == patterns_.end() || found->second < options_.max_pages_per_pattern;
}

void trap_counts::add(std::string_view url) {
    if (counts_patterns()) {
        ++patterns_[key_of(pattern_of(url))];
    }
}

bool trap_counts::add_body(std::string_view url, std::uint64_t body_hash) {
    if (!counts_bodies() || body_hash == 0) {
        return true;
    }
    const std::uint64_t origin = key_of(url.substr(0, end_of_origin(url)));
    return ++bodies_[origin ^ body_hash] <= options_.max_equal_bodies;
}

void trap_counts::restore(const page_record& page) {
    add(page.url);
    if (page.state == page_state::done) {
        add_body(page.url, page.body_hash);
    }
}

}  // namespace weir::crawl::detail
