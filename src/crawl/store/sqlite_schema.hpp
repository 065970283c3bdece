// SPDX-License-Identifier: MIT
// The tables of a crawl. URLs and pages are appended by id; nothing has a random key.
#pragma once

namespace weir::crawl::detail {

inline constexpr int schema_version = 1;
// 'weir' as a number: how `file` and a second open know such a file.
inline constexpr int application_id = 0x77656972;

inline constexpr const char* schema_script = R"(
CREATE TABLE crawl(
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE counters(
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE outputs(
    name TEXT PRIMARY KEY,
    position TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE hosts(
    id INTEGER PRIMARY KEY,
    origin TEXT NOT NULL,
    not_before INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    trips INTEGER NOT NULL,
    given_up TEXT NOT NULL,
    given_up_kind TEXT NOT NULL,
    robots INTEGER NOT NULL,
    robots_at INTEGER NOT NULL,
    robots_failures INTEGER NOT NULL,
    robots_text TEXT NOT NULL
);
CREATE TABLE urls(
    id INTEGER PRIMARY KEY,
    host INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    found_as TEXT NOT NULL,
    is_external INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    referrer INTEGER NOT NULL,
    found_at INTEGER NOT NULL,
    url TEXT NOT NULL,
    chain TEXT NOT NULL
);
CREATE INDEX urls_of_hosts ON urls(host, priority, id);
CREATE TABLE pages(
    id INTEGER PRIMARY KEY,
    state TEXT NOT NULL,
    status INTEGER NOT NULL,
    error TEXT NOT NULL,
    stage TEXT NOT NULL,
    reason TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    fetched_at INTEGER NOT NULL,
    queued INTEGER NOT NULL,
    ttfb INTEGER NOT NULL,
    total INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    wire_bytes INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    charset TEXT NOT NULL,
    title TEXT NOT NULL,
    canonical TEXT NOT NULL,
    location TEXT NOT NULL,
    is_noindex INTEGER NOT NULL,
    is_nofollow INTEGER NOT NULL,
    body_hash INTEGER NOT NULL,
    links INTEGER NOT NULL,
    new_links INTEGER NOT NULL,
    cut_links INTEGER NOT NULL,
    data TEXT NOT NULL
);
CREATE TABLE retries(
    id INTEGER PRIMARY KEY,
    attempts INTEGER NOT NULL,
    due INTEGER NOT NULL,
    reason TEXT NOT NULL
);
CREATE TABLE links(
    page INTEGER NOT NULL,
    target INTEGER NOT NULL,
    kind TEXT NOT NULL,
    refusal TEXT NOT NULL,
    line INTEGER NOT NULL,
    column INTEGER NOT NULL,
    url TEXT NOT NULL,
    fragment TEXT NOT NULL
);
CREATE TABLE anchors(
    page INTEGER PRIMARY KEY,
    names TEXT NOT NULL
);
)";

}  // namespace weir::crawl::detail
