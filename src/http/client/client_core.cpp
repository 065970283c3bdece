// SPDX-License-Identifier: MIT
// Transfers are made when they are needed and used again: an easy handle with all its options set
// is expensive. Those under way are in a list, so that they can be ended when the client or the
// loop goes. A transfer that somebody holds keeps its client_core alive, though not its
// connections.

#include "http/client/client_core.hpp"

#include <weir/error.hpp>
#include <weir/io/dns.hpp>

#include <limits>
#include <new>

namespace weir::http::detail {

namespace {

template <class Value>
void check(bool good, const char* option, Value value, const char* right) {
    if (!good) {
        throw invalid_argument(std::string("client_options::") + option + " is " +
                               std::to_string(value) + ": it must be " + right);
    }
}

void check_time(clock::duration given, const char* option) {
    check(given > clock::duration::zero(), option, given.count(), "more than 0 ns");
}

std::size_t in_long(std::size_t given) noexcept {
    return std::min<std::size_t>(given, std::numeric_limits<int>::max());
}

}  // namespace

client_settings::client_settings(const client_options& given)
    : plain(given),
      user_agent(given.user_agent),
      ca_file(given.tls.ca_file),
      ca_dir(given.tls.ca_dir),
      ca_pem(given.tls.ca_pem),
      certificate_file(given.tls.certificate_file),
      key_file(given.tls.key_file),
      certificate_pem(given.tls.certificate_pem),
      key_pem(given.tls.key_pem),
      key_password(given.tls.key_password) {
    check(given.max_connections > 0, "max_connections", given.max_connections, "1 or more");
    check(given.max_per_host > 0, "max_per_host", given.max_per_host, "1 or more");
    check_time(given.idle_time, "idle_time");
    check_time(given.timeout, "timeout");
    check_time(given.connect_timeout, "connect_timeout");
    check_time(given.stall_timeout, "stall_timeout");
    check(given.max_redirects >= 0, "max_redirects", given.max_redirects, "0 or more");
    check(given.max_header_count > 0, "max_header_count", given.max_header_count, "1 or more");
    check(given.max_header_bytes > 0, "max_header_bytes", given.max_header_bytes, "1 or more");
    if (!is_field_value(user_agent)) {
        throw invalid_argument("client_options::user_agent cannot be sent as a header");
    }
    if (!given.proxy.empty()) {
        proxy = http::url::parse(given.proxy);
        if (proxy.scheme() != "http" && proxy.scheme() != "https") {
            throw invalid_argument("client_options::proxy is '" + without_password(given.proxy) +
                                   "': it must be an http or https URL");
        }
    }
    if (ca_file.empty() && ca_dir.empty() && !ca_pem.empty() &&
        ca_pem.find("-----BEGIN") == std::string::npos) {
        throw invalid_argument("client_options::tls.ca_pem has no certificate in it");
    }
}

client_core::client_core(const client_options& options, std::optional<address_filter> filter)
    : settings_(options),
      filter_(std::move(filter)),
      hosts_(options.multiplex ? std::numeric_limits<std::size_t>::max() : options.max_connections,
             options.multiplex ? std::numeric_limits<std::size_t>::max() : options.max_per_host) {}

client_core::~client_core() {
    spare_.clear();
    shut_down();
    if (share_ != nullptr) {
        curl_share_cleanup(share_);
    }
}

void client_core::opened(CURLM* multi) noexcept {
    const client_options& options = settings_.plain;
    const long total = static_cast<long>(in_long(options.max_connections));
    curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, total);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, total);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                      static_cast<long>(in_long(options.max_per_host)));
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
    return settings_.plain.resolver != nullptr ? *settings_.plain.resolver : dns::loop_resolver();
}

const http::url& client_core::parse(std::string_view text) {
    constexpr std::size_t enough = 256;
    const auto found = parsed_.find(text);
    if (found != parsed_.end()) {
        return found->second;
    }
    http::url fresh = http::url::parse(text);
    if (parsed_.size() >= enough) {
        parsed_.clear();
    }
    return parsed_.emplace(text, std::move(fresh)).first->second;
}

transfer_owner client_core::new_transfer() {
    std::unique_ptr<transfer> made;
    if (spare_.empty()) {
        made = std::make_unique<transfer>();
    } else {
        made = std::move(spare_.back());
        spare_.pop_back();
    }
    made->prepare(shared_from_this());
    return transfer_owner(made.release());
}

void client_core::take_back(transfer& done) noexcept {
    std::unique_ptr<transfer> owned(&done);
    done.reset();
    constexpr std::size_t enough = 256;
    if (is_closed_ || spare_.size() >= enough) {
        return;
    }
    try {
        spare_.push_back(std::move(owned));
    } catch (...) {
        // It is destroyed.
    }
}

void client_core::began(transfer& started) noexcept {
    ++requests_;
    ++active_count_;
    started.next = active_;
    started.previous = nullptr;
    if (active_ != nullptr) {
        active_->previous = &started;
    }
    active_ = &started;
}

void client_core::concluded(transfer& over) noexcept {
    --active_count_;
    (over.previous != nullptr ? over.previous->next : active_) = over.next;
    if (over.next != nullptr) {
        over.next->previous = over.previous;
    }
    over.next = over.previous = nullptr;
}

void client_core::transfer_ended(CURL* easy, CURLcode result) noexcept {
    char* owner = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &owner);
    reinterpret_cast<transfer*>(owner)->ended(result);
}

void client_core::end_all() noexcept {
    while (active_ != nullptr) {
        active_->client_closes();
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
    return {requests_, sockets_opened(), open_sockets(), active_count_};
}

}  // namespace weir::http::detail
