// SPDX-License-Identifier: MIT
// Each kind of row has one statement, which the session prepares once.

#include "crawl/store/sqlite_rows.hpp"

#include "crawl/store/lines.hpp"
#include "crawl/store/row_texts.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace weir::crawl::detail {

namespace {

std::int64_t column_of_time(timestamp when) noexcept {
    return when.time_since_epoch().count();
}
timestamp time_of_column(std::int64_t column) noexcept {
    return timestamp(std::chrono::microseconds(column));
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

link_kind kind_of(const sqlite::value& column) {
    return link_kind_named(column.as<std::string_view>()).value_or(link_kind::anchor);
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
        host_row host;
        host.id = row[0].as<host_id>();
        host.origin = row[1].as<std::string>();
        host.not_before = time_of_column(row[2].as<std::int64_t>());
        host.failures = row[3].as<std::uint32_t>();
        host.trips = row[4].as<std::uint32_t>();
        host.given_up = row[5].as<std::string>();
        host.robots = static_cast<robots_state>(row[6].as<int>());
        host.robots_at = time_of_column(row[7].as<std::int64_t>());
        host.robots_failures = row[8].as<std::uint32_t>();
        host.robots_text = row[9].as<std::string>();
        host.given_up_kind =
            error_kind_named(row[10].as<std::string_view>()).value_or(error_kind::none);
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
    retry_row retry;
    retry.id = id;
    retry.attempts = found[0][0].as<std::uint32_t>();
    retry.due = time_of_column(found[0][1].as<std::int64_t>());
    retry.reason = found[0][2].as<std::string>();
    return retry;
}

url_row url_of(const sqlite::row& row) {
    url_row url;
    url.id = row[0].as<url_id>();
    url.host = row[1].as<host_id>();
    url.priority = row[2].as<std::int32_t>();
    url.depth = row[3].as<std::uint32_t>();
    url.found_as = kind_of(row[4]);
    url.is_external = row[5].as<bool>();
    url.fingerprint = static_cast<std::uint64_t>(row[6].as<std::int64_t>());
    url.referrer = row[7].as<url_id>();
    url.found_at = time_of_column(row[8].as<std::int64_t>());
    url.url = row[9].as<std::string>();
    url.chain = row[10].as<std::string>();
    url.referrer_url = row[11].as<std::optional<std::string>>().value_or("");
    url.attempts = row[12].as<std::optional<std::uint32_t>>().value_or(0);
    url.due = time_of_column(row[13].as<std::optional<std::int64_t>>().value_or(0));
    return url;
}

page_record page_of(const sqlite::row& row) {
    page_record page;
    page.id = row[0].as<url_id>();
    page.url = row[1].as<std::string>();
    page.depth = row[2].as<std::uint32_t>();
    page.found_as = kind_of(row[3]);
    page.referrer = row[4].as<std::optional<std::string>>().value_or("");
    page.redirects = lines_of(row[5].as<std::string_view>());
    if (row[6].is_null()) {
        page.attempts = row[30].as<std::optional<std::uint32_t>>().value_or(0);
        return page;
    }
    page.state = page_state_named(row[6].as<std::string_view>());
    page.status = row[7].as<int>();
    page.error.kind = error_kind_named(row[8].as<std::string_view>()).value_or(error_kind::none);
    page.error.stage = fetch_stage_named(row[9].as<std::string_view>()).value_or(fetch_stage::none);
    page.error.text = row[10].as<std::string>();
    page.attempts = row[11].as<std::uint32_t>();
    page.fetched_at = time_of_column(row[12].as<std::int64_t>());
    page.times.queued = std::chrono::microseconds(row[13].as<std::int64_t>());
    page.times.ttfb = std::chrono::microseconds(row[14].as<std::int64_t>());
    page.times.total = std::chrono::microseconds(row[15].as<std::int64_t>());
    page.bytes = row[16].as<std::uint64_t>();
    page.wire_bytes = row[17].as<std::uint64_t>();
    page.content_type = row[18].as<std::string>();
    page.charset = row[19].as<std::string>();
    page.title = row[20].as<std::string>();
    page.canonical = row[21].as<std::string>();
    page.location = row[22].as<std::string>();
    page.is_noindex = row[23].as<bool>();
    page.is_nofollow = row[24].as<bool>();
    page.body_hash = static_cast<std::uint64_t>(row[25].as<std::int64_t>());
    page.links = row[26].as<std::uint32_t>();
    page.new_links = row[27].as<std::uint32_t>();
    page.cut_links = row[28].as<std::uint32_t>();
    page.data = row[29].as<std::string>();
    return page;
}

link_row link_of(const sqlite::row& row) {
    link_row link;
    link.page = row[0].as<url_id>();
    link.target = static_cast<std::uint64_t>(row[1].as<std::int64_t>());
    link.kind = kind_of(row[2]);
    link.refusal = link_refusal_named(row[3].as<std::string_view>());
    link.line = row[4].as<std::uint32_t>();
    link.column = row[5].as<std::uint32_t>();
    link.url = row[6].as<std::string>();
    link.fragment = row[7].as<std::string>();
    return link;
}

}  // namespace weir::crawl::detail
