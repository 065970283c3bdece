// SPDX-License-Identifier: MIT
// Records from rows of any database. The columns stand in one order in the queries of all of them;
// what databases keep in different types (robots_text, data) is left to the caller.
#pragma once

#include "crawl/store/lines.hpp"
#include "crawl/store/row_texts.hpp"

#include <weir/crawl/store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

template <class Value>
timestamp time_in(const Value& column) {
    return timestamp(
        std::chrono::microseconds(column.template as<std::optional<std::int64_t>>().value_or(0)));
}

template <class Value>
link_kind link_kind_in(const Value& column) {
    return link_kind_named(column.template as<std::string_view>()).value_or(link_kind::anchor);
}

template <class Value>
error_kind error_kind_in(const Value& column) {
    return error_kind_named(column.template as<std::string_view>()).value_or(error_kind::none);
}

// A number that is kept in a signed column.
template <class Value>
std::uint64_t hash_in(const Value& column) {
    return static_cast<std::uint64_t>(column.template as<std::int64_t>());
}

template <class Value>
std::chrono::microseconds duration_in(const Value& column) {
    return std::chrono::microseconds(column.template as<std::int64_t>());
}

template <class Row>
host_row host_in(const Row& row) {
    host_row host;
    host.id = row[0].template as<host_id>();
    host.origin = row[1].template as<std::string>();
    host.not_before = time_in(row[2]);
    host.failures = row[3].template as<std::uint32_t>();
    host.trips = row[4].template as<std::uint32_t>();
    host.given_up = row[5].template as<std::string>();
    host.robots = static_cast<robots_state>(row[6].template as<int>());
    host.robots_at = time_in(row[7]);
    host.robots_failures = row[8].template as<std::uint32_t>();
    host.given_up_kind = error_kind_in(row[10]);
    return host;
}

template <class Row>
url_row url_in(const Row& row) {
    url_row url;
    url.id = row[0].template as<url_id>();
    url.host = row[1].template as<host_id>();
    url.priority = row[2].template as<std::int32_t>();
    url.depth = row[3].template as<std::uint32_t>();
    url.found_as = link_kind_in(row[4]);
    url.is_external = row[5].template as<bool>();
    url.fingerprint = hash_in(row[6]);
    url.referrer = row[7].template as<url_id>();
    url.found_at = time_in(row[8]);
    url.url = row[9].template as<std::string>();
    url.chain = row[10].template as<std::string>();
    url.referrer_url = row[11].template as<std::optional<std::string>>().value_or("");
    url.attempts = row[12].template as<std::optional<std::uint32_t>>().value_or(0);
    url.due = time_in(row[13]);
    return url;
}

template <class Row>
retry_row retry_in(url_id id, const Row& row) {
    retry_row retry;
    retry.id = id;
    retry.attempts = row[0].template as<std::uint32_t>();
    retry.due = time_in(row[1]);
    retry.reason = row[2].template as<std::string>();
    return retry;
}

// A page that is pending has its URL and nothing else.
template <class Row>
page_record page_in(const Row& row) {
    page_record page;
    page.id = row[0].template as<url_id>();
    page.url = row[1].template as<std::string>();
    page.depth = row[2].template as<std::uint32_t>();
    page.found_as = link_kind_in(row[3]);
    page.referrer = row[4].template as<std::optional<std::string>>().value_or("");
    page.redirects = lines_of(row[5].template as<std::string_view>());
    if (row[6].is_null()) {
        page.attempts = row[30].template as<std::optional<std::uint32_t>>().value_or(0);
        return page;
    }
    page.state = page_state_named(row[6].template as<std::string_view>());
    page.status = row[7].template as<int>();
    page.error.kind = error_kind_in(row[8]);
    page.error.stage =
        fetch_stage_named(row[9].template as<std::string_view>()).value_or(fetch_stage::none);
    page.error.text = row[10].template as<std::string>();
    page.attempts = row[11].template as<std::uint32_t>();
    page.fetched_at = time_in(row[12]);
    page.times.queued = duration_in(row[13]);
    page.times.ttfb = duration_in(row[14]);
    page.times.total = duration_in(row[15]);
    page.bytes = row[16].template as<std::uint64_t>();
    page.wire_bytes = row[17].template as<std::uint64_t>();
    page.content_type = row[18].template as<std::string>();
    page.charset = row[19].template as<std::string>();
    page.title = row[20].template as<std::string>();
    page.canonical = row[21].template as<std::string>();
    page.location = row[22].template as<std::string>();
    page.is_noindex = row[23].template as<bool>();
    page.is_nofollow = row[24].template as<bool>();
    page.body_hash = hash_in(row[25]);
    page.links = row[26].template as<std::uint32_t>();
    page.new_links = row[27].template as<std::uint32_t>();
    page.cut_links = row[28].template as<std::uint32_t>();
    return page;
}

// From its column `first` on.
template <class Row>
link_row link_in(const Row& row, std::size_t first) {
    link_row link;
    link.page = row[first].template as<url_id>();
    link.target = hash_in(row[first + 1]);
    link.kind = link_kind_in(row[first + 2]);
    link.refusal = link_refusal_named(row[first + 3].template as<std::string_view>());
    link.line = row[first + 4].template as<std::uint32_t>();
    link.column = row[first + 5].template as<std::uint32_t>();
    link.url = row[first + 6].template as<std::string>();
    link.fragment = row[first + 7].template as<std::string>();
    return link;
}

}  // namespace weir::crawl::detail
