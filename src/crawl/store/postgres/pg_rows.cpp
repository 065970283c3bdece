// SPDX-License-Identifier: MIT
// Hosts are named by their origins, since each node numbers those that it knows itself. URLs that
// are in the table already are left out; the others get the next ids in the order of the batch.
//
// Texts of pages may hold what PostgreSQL's text cannot, NUL and invalid UTF-8: those bytes become
// U+FFFD. What must not change is stored as bytes.

#include "crawl/store/postgres/pg_rows.hpp"

#include "base/utf8.hpp"
#include "crawl/store/origin.hpp"
#include "crawl/store/read_rows.hpp"
#include "crawl/store/row_texts.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace weir::crawl::detail {

namespace {

using numbers = std::vector<std::int64_t>;
using texts = std::vector<std::string>;

std::string pg_text(std::string_view text) {
    if (text.find('\0') == std::string_view::npos && base::is_utf8(text)) {
        return std::string(text);
    }
    std::string made;
    while (!text.empty()) {
        const std::size_t size = text.front() == '\0' ? 0 : base::utf8_character_size(text);
        made += size == 0 ? base::replacement_character : text.substr(0, size);
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return made;
}

pg::blob pg_bytes(std::string_view text) {
    const std::span bytes = std::as_bytes(std::span(text));
    return pg::blob(bytes.begin(), bytes.end());
}

std::string text_of_bytes(const pg::value& column) {
    const auto bytes = column.as<pg::blob>();
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// A column of a batch: what `read` gives for each of the rows.
template <class Column, class Rows, class Read>
pg::parameter column_of(const Rows& rows, Read read) {
    std::vector<Column> values;
    values.reserve(rows.size());
    for (const auto& each : rows) {
        values.push_back(static_cast<Column>(read(each)));
    }
    return pg::parameter(values);
}

constexpr std::string_view insert_hosts = R"sql(
WITH g AS (SELECT * FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[],
        $7::text[], $8::integer[], $9::bigint[], $10::bigint[], $11::bytea[])
    WITH ORDINALITY AS t(origin, not_before, failures, trips, given_up, given_up_kind, robots,
        robots_at, robots_failures, robots_text, n)),
changed AS (UPDATE @hosts h SET not_before = g.not_before, failures = g.failures, trips = g.trips,
        given_up = g.given_up, given_up_kind = g.given_up_kind, robots = g.robots,
        robots_at = g.robots_at, robots_failures = g.robots_failures, robots_text = g.robots_text
    FROM g WHERE h.origin = g.origin AND h.node = $1),
fresh AS (SELECT g.*, row_number() OVER (ORDER BY g.n) AS k FROM g
    WHERE NOT EXISTS (SELECT FROM @hosts h WHERE h.origin = g.origin)),
made AS (INSERT INTO @hosts(id, origin, not_before, failures, trips, given_up, given_up_kind,
        robots, robots_at, robots_failures, robots_text)
    SELECT i.last_host + k, origin, not_before, failures, trips, given_up, given_up_kind, robots,
        robots_at, robots_failures, robots_text FROM fresh, @ids i)
UPDATE @ids SET last_host = last_host + (SELECT count(*) FROM fresh))sql";

// Fails if a URL has no host: dividing by zero rolls everything back.
constexpr std::string_view insert_urls = R"sql(
WITH g AS (SELECT * FROM unnest($2::text[], $3::integer[], $4::bigint[], $5::text[], $6::boolean[],
        $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::text[])
    WITH ORDINALITY AS t(origin, priority, depth, found_as, is_external, fingerprint, referrer,
        found_at, url, chain, n)),
unknown AS (SELECT g.*, h.id AS host,
        h.urls + row_number() OVER (PARTITION BY h.id ORDER BY g.n) AS place
    FROM g JOIN @hosts h ON h.origin = g.origin
    WHERE NOT EXISTS (SELECT FROM @urls u WHERE u.fingerprint = g.fingerprint)),
fresh AS (SELECT *, row_number() OVER (ORDER BY n) AS k FROM unknown
    WHERE place <= $1::bigint OR found_as = 'seed'),
made AS (INSERT INTO @urls SELECT i.last_id + k, host, priority, depth, found_as, is_external,
        fingerprint, referrer, found_at, url, chain FROM fresh, @ids i),
queued AS (INSERT INTO @pending(id, host, priority)
    SELECT i.last_id + k, host, priority FROM fresh, @ids i),
counted AS (UPDATE @hosts h SET urls = h.urls + c.n, pending = h.pending + c.n
    FROM (SELECT host, count(*) AS n FROM fresh GROUP BY host) c WHERE h.id = c.host),
found AS (UPDATE @counters SET value = value + (SELECT count(*) FROM fresh)
    WHERE name = 'discovered'),
refused AS (UPDATE @counters
    SET value = value + (SELECT count(*) FROM unknown) - (SELECT count(*) FROM fresh)
    WHERE name = 'refused.host_full')
UPDATE @ids SET last_id = last_id + (SELECT count(*) FROM fresh) / (CASE WHEN EXISTS (SELECT FROM g
    WHERE NOT EXISTS (SELECT FROM @hosts h WHERE h.origin = g.origin)) THEN 0 ELSE 1 END))sql";

// Fails unless each page was pending: dividing by zero rolls everything back.
constexpr std::string_view insert_pages = R"sql(
WITH gone AS (DELETE FROM @pending p USING unnest($1::bigint[]) AS t(id) WHERE p.id = t.id
    RETURNING p.host),
counted AS (UPDATE @hosts h SET pending = h.pending - c.n
    FROM (SELECT host, count(*) AS n FROM gone GROUP BY host) c WHERE h.id = c.host),
made AS (INSERT INTO @pages SELECT * FROM unnest($1::bigint[], $2::text[], $3::integer[],
    $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[],
    $11::bigint[], $12::bigint[], $13::bigint[], $14::text[], $15::text[], $16::text[],
    $17::text[], $18::text[], $19::boolean[], $20::boolean[], $21::bigint[], $22::bigint[],
    $23::bigint[], $24::bigint[], $25::bytea[]))
SELECT 1 / (CASE WHEN count(*) = cardinality($1::bigint[]) THEN 1 ELSE 0 END) FROM gone)sql";

pg_statement hosts_statement(const std::vector<host_row>& rows, std::int64_t node) {
    pg_statement made;
    made.sql = insert_hosts;
    std::vector<pg::parameter>& to = made.parameters;
    using row = const host_row&;
    to.emplace_back(node);
    to.push_back(column_of<std::string>(rows, [](row r) { return r.origin; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return pg_time(r.not_before); }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.failures; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.trips; }));
    to.push_back(column_of<std::string>(rows, [](row r) { return pg_text(r.given_up); }));
    to.push_back(column_of<std::string>(rows, [](row r) { return name_of(r.given_up_kind); }));
    to.push_back(column_of<int>(rows, [](row r) { return r.robots; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return pg_time(r.robots_at); }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.robots_failures; }));
    to.push_back(column_of<pg::blob>(rows, [](row r) { return pg_bytes(r.robots_text); }));
    return made;
}

pg_statement urls_statement(const std::vector<url_row>& rows, std::uint64_t max_per_host) {
    pg_statement made;
    made.sql = insert_urls;
    std::vector<pg::parameter>& to = made.parameters;
    using row = const url_row&;
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    to.emplace_back(pg_number(std::min(max_per_host, most)));
    to.push_back(column_of<std::string>(rows, [](row r) { return origin_of_url(r.url); }));
    to.push_back(column_of<int>(rows, [](row r) { return r.priority; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.depth; }));
    to.push_back(column_of<std::string>(rows, [](row r) { return name_of(r.found_as); }));
    to.push_back(column_of<bool>(rows, [](row r) { return r.is_external; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.fingerprint; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.referrer; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return pg_time(r.found_at); }));
    to.push_back(column_of<std::string>(rows, [](row r) { return pg_text(r.url); }));
    to.push_back(column_of<std::string>(rows, [](row r) { return pg_text(r.chain); }));
    return made;
}

pg_statement retries_statement(const std::vector<retry_row>& rows) {
    pg_statement made;
    made.sql =
        "UPDATE @pending p SET attempts = t.attempts, due = t.due, reason = t.reason FROM "
        "unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) AS t(id, attempts, due, "
        "reason) WHERE p.id = t.id";
    std::vector<pg::parameter>& to = made.parameters;
    using row = const retry_row&;
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.id; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.attempts; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return pg_time(r.due); }));
    to.push_back(column_of<std::string>(rows, [](row r) { return pg_text(r.reason); }));
    return made;
}

pg_statement pages_statement(const std::vector<page_record>& rows) {
    pg_statement made;
    made.sql = insert_pages;
    std::vector<pg::parameter>& to = made.parameters;
    using row = const page_record&;
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.id; }));
    to.push_back(column_of<std::string>(rows, [](row r) { return name_of(r.state); }));
    to.push_back(column_of<int>(rows, [](row r) { return r.status; }));
    to.push_back(column_of<std::string>(rows, [](row r) { return name_of(r.error.kind); }));
    to.push_back(column_of<std::string>(rows, [](row r) { return name_of(r.error.stage); }));
    to.push_back(column_of<std::string>(rows, [](row r) { return pg_text(r.error.text); }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.attempts; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return pg_time(r.fetched_at); }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.times.queued.count(); }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.times.ttfb.count(); }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.times.total.count(); }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.bytes; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.wire_bytes; }));
    to.push_back(column_of<std::string>(rows, [](row r) { return pg_text(r.content_type); }));
    to.push_back(column_of<std::string>(rows, [](row r) { return pg_text(r.charset); }));
    to.push_back(column_of<std::string>(rows, [](row r) { return pg_text(r.title); }));
    to.push_back(column_of<std::string>(rows, [](row r) { return pg_text(r.canonical); }));
    to.push_back(column_of<std::string>(rows, [](row r) { return pg_text(r.location); }));
    to.push_back(column_of<bool>(rows, [](row r) { return r.is_noindex; }));
    to.push_back(column_of<bool>(rows, [](row r) { return r.is_nofollow; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.body_hash; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.links; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.new_links; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.cut_links; }));
    to.push_back(column_of<pg::blob>(rows, [](row r) { return pg_bytes(r.data); }));
    return made;
}

pg_statement links_statement(const std::vector<link_row>& rows) {
    pg_statement made;
    made.sql =
        "INSERT INTO @links(page, target, kind, refusal, line, \"column\", url, fragment) SELECT * "
        "FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], "
        "$6::bigint[], $7::text[], $8::text[])";
    std::vector<pg::parameter>& to = made.parameters;
    using row = const link_row&;
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.page; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.target; }));
    to.push_back(column_of<std::string>(rows, [](row r) { return name_of(r.kind); }));
    to.push_back(column_of<std::string>(rows, [](row r) { return name_of(r.refusal); }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.line; }));
    to.push_back(column_of<std::int64_t>(rows, [](row r) { return r.column; }));
    to.push_back(column_of<std::string>(rows, [](row r) { return pg_text(r.url); }));
    to.push_back(column_of<std::string>(rows, [](row r) { return pg_text(r.fragment); }));
    return made;
}

pg_statement anchors_statement(const std::vector<std::pair<url_id, std::string>>& rows) {
    pg_statement made;
    made.sql =
        "INSERT INTO @anchors SELECT * FROM unnest($1::bigint[], $2::text[]) "
        "ON CONFLICT (page) DO UPDATE SET names = excluded.names";
    made.parameters.push_back(
        column_of<std::int64_t>(rows, [](const auto& each) { return each.first; }));
    made.parameters.push_back(
        column_of<std::string>(rows, [](const auto& each) { return pg_text(each.second); }));
    return made;
}

}  // namespace

std::vector<pg_statement> statements_of(const commit_batch& batch, std::int64_t node,
                                        std::uint64_t max_pages_per_host) {
    std::vector<pg_statement> made;
    if (!batch.hosts.empty()) {
        made.push_back(hosts_statement(batch.hosts, node));
    }
    if (!batch.urls.empty()) {
        made.push_back(urls_statement(batch.urls, max_pages_per_host));
    }
    if (!batch.retries.empty()) {
        made.push_back(retries_statement(batch.retries));
    }
    if (!batch.pages.empty()) {
        made.push_back(pages_statement(batch.pages));
    }
    if (!batch.links.empty()) {
        made.push_back(links_statement(batch.links));
    }
    if (!batch.anchors.empty()) {
        made.push_back(anchors_statement(batch.anchors));
    }
    return made;
}

pg_statement statement_of_counters(const counters& before, const counters& after) {
    texts names;
    numbers changes;
    each_counter(after, [&](std::string_view name, std::uint64_t value) {
        names.emplace_back(name);
        changes.push_back(pg_number(value));
    });
    std::size_t at = 0;
    each_counter(before,
                 [&](std::string_view, std::uint64_t value) { changes[at++] -= pg_number(value); });
    changes.front() = 0;  // discovered
    pg_statement made;
    made.sql =
        "INSERT INTO @counters AS c SELECT * FROM unnest($1::text[], $2::bigint[]) AS t(name, "
        "value) WHERE t.value <> 0 ON CONFLICT (name) DO UPDATE SET value = c.value + "
        "excluded.value";
    made.parameters = pg_parameters(names, changes);
    return made;
}

pg_statement statement_of_outputs(const std::map<std::string, std::string>& positions,
                                  std::string_view node_name, std::int64_t node) {
    pg_statement made;
    made.sql =
        "INSERT INTO @outputs SELECT $1, t.name, t.position, $2 FROM unnest($3::text[], "
        "$4::text[]) AS t(name, position) ON CONFLICT (node, name) DO UPDATE SET position = "
        "excluded.position, writer = excluded.writer";
    made.parameters.emplace_back(node_name);
    made.parameters.emplace_back(node);
    made.parameters.push_back(
        column_of<std::string>(positions, [](const auto& each) { return pg_text(each.first); }));
    made.parameters.push_back(
        column_of<std::string>(positions, [](const auto& each) { return pg_text(each.second); }));
    return made;
}

counters pg_counters_of(const pg::rows& rows) {
    counters totals;
    for (const pg::row row : rows) {
        const auto name = row[0].as<std::string_view>();
        each_counter(totals, [&](std::string_view known, std::uint64_t& value) {
            if (name == known) {
                value = row[1].as<std::uint64_t>();
            }
        });
    }
    return totals;
}

host_row pg_host_of(const pg::row& row) {
    host_row host = host_in(row);
    host.robots_text = text_of_bytes(row[9]);
    host.urls = row[11].as<std::uint64_t>();
    return host;
}

url_row pg_url_of(const pg::row& row) {
    return url_in(row);
}

retry_row pg_retry_of(url_id id, const pg::row& row) {
    return retry_in(id, row);
}

page_record pg_page_of(const pg::row& row) {
    page_record page = page_in(row);
    if (!row[29].is_null()) {
        page.data = text_of_bytes(row[29]);
    }
    return page;
}

link_row pg_link_of(const pg::row& row) {
    return link_in(row, 1);
}

}  // namespace weir::crawl::detail
