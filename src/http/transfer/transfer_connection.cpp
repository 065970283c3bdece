// SPDX-License-Identifier: MIT
// The host table says which addresses libcurl needs before it connects; they go into an option of
// the easy handle that is cleared when the transfer is over. Whether a connection was kept shows by
// libcurl's callbacks: one for each socket that it opens, and one before it sends a request.

#include "http/transfer/transfer_connection.hpp"

#include "http/client/client_settings.hpp"

#include <utility>

namespace weir::http::detail {

void transfer_connection::set_route(host_table& hosts, host_place host,
                                    const std::vector<io::address>& addresses) {
    leads_to_address_ = addresses.empty();
    has_several_addresses_ = addresses.size() > 1;
    if (!addresses.empty()) {
        hosts.tell(host.host(), addresses, resolve_list_);
    }
    host_ = std::move(host);
}

void transfer_connection::require_new() noexcept {
    requires_new_ = true;
    curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 1L);
}

// The transfer's own timer enforces the connect limit. libcurl has to know it only to divide the
// time between several addresses.
void transfer_connection::prepare(clock::duration connect_limit) noexcept {
    if (!resolve_list_.empty()) {
        curl_easy_setopt(easy_, CURLOPT_RESOLVE, resolve_list_.get());
    }
    const long limit = has_several_addresses_ ? to_curl_milliseconds(connect_limit) : 0;
    if (limit != connect_limit_) {
        connect_limit_ = limit;
        curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, limit);
    }
}

void transfer_connection::reset() noexcept {
    if (!resolve_list_.empty()) {
        curl_easy_setopt(easy_, CURLOPT_RESOLVE, nullptr);
        resolve_list_.clear();
        // Without a connection it is uncertain whether libcurl has taken the addresses over.
        if (!is_ready_) {
            host_table::forget(host_.host());
        }
    }
    host_ = host_place();
    if (std::exchange(requires_new_, false)) {
        curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 0L);
    }
    has_opened_ = is_ready_ = ended_unanswered_ = false;
}

void transfer_connection::note_result(CURLcode result) noexcept {
    ended_unanswered_ = result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR ||
                        result == CURLE_GOT_NOTHING || result == CURLE_ABORTED_BY_CALLBACK;
}

std::string_view transfer_connection::host_name() const noexcept {
    if (leads_to_address_) {
        return {};
    }
    const std::string_view name = host_.host().name;
    return name.substr(0, name.rfind(':'));
}

}  // namespace weir::http::detail
