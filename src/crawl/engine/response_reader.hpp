// SPDX-License-Identifier: MIT
// Reads a response: what kind of document it is, its links, and what it says about itself.
#pragma once

#include "crawl/engine/page_unit.hpp"

#include <weir/crawl/crawl_options.hpp>
#include <weir/crawl/fetcher.hpp>
#include <weir/crawl/page_links.hpp>
#include <weir/flow/seeded_hash.hpp>
#include <weir/http/url.hpp>

#include <string>
#include <string_view>

namespace weir::crawl::detail {

class response_reader {
public:
    explicit response_reader(const crawl_options& options);

    // Fills in the page from a successful response; moves headers and body out of it. The result:
    // what the references of the page resolve against.
    http::url read(const http::url& url, fetch_result& from, page_unit& unit, hash_seed seed);

    // The same for a sitemap: its entries are the links. The error says what is wrong with it;
    // entries before a fault count all the same.
    void read_sitemap(fetch_result& from, page_unit& unit, hash_seed seed);

private:
    void read_head(fetch_result& from, page_unit& unit, hash_seed seed);
    void read_document(const http::url& url, page_unit& unit, http::url& base);

    const crawl_options& options_;
    std::string agent_;
    link_extractor extractor_;
};

}  // namespace weir::crawl::detail
