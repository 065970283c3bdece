// SPDX-License-Identifier: MIT
// fetcher: one request, without redirects, as a crawl makes it. http_fetcher makes real ones; tests
// simulate a web in virtual time.
#pragma once

#include <weir/clock.hpp>
#include <weir/crawl/page_error.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/url.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::crawl {

enum class body_wish : std::uint8_t {
    text,  // only of types that may contain links: HTML, XML, plain text; unknown ones, too
    all,
    none,  // a GET request whose body is not read
    head,  // a HEAD request
};

struct fetch_request {
    fetch_request() = default;

    http::url url;
    body_wish body = body_wish::text;
    http::headers headers;  // besides those that the fetcher sends
    clock::duration timeout = clock::duration::max();
    std::uint64_t max_body = 0;
    // For archives: the result has what was sent and received, and the body of every status.
    bool keep_raw = false;
};

struct fetch_result {
    fetch_result() = default;

    page_error error;  // also with a status, if the body could not be read
    int status = 0;    // 0: no response
    int http_version = 11;
    http::headers headers;
    std::string body;       // decoded, up to the error
    bool has_body = false;  // false: it was not read
    bool is_head = false;   // the response to a HEAD request
    // This machine could not make the request, for lack of descriptors or memory: `error` says
    // nothing about the server, and the request is to be made later.
    bool is_local_fault = false;
    std::uint64_t wire_bytes = 0;

    // ---- with keep_raw
    http::headers request_headers;  // as sent, without Host
    std::string raw_body;           // as received, if `body` is decoded; otherwise `body` is that
    // Why the body is not all of it, in the words of WARC: 'length', 'time', 'disconnect',
    // 'unspecified'. Empty: it is complete.
    std::string_view truncated;

    clock::duration ttfb{};
    clock::duration total{};
};

class fetcher {
public:
    fetcher(const fetcher&) = delete;
    fetcher& operator=(const fetcher&) = delete;
    virtual ~fetcher() = default;

    // Never throws for what a server or the network does: that is a result with an error.
    virtual task<fetch_result> fetch(fetch_request request) = 0;
    // The address that the host has now, as a key for limits; empty: unknown.
    virtual task<std::string> address_of(http::url of) = 0;

protected:
    fetcher() = default;
};

}  // namespace weir::crawl
