// SPDX-License-Identifier: MIT
// A page: what a crawl knows about one URL after it was fetched, or given up. page_record is what
// stores keep; page adds what exists only while handlers and sinks look at it: the response's
// headers, its body and its links.
#pragma once

#include <weir/crawl/page_error.hpp>
#include <weir/crawl/page_link.hpp>
#include <weir/http/headers.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::crawl {

// Calendar time, as stores and outputs have it.
using timestamp = std::chrono::sys_time<std::chrono::microseconds>;

// Rows of URLs are numbered from 1 in the order of their discovery. 0: none.
using url_id = std::uint64_t;

enum class page_state : std::uint8_t {
    pending,  // to be fetched, or fetched again
    done,     // a response that is not an error; redirects included
    failed,   // no response, or one with an error status; see page_record::error
    skipped,  // not requested: robots.txt disallows it, its host is given up
};
std::string_view name_of(page_state state) noexcept;

struct page_times {
    std::chrono::microseconds queued{};  // from discovery to the request
    std::chrono::microseconds ttfb{};    // from the request to the first byte of the response
    std::chrono::microseconds total{};   // from the request to the end of the body
};

struct page_record {
    page_record() = default;

    url_id id = 0;
    std::string url;
    page_state state = page_state::pending;
    page_error error;
    int status = 0;  // 0: no response

    std::uint32_t depth = 0;  // links from a seed; redirects do not count
    link_kind found_as = link_kind::seed;
    std::string referrer;                // the page that has the first link to it; of a redirect
                                         // target: the URL that redirects to it
    std::vector<std::string> redirects;  // URLs that led here, the first request first
    std::string location;                // of a redirect: the URL that it leads to
    std::uint32_t attempts = 0;

    timestamp fetched_at{};
    page_times times;
    std::uint64_t bytes = 0;       // of the decoded body
    std::uint64_t wire_bytes = 0;  // as received
    std::string content_type;      // without parameters, in lower case
    std::string charset;
    std::string title;
    std::string canonical;
    bool is_noindex = false;
    bool is_nofollow = false;
    std::uint64_t body_hash = 0;  // equal for equal bodies of a crawl; 0: no body

    std::uint32_t links = 0;      // found
    std::uint32_t new_links = 0;  // URLs that were not known before
    std::uint32_t cut_links = 0;  // left out by max_links_per_page

    std::string data;  // what on_page returned
};

// Valid only during on_page and sink::write: the strings belong to the fetch.
struct page : page_record {
    page() = default;

    http::headers headers;  // of the response
    int http_version = 11;  // 10, 11, 20
    std::string_view body;  // decoded; empty if it was not read
    std::string base;       // what references resolve against; empty: the page's own URL

    // ---- for sinks, if one of them wants raw bodies
    http::headers request_headers;  // as sent, without Host
    std::string_view raw_body;      // as received, without transfer coding
    std::string_view truncated;     // see fetch_result
    bool is_head = false;           // the response to a HEAD request

    std::vector<page_link> document_links;
    std::vector<std::string> anchors;  // ids and names that fragments lead to
};

}  // namespace weir::crawl
