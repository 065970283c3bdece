// SPDX-License-Identifier: MIT
// Rows of the PostgreSQL store to and from the types of the crawl: each kind of row of a batch is
// one statement with arrays.
#pragma once

#include <weir/crawl/store.hpp>
#include <weir/db/pg/parameter.hpp>
#include <weir/db/pg/rows.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::crawl::detail {

struct pg_statement {
    std::string sql;  // for pg_names
    std::vector<pg::parameter> parameters;
};

template <class... Values>
std::vector<pg::parameter> pg_parameters(Values&&... values) {
    std::vector<pg::parameter> made;
    made.reserve(sizeof...(values));
    (made.emplace_back(std::forward<Values>(values)), ...);
    return made;
}

// What a batch changes, in the order in which it has to run; counters and outputs apart.
std::vector<pg_statement> statements_of(const commit_batch& batch, std::int64_t node,
                                        std::uint64_t max_pages_per_host);
// What has changed in the counters; `discovered` apart, which the statement of the URLs counts.
pg_statement statement_of_counters(const counters& before, const counters& after);
pg_statement statement_of_outputs(const std::map<std::string, std::string>& positions,
                                  std::string_view node_name, std::int64_t node);

counters pg_counters_of(const pg::rows& rows);

// From @hosts: columns of host_row, in the order in which pg_host_of() reads them.
inline constexpr std::string_view pg_host_columns =
    "SELECT id, origin, not_before, failures, trips, given_up, robots, robots_at, robots_failures, "
    "robots_text, given_up_kind, urls FROM @hosts ";
host_row pg_host_of(const pg::row& row);

// Of pending URLs.
inline constexpr std::string_view pg_url_columns =
    "SELECT u.id, u.host, u.priority, u.depth, u.found_as, u.is_external, u.fingerprint, "
    "u.referrer, u.found_at, u.url, u.chain, r.url, p.attempts, p.due FROM @pending p "
    "JOIN @urls u ON u.id = p.id LEFT JOIN @urls r ON r.id = u.referrer ";
url_row pg_url_of(const pg::row& row);

inline constexpr std::string_view pg_page_columns =
    "SELECT u.id, u.url, u.depth, u.found_as, r.url, u.chain, p.state, p.status, p.error, p.stage, "
    "p.reason, p.attempts, p.fetched_at, p.queued, p.ttfb, p.total, p.bytes, p.wire_bytes, "
    "p.content_type, p.charset, p.title, p.canonical, p.location, p.is_noindex, p.is_nofollow, "
    "p.body_hash, p.links, p.new_links, p.cut_links, p.data, t.attempts FROM @urls u "
    "LEFT JOIN @urls r ON r.id = u.referrer LEFT JOIN @pages p ON p.id = u.id "
    "LEFT JOIN @pending t ON t.id = u.id ";
page_record pg_page_of(const pg::row& row);
// Of attempts, due and reason.
retry_row pg_retry_of(url_id id, const pg::row& row);

inline constexpr std::string_view pg_link_columns =
    "SELECT number, page, target, kind, refusal, line, \"column\", url, fragment FROM @links ";
link_row pg_link_of(const pg::row& row);

// PostgreSQL's integers are signed.
inline std::int64_t pg_number(std::uint64_t number) noexcept {
    return static_cast<std::int64_t>(number);
}
inline std::int64_t pg_time(timestamp when) noexcept {
    return when.time_since_epoch().count();
}

}  // namespace weir::crawl::detail
