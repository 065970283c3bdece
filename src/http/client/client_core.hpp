// SPDX-License-Identifier: MIT
// The shared state of a client: its settings, the hosts it talks to, and its transfers.
#pragma once

#include "http/client/client_settings.hpp"
#include "http/client/host_table.hpp"
#include "http/client/url_cache.hpp"
#include "http/curl/curl_multi.hpp"
#include "http/transfer/transfer.hpp"

#include <weir/base/intrusive_list.hpp>
#include <weir/http/client.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace weir::http::detail {

class client_core final : public curl_multi, public std::enable_shared_from_this<client_core> {
public:
    client_core(const client_options& options, std::optional<address_filter> filter);
    ~client_core();

    const client_settings& settings() const noexcept { return settings_; }
    client_settings& settings() noexcept { return settings_; }
    host_table& hosts() noexcept { return hosts_; }
    url_cache& urls() noexcept { return urls_; }
    dns::resolver& resolver();
    // For cookies and TLS sessions; valid after bind_to_loop().
    CURLSH* share() const noexcept { return share_; }

    bool has_filter() const noexcept { return filter_.has_value(); }
    // As address_filter::check, if there is a filter.
    void check_address(const io::address& address, std::string_view host) const;

    // A transfer that is ready to start. Throws std::bad_alloc.
    transfer_owner new_transfer();
    void take_back(transfer& released) noexcept;
    void began(transfer& started) noexcept;
    void concluded(transfer& ended) noexcept;
    // Requests that wait for a place that only unread responses have would wait for ever: they
    // fail, if nobody has read any of these since then.
    void check_unread(host_state& host, clock::time_point then) noexcept;

    void close() noexcept;
    bool is_closed() const noexcept { return is_closed_; }
    client_stats stats() const noexcept;

private:
    void opened(CURLM* multi) noexcept override;
    void transfer_ended(CURL* easy, CURLcode result) noexcept override;
    void end_all() noexcept override;

    client_settings settings_;
    std::optional<address_filter> filter_;
    host_table hosts_;
    url_cache urls_;
    CURLSH* share_ = nullptr;
    std::vector<std::unique_ptr<transfer>> spare_;
    weir::detail::intrusive_list<transfer> active_;
    std::size_t active_count_ = 0;
    std::uint64_t requests_ = 0;
    bool is_closed_ = false;
};

}  // namespace weir::http::detail
