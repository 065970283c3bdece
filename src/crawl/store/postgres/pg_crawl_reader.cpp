// SPDX-License-Identifier: MIT
// Tables are read in steps of a bounded size, each of which begins behind the last row of the one
// before.

#include "crawl/store/postgres/pg_crawl_reader.hpp"

#include "crawl/store/postgres/pg_rows.hpp"
#include "crawl/store/row_texts.hpp"

#include <weir/flow/seeded_hash.hpp>

#include <cstdint>
#include <utility>

namespace weir::crawl::detail {

namespace {

constexpr std::int64_t rows_at_once = 5000;

std::vector<url_row> urls_of(const pg::rows& found) {
    std::vector<url_row> urls;
    urls.reserve(found.size());
    for (const pg::row row : found) {
        urls.push_back(pg_url_of(row));
    }
    return urls;
}

}  // namespace

task<> pg_crawl_reader::each_row(std::string_view columns, std::string_view key,
                                 std::function<bool(const pg::row&)> visit) {
    const std::string sql = std::string(columns) + "WHERE " + std::string(key) + " > $1 ORDER BY " +
                            std::string(key) + " LIMIT $2";
    std::int64_t last = 0;
    for (;;) {
        const pg::rows found = co_await database_.read(sql, pg_parameters(last, rows_at_once));
        for (const pg::row row : found) {
            last = row.get<std::int64_t>(0);
            if (!visit(row)) {
                co_return;
            }
        }
        if (found.empty()) {
            co_return;
        }
    }
}

task<saved_crawl> pg_crawl_reader::saved_without_hosts(std::string node) {
    saved_crawl saved;
    const pg::rows settings = co_await database_.read(
        "SELECT s.value, i.value FROM @crawl s, @crawl i WHERE s.name = 'seed' AND i.name = "
        "'identity'");
    saved.is_new = settings.empty();
    if (saved.is_new) {
        co_return saved;
    }
    saved.seed = seed_of_text(settings[0].get<std::string>(0));
    saved.identity = settings[0].get<std::string>(1);
    const pg::rows last = co_await database_.read("SELECT last_id FROM @ids");
    saved.last_id = last.one<url_id>();
    const pg::rows totals = co_await database_.read("SELECT name, value FROM @counters");
    saved.totals = pg_counters_of(totals);
    const pg::rows outputs = co_await database_.read(
        "SELECT name, position FROM @outputs WHERE node = $1 AND position <> ''",
        pg_parameters(node));
    for (const pg::row row : outputs) {
        saved.positions[row.get<std::string>(0)] = row.get<std::string>(1);
    }
    co_return saved;
}

task<saved_crawl> pg_crawl_reader::saved(std::string node) {
    saved_crawl saved = co_await saved_without_hosts(std::move(node));
    const auto take = [&](const pg::row& row) {
        saved.hosts.push_back(pg_host_of(row));
        return true;
    };
    co_await each_row(pg_host_columns, "id", take);
    co_return saved;
}

task<std::vector<url_row>> pg_crawl_reader::pending(pending_query query) {
    const pg::rows found = co_await database_.read(
        std::string(pg_url_columns) +
            "WHERE p.host = $1 AND (p.priority, p.id) >= ($2, $3) AND p.id <= $4 ORDER BY "
            "p.priority, p.id LIMIT $5",
        pg_parameters(query.host, query.priority, pg_number(query.id), pg_number(query.max_id),
                      query.limit));
    co_return urls_of(found);
}

task<std::vector<url_row>> pg_crawl_reader::pending_between(url_id first, url_id last) {
    const pg::rows found = co_await database_.read(
        std::string(pg_url_columns) + "WHERE p.id BETWEEN $1 AND $2 ORDER BY p.id",
        pg_parameters(pg_number(first), pg_number(last)));
    co_return urls_of(found);
}

task<hash_seed> pg_crawl_reader::seed() {
    const pg::rows found = co_await database_.read("SELECT value FROM @crawl WHERE name = 'seed'");
    co_return found.empty() ? hash_seed() : seed_of_text(found[0].get<std::string>(0));
}

task<std::optional<page_record>> pg_crawl_reader::find(std::string url) {
    const hash_seed key = co_await seed();
    const std::uint64_t fingerprint = seeded_hash<std::string_view>()(url, key);
    const pg::rows found =
        co_await database_.read(std::string(pg_page_columns) + "WHERE u.fingerprint = $1",
                                pg_parameters(pg_number(fingerprint)));
    std::optional<page_record> page;
    if (!found.empty()) {
        page = pg_page_of(found[0]);
    }
    co_return page;
}

task<std::optional<retry_row>> pg_crawl_reader::retry_of(url_id id) {
    const pg::rows found = co_await database_.read(
        "SELECT attempts, due, reason FROM @pending WHERE id = $1 AND attempts > 0",
        pg_parameters(pg_number(id)));
    std::optional<retry_row> retry;
    if (!found.empty()) {
        retry = pg_retry_of(id, found[0]);
    }
    co_return retry;
}

task<> pg_crawl_reader::each_url(std::function<void(const known_url&)> visit) {
    const auto take = [&](const pg::row& row) {
        visit({row.get<url_id>(0), static_cast<std::uint64_t>(row.get<std::int64_t>(1)),
               row.get<host_id>(2), row.get<bool>(3)});
        return true;
    };
    co_await each_row(
        "SELECT u.id, u.fingerprint, u.host, EXISTS (SELECT FROM @pending p WHERE p.id = u.id) "
        "FROM @urls u ",
        "u.id", take);
}

task<> pg_crawl_reader::each_page(std::function<bool(const page_record&)> visit) {
    const auto take = [&](const pg::row& row) { return visit(pg_page_of(row)); };
    co_await each_row(pg_page_columns, "u.id", take);
}

task<> pg_crawl_reader::each_link(std::function<bool(const link_row&)> visit) {
    const auto take = [&](const pg::row& row) { return visit(pg_link_of(row)); };
    co_await each_row(pg_link_columns, "number", take);
}

task<> pg_crawl_reader::each_anchors(std::function<bool(url_id, const std::string&)> visit) {
    const auto take = [&](const pg::row& row) {
        return visit(row.get<url_id>(0), row.get<std::string>(1));
    };
    co_await each_row("SELECT page, names FROM @anchors ", "page", take);
}

}  // namespace weir::crawl::detail
