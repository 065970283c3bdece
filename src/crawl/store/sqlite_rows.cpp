// SPDX-License-Identifier: MIT
// Each kind of row has one statement, which the session prepares once.

#include "crawl/store/sqlite_rows.hpp"

#include "crawl/store/read_rows.hpp"
#include "crawl/store/row_texts.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace weir::crawl::detail {

namespace {

std::int64_t column_of_time(timestamp when) noexcept {
    return when.time_since_epoch().count();
}

void write_host(sqlite::session& on, const host_row& row) {
    on.execute("INSERT OR REPLACE INTO hosts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row.id,
               row.origin, column_of_time(row.not_before), row.failures, row.trips, row.given_up,
               name_of(row.given_up_kind), static_cast<int>(row.robots),
               column_of_time(row.robots_at), row.robots_failures, row.robots_text);
}

void write_url(sqlite::session& on, const url_row& row) {
    on.execute("INSERT INTO urls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row.id, row.host,
               row.priority, row.depth, name_of(row.found_as), row.is_external,
               to_column(row.fingerprint), row.referrer, column_of_time(row.found_at), row.url,
               row.chain);
}

void write_page(sqlite::session& on, const page_record& row) {
    on.execute(
        "INSERT OR REPLACE INTO pages VALUES "
        "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row.id, name_of(row.state), row.status, name_of(row.error.kind), name_of(row.error.stage),
        row.error.text, row.attempts, column_of_time(row.fetched_at), row.times.queued.count(),
        row.times.ttfb.count(), row.times.total.count(), row.bytes, row.wire_bytes,
        row.content_type, row.charset, row.title, row.canonical, row.location, row.is_noindex,
        row.is_nofollow, to_column(row.body_hash), row.links, row.new_links, row.cut_links,
        row.data);
    if (row.attempts > 1) {
        on.execute("DELETE FROM retries WHERE id = ?", row.id);
    }
}

}  // namespace

void write_counters(sqlite::session& on, const counters& totals) {
    each_counter(totals, [&on](std::string_view name, std::uint64_t value) {
        on.execute("INSERT OR REPLACE INTO counters VALUES (?, ?)", name, value);
    });
}

counters read_counters(sqlite::session& on) {
    counters totals;
    const sqlite::rows found = on.query("SELECT name, value FROM counters");
    for (const sqlite::row row : found) {
        each_counter(totals, [&row](std::string_view name, std::uint64_t& value) {
            if (row[0].as<std::string_view>() == name) {
                value = row[1].as<std::uint64_t>();
            }
        });
    }
    return totals;
}

void write_batch(sqlite::session& on, const commit_batch& batch) {
    for (const host_row& each : batch.hosts) {
        write_host(on, each);
    }
    for (const url_row& each : batch.urls) {
        write_url(on, each);
    }
    for (const retry_row& each : batch.retries) {
        on.execute("INSERT OR REPLACE INTO retries VALUES (?, ?, ?, ?)", each.id, each.attempts,
                   column_of_time(each.due), each.reason);
    }
    for (const page_record& each : batch.pages) {
        write_page(on, each);
    }
    for (const link_row& each : batch.links) {
        on.execute("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?)", each.page,
                   to_column(each.target), name_of(each.kind), name_of(each.refusal), each.line,
                   each.column, each.url, each.fragment);
    }
    for (const auto& [page, names] : batch.anchors) {
        on.execute("INSERT OR REPLACE INTO anchors VALUES (?, ?)", page, names);
    }
    for (const auto& [name, position] : batch.positions) {
        on.execute("INSERT OR REPLACE INTO outputs VALUES (?, ?)", name, position);
    }
    write_counters(on, batch.totals);
}

std::vector<host_row> read_hosts(sqlite::session& on) {
    std::vector<host_row> hosts;
    const sqlite::rows found = on.query(
        "SELECT id, origin, not_before, failures, trips, given_up, robots, robots_at, "
        "robots_failures, robots_text, given_up_kind FROM hosts ORDER BY id");
    hosts.reserve(found.size());
    for (const sqlite::row row : found) {
        host_row host = host_in(row);
        host.robots_text = row[9].as<std::string>();
        hosts.push_back(std::move(host));
    }
    return hosts;
}

std::optional<retry_row> read_retry(sqlite::session& on, url_id id) {
    const sqlite::rows found =
        on.query("SELECT attempts, due, reason FROM retries WHERE id = ?", id);
    if (found.size() == 0) {
        return std::nullopt;
    }
    return retry_in(id, found[0]);
}

url_row url_of(const sqlite::row& row) {
    return url_in(row);
}

page_record page_of(const sqlite::row& row) {
    page_record page = page_in(row);
    page.data = row[29].as<std::optional<std::string>>().value_or("");
    return page;
}

link_row link_of(const sqlite::row& row) {
    return link_in(row, 0);
}

}  // namespace weir::crawl::detail
