// SPDX-License-Identifier: MIT
// Fetches with http::client. Redirects are not followed: they are steps of the crawl. The address
// filter decides about every connection.
#pragma once

#include <weir/crawl/crawl_options.hpp>
#include <weir/crawl/fetcher.hpp>
#include <weir/http/address_filter.hpp>
#include <weir/http/client.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/url.hpp>
#include <weir/io/dns.hpp>
#include <weir/io/tls_context.hpp>

#include <memory>
#include <string>
#include <vector>

namespace weir::crawl {

class http_fetcher final : public fetcher {
public:
    // Takes concurrency, limits, time limits and the agent from the options. `resolver`: null for
    // that of the loop; must outlive the fetcher.
    explicit http_fetcher(const crawl_options& options,
                          http::address_filter filter = http::address_filter::public_only(),
                          const tls::client_options& tls = {}, dns::resolver* resolver = nullptr);

    task<fetch_result> fetch(fetch_request request) override;
    task<std::string> address_of(http::url of) override;

private:
    task<> receive(fetch_request request, fetch_result& result);
    // Adds the headers that the client would add by itself.
    void complete(http::headers& sent) const;
    http::client& client_for(const http::url& url);

    // Each has the hosts of its share: a client's work for one request grows with the connections
    // that it keeps.
    std::vector<std::unique_ptr<http::client>> clients_;
    std::string user_agent_;
    bool accepts_compression_;
    dns::resolver* resolver_;
};

}  // namespace weir::crawl
