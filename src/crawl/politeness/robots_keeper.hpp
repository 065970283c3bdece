// SPDX-License-Identifier: MIT
// Fetches robots.txt of a host and decides what its answer means (RFC 9309): rules, no rules, or,
// if the server fails, nothing allowed for now. The answer is kept in the host's row.
#pragma once

#include "crawl/frontier/crawl_host.hpp"

#include <weir/crawl/crawl_options.hpp>
#include <weir/crawl/fetcher.hpp>
#include <weir/http/url.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

// The token for robots.txt: 'weir-crawl' of 'weir-crawl/0.1 (+https://...)'.
std::string robots_token(std::string_view user_agent);

class robots_keeper {
public:
    robots_keeper(const crawl_options& options, fetcher& from);

    // Whether the host needs no request: its robots.txt is ignored, or known and fresh.
    bool is_current(const crawl_host& host) const;
    // Makes the rules in the row effective, after a restart as well.
    void apply(crawl_host& host) const;
    // Asks the host, and changes its row. Redirects are followed, five at most, also to other
    // hosts. After a failure the host waits; after three it is given up.
    task<> update(crawl_host& host);
    // `target`: path and query.
    bool allows(const crawl_host& host, std::string_view target) const;

private:
    static constexpr std::uint64_t max_size = 512 * 1024;
    static constexpr clock::duration timeout = std::chrono::seconds(10);
    static constexpr std::uint32_t max_failures = 3;
    static constexpr int max_hops = 5;
    static constexpr auto max_age = std::chrono::hours(24);
    static constexpr clock::duration local_fault_pause = std::chrono::seconds(1);

    task<fetch_result> ask(http::url url);
    // `hops`: redirects that led to the answer.
    void take_answer(crawl_host& host, const fetch_result& answer, int hops) const;
    void fail(crawl_host& host, const fetch_result& answer) const;
    bool is_ignored(const crawl_host& host) const;

    const crawl_options& options_;
    fetcher& fetcher_;
    std::string token_;
};

}  // namespace weir::crawl::detail
