// SPDX-License-Identifier: MIT
// A URL of several hosts becomes one for each, so that each is asked by itself: libpq would take
// the first one that accepts a connection.

#include "service/store/postgres/pg_servers.hpp"

#include <algorithm>

namespace weir::service::detail {

namespace {

struct url_parts {
    std::string_view before;  // postgres://user:password@
    std::string_view hosts;
    std::string_view after;  // /database?parameters
};

// Without hosts if it is not such a URL; libpq reads it, then.
url_parts split_url(std::string_view url) {
    const std::size_t scheme = url.find("://");
    if (scheme == std::string_view::npos) {
        return {url, {}, {}};
    }
    const std::size_t begin = scheme + 3;
    const std::size_t end = std::min(url.find_first_of("/?", begin), url.size());
    const std::size_t at = url.substr(begin, end - begin).rfind('@');
    const std::size_t hosts = at == std::string_view::npos ? begin : begin + at + 1;
    return {url.substr(0, hosts), url.substr(hosts, end - hosts), url.substr(end)};
}

}  // namespace

std::int64_t pg_history::number() const noexcept {
    // The upper half tells clusters apart, should the database be replaced by a copy of it.
    const std::uint64_t mixed = static_cast<std::uint64_t>(system) * 0x9e3779b97f4a7c15U;
    return static_cast<std::int64_t>((mixed >> 33U << 32U) | timeline);
}

pg_servers::pg_servers(std::string_view url) {
    const url_parts parts = split_url(url);
    for (std::string_view rest = parts.hosts;;) {
        const std::size_t comma = rest.find(',');
        const std::string host(rest.substr(0, comma));
        urls_.push_back(std::string(parts.before) + host + std::string(parts.after));
        names_.push_back(host.empty() ? "the server" : host);
        if (comma == std::string_view::npos) {
            break;
        }
        rest.remove_prefix(comma + 1);
    }
}

std::uint64_t pg_servers::generation() const {
    const std::lock_guard lock(guard_);
    return generation_;
}

void pg_servers::lose(std::uint64_t generation) {
    const std::lock_guard lock(guard_);
    if (generation == generation_) {
        ++generation_;
        primary_.reset();
    }
}

std::optional<std::size_t> pg_servers::primary() const {
    const std::lock_guard lock(guard_);
    return primary_;
}

pg_history pg_servers::newest() const {
    const std::lock_guard lock(guard_);
    return newest_;
}

std::optional<std::uint64_t> pg_servers::accept(std::size_t index, const pg_history& found) {
    const std::lock_guard lock(guard_);
    if (found.is_before(newest_)) {
        return std::nullopt;
    }
    if (found.is_known() && newest_.is_known() && found != newest_) {
        ++generation_;  // connections to the former primary may be left
    }
    primary_ = index;
    newest_ = found.is_known() ? found : newest_;
    return generation_;
}

bool pg_servers::has_tables() const {
    const std::lock_guard lock(guard_);
    return has_tables_;
}

void pg_servers::set_has_tables() {
    const std::lock_guard lock(guard_);
    has_tables_ = true;
}

bool pg_servers::is_noted(const pg_history& found) const {
    const std::lock_guard lock(guard_);
    return noted_ == found;
}

void pg_servers::set_noted(const pg_history& found) {
    const std::lock_guard lock(guard_);
    noted_ = found;
}

}  // namespace weir::service::detail
