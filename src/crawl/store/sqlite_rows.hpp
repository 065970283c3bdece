// SPDX-License-Identifier: MIT
// Rows of the SQLite store to and from the types of the crawl. Functions of a session, which run on
// a thread of the database.
#pragma once

#include <weir/crawl/store.hpp>
#include <weir/db/sqlite/session.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace weir::crawl::detail {

void write_batch(sqlite::session& on, const commit_batch& batch);
void write_counters(sqlite::session& on, const counters& totals);
counters read_counters(sqlite::session& on);
std::vector<host_row> read_hosts(sqlite::session& on);
std::optional<retry_row> read_retry(sqlite::session& on, url_id id);

// Columns of url_row, in the order in which url_of() reads them.
inline constexpr const char* url_columns =
    "SELECT u.id, u.host, u.priority, u.depth, u.found_as, u.is_external, u.fingerprint, "
    "u.referrer, u.found_at, u.url, u.chain, r.url, t.attempts, t.due FROM urls u "
    "LEFT JOIN urls r ON r.id = u.referrer LEFT JOIN retries t ON t.id = u.id "
    "WHERE NOT EXISTS (SELECT 1 FROM pages p WHERE p.id = u.id) AND ";
url_row url_of(const sqlite::row& row);

inline constexpr const char* page_columns =
    "SELECT u.id, u.url, u.depth, u.found_as, r.url, u.chain, p.state, p.status, p.error, p.stage, "
    "p.reason, p.attempts, p.fetched_at, p.queued, p.ttfb, p.total, p.bytes, p.wire_bytes, "
    "p.content_type, p.charset, p.title, p.canonical, p.location, p.is_noindex, p.is_nofollow, "
    "p.body_hash, p.links, p.new_links, p.cut_links, p.data, t.attempts FROM urls u "
    "LEFT JOIN urls r ON r.id = u.referrer LEFT JOIN pages p ON p.id = u.id "
    "LEFT JOIN retries t ON t.id = u.id ";
page_record page_of(const sqlite::row& row);
link_row link_of(const sqlite::row& row);

// SQLite's integers are signed.
inline std::int64_t to_column(std::uint64_t number) noexcept {
    return static_cast<std::int64_t>(number);
}

}  // namespace weir::crawl::detail
