// SPDX-License-Identifier: MIT
// What is behind http::client: its options, the hosts it talks to, its transfers.
#pragma once

#include "http/curl/curl_multi.hpp"
#include "http/client/host_table.hpp"
#include "http/transfer/transfer.hpp"

#include <weir/http/client.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::http::detail {

// client_options with texts of its own.
struct client_settings {
    explicit client_settings(const client_options& given);

    client_options plain;  // the views in it are not to be used
    std::string user_agent;
    http::url proxy;
    std::string ca_file, ca_dir, ca_pem;
    std::string certificate_file, key_file, certificate_pem, key_pem, key_password;
    http::headers default_headers;
};

struct text_hash : std::hash<std::string_view> {
    using is_transparent = void;
};

class client_core final : public curl_multi, public std::enable_shared_from_this<client_core> {
public:
    client_core(const client_options& options, std::optional<address_filter> filter);
    ~client_core();

    const client_settings& settings() const noexcept { return settings_; }
    client_settings& settings() noexcept { return settings_; }
    using curl_multi::add;
    using curl_multi::bind_to_loop;
    using curl_multi::called_at;
    using curl_multi::close_socket;
    using curl_multi::home;
    using curl_multi::is_calling;
    using curl_multi::is_readable;
    using curl_multi::own_socket;
    using curl_multi::pause;
    using curl_multi::remove;

    const std::optional<address_filter>& filter() const noexcept { return filter_; }
    host_table& hosts() noexcept { return hosts_; }
    CURLSH* share() const noexcept { return share_; }
    dns::resolver& resolver();
    // As url::parse, and remembers it: most clients ask for the same few again and again.
    const http::url& parse(std::string_view text);

    // Ready for transfer::start. Throws std::bad_alloc.
    transfer_owner new_transfer();
    void take_back(transfer& done) noexcept;
    void began(transfer& started) noexcept;
    void concluded(transfer& over) noexcept;
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
    CURLSH* share_ = nullptr;
    std::vector<std::unique_ptr<transfer>> spare_;
    std::unordered_map<std::string, http::url, text_hash, std::equal_to<>> parsed_;
    transfer* active_ = nullptr;  // the first of them
    std::size_t active_count_ = 0;
    std::uint64_t requests_ = 0;
    bool is_closed_ = false;
};

}  // namespace weir::http::detail
