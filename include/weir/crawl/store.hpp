// SPDX-License-Identifier: MIT
// store: where a crawl keeps its URLs, pages, hosts and counts. Rows of URLs and pages are only
// appended; a URL without a page is pending. commit() is one transaction, so that a crash leaves a
// page with everything that belongs to it, or without all of it.
//
// A store belongs to one crawl at a time and to one loop.
#pragma once

#include <weir/crawl/counters.hpp>
#include <weir/crawl/page.hpp>
#include <weir/error.hpp>
#include <weir/flow/seeded_hash.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weir::crawl {

using host_id = std::uint32_t;  // from 1

// The store cannot be used: the disk is full, another process has it, or it is of another crawl.
class store_error : public std::runtime_error {
public:
    using runtime_error::runtime_error;
};

struct url_row {
    url_row() = default;

    url_id id = 0;
    host_id host = 0;
    std::int32_t priority = 0;  // smaller ones first, then by id
    std::uint32_t depth = 0;
    link_kind found_as = link_kind::seed;
    bool is_external = false;    // to be checked, not followed
    bool needs_get = false;      // its HEAD has failed; for this run only, stores do not keep it
    std::uint32_t attempts = 0;  // failed ones so far
    timestamp due{};             // of the next attempt
    std::uint64_t fingerprint = 0;
    url_id referrer = 0;
    timestamp found_at{};
    std::string url;
    std::string referrer_url;  // stores give it back; they keep the id
    std::string chain;         // of a redirect's target: the URLs that led here, one a line
};

// What is known about robots.txt of a host.
enum class robots_state : std::uint8_t {
    unknown,
    rules,   // robots_text has them
    absent,  // 4xx: everything is allowed
    failed,  // 5xx, no answer: nothing is allowed
};

struct host_row {
    host_row() = default;

    host_id id = 0;
    std::string origin;  // 'https://example.com:8443'
    std::uint64_t urls = 0;
    timestamp not_before{};      // Retry-After, rate, open breaker: no request before
    std::uint32_t failures = 0;  // in a row
    std::uint32_t trips = 0;     // of the breaker, in a row
    std::string given_up;        // the reason; its URLs fail with it
    error_kind given_up_kind = error_kind::none;
    robots_state robots = robots_state::unknown;
    std::string robots_text;
    timestamp robots_at{};  // when it was fetched
    std::uint32_t robots_failures = 0;
};

// A failed attempt that is followed by another one.
struct retry_row {
    retry_row() = default;

    url_id id = 0;
    std::uint32_t attempts = 0;
    timestamp due{};
    std::string reason;
};

// A link of a page, kept with record_links.
struct link_row {
    link_row() = default;

    url_id page = 0;
    std::uint64_t target = 0;  // the URL's fingerprint; 0: see url
    link_kind kind = link_kind::anchor;
    link_refusal refusal = link_refusal::none;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    std::string url;  // of a link that was refused: the URL, or the reference if it is none
    std::string fragment;
};

struct commit_batch {
    commit_batch() = default;

    std::vector<host_row> hosts;  // changed
    std::vector<url_row> urls;    // new
    std::vector<page_record> pages;
    std::vector<retry_row> retries;
    std::vector<link_row> links;
    std::vector<std::pair<url_id, std::string>> anchors;  // of a page, one a line
    counters totals;
    std::map<std::string, std::string> positions;  // of sinks
};

struct saved_crawl {
    saved_crawl() = default;

    bool is_new = true;
    std::string identity;  // of the options of the last run, see crawl_options::identity()
    hash_seed seed;        // of fingerprints
    url_id last_id = 0;
    counters totals;
    std::vector<host_row> hosts;
    std::map<std::string, std::string> positions;
};

// The first `limit` pending URLs of a host at or after (priority, id), in that order.
struct pending_query {
    host_id host = 0;
    std::int32_t priority = 0;
    url_id id = 0;
    url_id max_id = 0;
    std::size_t limit = 0;
};

// A URL as the start of a crawl reads it: what it takes to fill the seen set.
struct known_url {
    url_id id = 0;
    std::uint64_t fingerprint = 0;
    host_id host = 0;
    bool is_pending = false;
};

class shared_crawl;

class store {
public:
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    // Makes a new crawl, or finds the one that is in the store. `identity`: the options that must
    // not change between runs, as crawl_options::identity() has them. Throws store_error that names
    // what differs, unless `accept_changes`.
    virtual task<saved_crawl> open(std::string identity, bool accept_changes) = 0;
    // What a finished or running crawl has, without opening it for a run.
    virtual task<saved_crawl> peek() = 0;
    // All URLs in the order of their ids.
    virtual task<> each_url(std::function<void(const known_url&)> visit) = 0;
    // Durable when it returns. Throws store_error; then nothing of it was stored.
    virtual task<> commit(const commit_batch& batch) = 0;
    virtual task<std::vector<url_row>> pending(pending_query query) = 0;
    // All pending URLs with ids from first to last.
    virtual task<std::vector<url_row>> pending_between(url_id first, url_id last) = 0;

    // ---- for reports
    // The key of fingerprints, by which links name their targets.
    virtual task<hash_seed> seed() = 0;
    virtual task<std::optional<page_record>> find(std::string url) = 0;
    // The last failed attempt of a URL that is tried again.
    virtual task<std::optional<retry_row>> retry_of(url_id id) = 0;
    // All pages in the order of their ids; those pending, too. The visitor returns false to end it.
    virtual task<> each_page(std::function<bool(const page_record&)> visit) = 0;
    virtual task<> each_link(std::function<bool(const link_row&)> visit) = 0;
    // Anchors of pages: id of the page and the names, one a line.
    virtual task<> each_anchors(std::function<bool(url_id, const std::string&)> visit) = 0;
    // Makes failed and skipped pages pending again. The number of pages.
    virtual task<std::uint64_t> retry_failed() = 0;
    virtual task<> close() = 0;

    // Of a store on which several nodes work at a time, else null.
    virtual shared_crawl* shared() noexcept { return nullptr; }

protected:
    store() = default;
};

}  // namespace weir::crawl
