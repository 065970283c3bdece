// SPDX-License-Identifier: MIT
// A fetcher whose requests pass the policies that the process has for each host, together with
// those of other users of that host.
#pragma once

#include <weir/crawl/fetcher.hpp>
#include <weir/http/host_policies.hpp>

#include <memory>
#include <string>
#include <utility>

namespace weir::service::detail {

class polite_fetcher final : public crawl::fetcher {
public:
    polite_fetcher(std::unique_ptr<crawl::fetcher> with, http::host_policies& hosts) noexcept
        : fetcher_(std::move(with)), hosts_(hosts) {}

    // Waits while the host must not be used, up to max_wait; then the error is of kind breaker.
    task<crawl::fetch_result> fetch(crawl::fetch_request request) override;
    task<std::string> address_of(http::url of) override {
        return fetcher_->address_of(std::move(of));
    }

    static constexpr clock::duration max_wait = std::chrono::minutes(10);

private:
    std::unique_ptr<crawl::fetcher> fetcher_;
    http::host_policies& hosts_;
};

}  // namespace weir::service::detail
