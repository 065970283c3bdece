// SPDX-License-Identifier: MIT
// page_processor: the way of one page, from the request to its record: fetch, read, call the user's
// handler, collect the links, record. Decides about retries and what a result says about the host.
#pragma once

#include "crawl/engine/link_collector.hpp"
#include "crawl/engine/page_unit.hpp"
#include "crawl/engine/recorder.hpp"
#include "crawl/engine/response_reader.hpp"
#include "crawl/frontier/frontier.hpp"
#include "crawl/politeness/robots_keeper.hpp"

#include <weir/base/random.hpp>
#include <weir/crawl/crawl_options.hpp>
#include <weir/crawl/fetcher.hpp>
#include <weir/crawl/page.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace weir::crawl::detail {

class page_processor {
public:
    // The parts of a run that pages go through.
    struct parts {
        frontier& hosts;
        link_collector& links;
        response_reader& reader;
        robots_keeper& robots;
        recorder& records;
    };
    page_processor(const crawl_options& options, fetcher& from, const parts& of);

    std::function<task<std::string>(const page&)> on_page;
    void set_seed(hash_seed seed) noexcept { seed_ = seed; }

    task<> process(crawl_host& host, url_row row);
    // A URL of a host that is given up, or one that robots.txt disallows.
    void settle_unrequested(const crawl_host& host, const url_row& row);
    // The host waits, for a time that is worth surviving a restart.
    void note_wait(crawl_host& host);

    std::uint64_t settled() const noexcept { return settled_; }
    std::uint64_t failed_seeds() const noexcept { return failed_seeds_; }

private:
    fetch_request request_for(const crawl_host& host, const url_row& row, http::url url) const;
    page_unit unit_for(const url_row& row) const;
    bool postpone(url_row& row, const fetch_result& result);
    void take_raw(fetch_result& from, page_unit& unit);
    task<> take_page(const url_row& row, const http::url& url, fetch_result result);
    bool retry_later(crawl_host& host, url_row& row, const fetch_result& result);
    void judge_host(crawl_host& host, const fetch_result& result);
    // /sitemap.xml, which neither the user nor robots.txt has named.
    bool is_guess(const http::url& sitemap) const;
    task<page_error> handle(page& shown);
    void settle(page_unit unit);

    const crawl_options& options_;
    fetcher& fetcher_;
    parts parts_;
    hash_seed seed_;
    weir::detail::random_source random_;
    clock::time_point fault_since_ = clock::time_point::max();  // of this machine
    std::uint64_t settled_ = 0;
    std::uint64_t failed_seeds_ = 0;
};

}  // namespace weir::crawl::detail
