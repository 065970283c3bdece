// SPDX-License-Identifier: MIT
// Transfers are created on demand and used again: an easy handle with all its options set is
// expensive. Active transfers are in a list, so that they can be ended when the client or the loop
// closes. A response that is still held keeps the client_core alive, though not its connections.

#include "http/client/client_core.hpp"

#include <weir/io/dns.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace weir::http::detail {

namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

long to_curl_limit(std::size_t limit) noexcept {
    return static_cast<long>(std::min<std::size_t>(limit, std::numeric_limits<int>::max()));
}

}  // namespace

client_core::client_core(const client_options& options, std::optional<address_filter> filter)
    : settings_(options),
      filter_(std::move(filter)),
      hosts_(options.multiplex ? unlimited : options.max_connections,
             options.multiplex ? unlimited : options.max_per_host) {}

client_core::~client_core() {
    spare_.clear();
    shut_down();
    if (share_ != nullptr) {
        curl_share_cleanup(share_);
    }
}

void client_core::opened(CURLM* multi) noexcept {
    const client_options& options = settings_.options;
    const long total = to_curl_limit(options.max_connections);
    curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, total);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, total);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, to_curl_limit(options.max_per_host));
    curl_multi_setopt(multi, CURLMOPT_PIPELINING,
                      options.multiplex ? long{CURLPIPE_MULTIPLEX} : long{CURLPIPE_NOTHING});
    hosts_.forget_all();
    if (share_ == nullptr) {
        share_ = curl_share_init();
        if (share_ != nullptr) {
            curl_share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
            if (options.cookies) {
                curl_share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE);
                curl_share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_PSL);
            }
        }
    }
}

dns::resolver& client_core::resolver() {
    dns::resolver* const resolver = settings_.options.resolver;
    return resolver != nullptr ? *resolver : dns::loop_resolver();
}

void client_core::check_address(const io::address& address, std::string_view host) const {
    if (filter_.has_value()) {
        filter_->check(address, host);
    }
}

transfer_owner client_core::new_transfer() {
    std::unique_ptr<transfer> fresh;
    if (spare_.empty()) {
        fresh = std::make_unique<transfer>();
    } else {
        fresh = std::move(spare_.back());
        spare_.pop_back();
    }
    fresh->prepare(shared_from_this());
    return transfer_owner(fresh.release());
}

void client_core::take_back(transfer& released) noexcept {
    constexpr std::size_t max_spare = 256;
    std::unique_ptr<transfer> owned(&released);
    released.reset();
    if (is_closed_ || spare_.size() >= max_spare) {
        return;
    }
    try {
        spare_.push_back(std::move(owned));
    } catch (...) {
        // Out of memory: the transfer is destroyed.
    }
}

void client_core::began(transfer& started) noexcept {
    ++requests_;
    ++active_count_;
    active_.push_front(started);
}

void client_core::concluded(transfer& ended) noexcept {
    --active_count_;
    active_.remove(ended);
}

void client_core::check_unread(host_state& host, clock::time_point then) noexcept {
    std::size_t unread = 0;
    std::size_t unread_of_host = 0;
    for (const transfer& each : active_) {
        if (each.is_unread_since(then)) {
            ++unread;
            unread_of_host += &each.host() == &host ? 1 : 0;
        }
    }
    const bool fills_host = unread_of_host >= hosts_.max_per_host();
    if (!fills_host && unread < hosts_.max_total()) {
        return;
    }
    try {
        throw request_timed_out(
            request_timed_out::limit::stall,
            "timed out while waiting for a connection: all " +
                std::to_string(fills_host ? unread_of_host : unread) + " connections" +
                (fills_host ? " to the host" : "") +
                " have responses that are not read; read, discard or destroy them");
    } catch (...) {
        fills_host ? host_table::fail_waiters(host, std::current_exception())
                   : hosts_.fail_waiters(std::current_exception());
    }
}

void client_core::transfer_ended(CURL* easy, CURLcode result) noexcept {
    char* owner = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &owner);
    reinterpret_cast<transfer*>(owner)->ended(result);
}

void client_core::end_all() noexcept {
    while (!active_.empty()) {
        active_.front().client_closes();
    }
}

void client_core::close() noexcept {
    is_closed_ = true;
    end_all();
    hosts_.fail_waiters(std::make_exception_ptr(
        transport_error(transport_error::kind::client_closed, "the client was closed")));
    spare_.clear();
    shut_down();
}

client_stats client_core::stats() const noexcept {
    return {requests_, sockets().opened(), sockets().count_open(), active_count_};
}

}  // namespace weir::http::detail
