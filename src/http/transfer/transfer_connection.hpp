// SPDX-License-Identifier: MIT
// The connection of one transfer: where it leads, whether it is new or was kept, and how it ended.
#pragma once

#include "http/client/host_table.hpp"
#include "http/curl/curl_list.hpp"

#include <weir/clock.hpp>
#include <weir/io/address.hpp>

#include <curl/curl.h>

#include <string_view>
#include <vector>

namespace weir::http::detail {

class transfer_connection {
public:
    // The easy handle must outlive it.
    explicit transfer_connection(CURL* easy) noexcept : easy_(easy) {}

    // The host that libcurl will connect to, which is the proxy if there is one, and its addresses;
    // none if the host is itself an address.
    void set_route(host_table& hosts, host_place host, const std::vector<io::address>& addresses);
    // libcurl must open a new connection.
    void require_new() noexcept;
    // Sets libcurl's options for the route.
    void prepare(clock::duration connect_limit) noexcept;
    void reset() noexcept;

    // libcurl opens a socket.
    void note_opened() noexcept { has_opened_ = true; }
    // libcurl is about to send the request. Returns true the first time.
    bool note_ready(int local_port) noexcept {
        local_port_ = local_port;
        return !std::exchange(is_ready_, true);
    }
    void note_result(CURLcode result) noexcept;

    bool is_ready() const noexcept { return is_ready_; }
    int local_port() const noexcept { return local_port_; }  // once it is ready
    bool is_kept() const noexcept { return !has_opened_; }
    // A kept connection turned out to be closed by the peer, and a new one has not been tried yet.
    bool was_dead() const noexcept {
        return is_ready_ && is_kept() && !requires_new_ && ended_unanswered_;
    }
    bool leads_to_address() const noexcept { return leads_to_address_; }
    // The name of the host; empty if it is an address.
    std::string_view host_name() const noexcept;

private:
    CURL* easy_;
    host_place host_;
    curl_list resolve_list_;  // the easy handle refers to it
    long connect_limit_ = 0;  // milliseconds, as set in the easy handle
    int local_port_ = 0;
    bool leads_to_address_ = false;
    bool has_several_addresses_ = false;
    bool requires_new_ = false;
    bool has_opened_ = false;
    bool is_ready_ = false;
    bool ended_unanswered_ = false;
};

}  // namespace weir::http::detail
