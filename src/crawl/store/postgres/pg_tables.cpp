// SPDX-License-Identifier: MIT
// `ids` has one row, which every transaction that writes locks first: so writes of all nodes follow
// each other, ids are dense and become visible in their order, and there is no deadlock. Batches
// make that cheap.
//
// Rows of `pending` are what is to be requested; they go when their page comes, so that looking for
// work never walks over settled URLs. `hosts` counts them, and names the node that a host belongs
// to; 0 is none.

#include "crawl/store/postgres/pg_tables.hpp"

#include "crawl/store/row_texts.hpp"

#include <weir/crawl/store.hpp>
#include <weir/error.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weir::crawl::detail {

namespace {

constexpr std::string_view crawl_tables_version = "1";

constexpr std::string_view crawl_tables_script = R"sql(
CREATE TABLE @crawl(
    name text PRIMARY KEY,
    value text NOT NULL);
CREATE TABLE @ids(
    last_id bigint NOT NULL,
    last_host bigint NOT NULL,
    last_node bigint NOT NULL);
INSERT INTO @ids VALUES (0, 0, 0);
CREATE TABLE @nodes(
    id bigint PRIMARY KEY,
    name text NOT NULL,
    alive_until timestamptz NOT NULL,
    commits bigint NOT NULL,
    polls bigint NOT NULL,
    wants_hosts boolean NOT NULL);
CREATE TABLE @counters(
    name text PRIMARY KEY,
    value bigint NOT NULL);
CREATE TABLE @outputs(
    node text NOT NULL,
    name text NOT NULL,
    position text NOT NULL,
    writer bigint NOT NULL,
    PRIMARY KEY (node, name));
CREATE TABLE @hosts(
    id bigint PRIMARY KEY,
    origin text NOT NULL UNIQUE,
    not_before bigint NOT NULL,
    failures bigint NOT NULL,
    trips bigint NOT NULL,
    given_up text NOT NULL,
    given_up_kind text NOT NULL,
    robots integer NOT NULL,
    robots_at bigint NOT NULL,
    robots_failures bigint NOT NULL,
    robots_text bytea NOT NULL,
    urls bigint NOT NULL DEFAULT 0,
    pending bigint NOT NULL DEFAULT 0,
    node bigint NOT NULL DEFAULT 0,
    got_in bigint NOT NULL DEFAULT 0);
CREATE INDEX hosts_of_nodes ON @hosts(node) WHERE node <> 0;
CREATE INDEX hosts_with_work ON @hosts(node, id) WHERE pending > 0;
CREATE TABLE @urls(
    id bigint PRIMARY KEY,
    host bigint NOT NULL,
    priority integer NOT NULL,
    depth bigint NOT NULL,
    found_as text NOT NULL,
    is_external boolean NOT NULL,
    fingerprint bigint NOT NULL UNIQUE,
    referrer bigint NOT NULL,
    found_at bigint NOT NULL,
    url text NOT NULL,
    chain text NOT NULL);
CREATE TABLE @pending(
    id bigint PRIMARY KEY,
    host bigint NOT NULL,
    priority integer NOT NULL,
    attempts bigint NOT NULL DEFAULT 0,
    due bigint NOT NULL DEFAULT 0,
    reason text NOT NULL DEFAULT '');
CREATE INDEX pending_of_hosts ON @pending(host, priority, id);
CREATE TABLE @pages(
    id bigint PRIMARY KEY,
    state text NOT NULL,
    status integer NOT NULL,
    error text NOT NULL,
    stage text NOT NULL,
    reason text NOT NULL,
    attempts bigint NOT NULL,
    fetched_at bigint NOT NULL,
    queued bigint NOT NULL,
    ttfb bigint NOT NULL,
    total bigint NOT NULL,
    bytes bigint NOT NULL,
    wire_bytes bigint NOT NULL,
    content_type text NOT NULL,
    charset text NOT NULL,
    title text NOT NULL,
    canonical text NOT NULL,
    location text NOT NULL,
    is_noindex boolean NOT NULL,
    is_nofollow boolean NOT NULL,
    body_hash bigint NOT NULL,
    links bigint NOT NULL,
    new_links bigint NOT NULL,
    cut_links bigint NOT NULL,
    data bytea NOT NULL);
CREATE TABLE @links(
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    page bigint NOT NULL,
    target bigint NOT NULL,
    kind text NOT NULL,
    refusal text NOT NULL,
    line bigint NOT NULL,
    "column" bigint NOT NULL,
    url text NOT NULL,
    fragment text NOT NULL);
CREATE TABLE @anchors(
    page bigint PRIMARY KEY,
    names text NOT NULL);
)sql";

bool is_plain_name(std::string_view name) noexcept {
    return !name.empty() && name.size() <= 63 && (name.front() < '0' || name.front() > '9') &&
           std::all_of(name.begin(), name.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
           });
}

task<> make_crawl_tables(pg::transaction& inside, const pg_names& names) {
    // CREATE SCHEMA needs a privilege on the database, even if there is nothing to create.
    const pg::rows schemas = co_await inside.query(
        "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", names.schema());
    if (schemas.empty()) {
        co_await inside.execute(names.sql("CREATE SCHEMA @"));
    }
    std::string_view rest = crawl_tables_script;
    for (std::size_t end = 0; (end = rest.find(';')) != std::string_view::npos;) {
        co_await inside.execute(names.sql(rest.substr(0, end)));
        rest.remove_prefix(end + 1);
    }
    std::vector<std::string> counted;
    const counters none;
    each_counter(none,
                 [&counted](std::string_view name, std::uint64_t) { counted.emplace_back(name); });
    co_await inside.execute(
        names.sql("INSERT INTO @counters SELECT name, 0 FROM unnest($1::text[]) AS name"), counted);
    co_await inside.execute(names.sql("INSERT INTO @crawl VALUES ('version', $1)"),
                            crawl_tables_version);
}

}  // namespace

pg_names::pg_names(std::string schema) : schema_(std::move(schema)) {
    if (!is_plain_name(schema_)) {
        throw invalid_argument("the schema '" + schema_ +
                               "' must be a name of small letters, digits and '_'");
    }
}

std::string pg_names::sql(std::string_view text) const {
    std::string made;
    made.reserve(text.size() + 128);
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '@') {
            made += text[i];
            continue;
        }
        made.append("\"").append(schema_).append("\"");
        const bool is_table = i + 1 < text.size() && text[i + 1] >= 'a' && text[i + 1] <= 'z';
        made += is_table ? "." : "";
    }
    return made;
}

task<> prepare_tables(pg::transaction& inside, const pg_names& names, bool creates) {
    if (creates) {
        co_await inside.execute(
            "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('weir crawl ' || $1))",
            names.schema());
    }
    const pg::rows tables = co_await inside.query(
        "SELECT relname::text FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace n ON n.oid = "
        "relnamespace WHERE n.nspname = $1 AND relkind IN ('r', 'v', 'p', 'm', 'f')",
        names.schema());
    const std::vector<std::string> found = tables.as<std::string>();
    if (found.empty()) {
        if (!creates) {
            throw store_error("there is no crawl in the schema '" + names.schema() + "'");
        }
        co_await make_crawl_tables(inside, names);
        co_return;
    }
    const auto has = [&found](std::string_view table) {
        return std::find(found.begin(), found.end(), table) != found.end();
    };
    if (!has("crawl") || !has("ids") || !has("urls")) {
        throw store_error("the schema '" + names.schema() +
                          "' has tables of another program, such as '" + found.front() +
                          "': choose another schema for the crawl (--schema)");
    }
    const pg::rows version =
        co_await inside.query(names.sql("SELECT value FROM @crawl WHERE name = 'version'"));
    const std::string number = version.empty() ? "?" : version[0].get<std::string>(0);
    if (number != crawl_tables_version) {
        throw store_error("the schema '" + names.schema() + "' has version " + number +
                          " of the tables; this program knows version " +
                          std::string(crawl_tables_version));
    }
}

}  // namespace weir::crawl::detail
