// SPDX-License-Identifier: MIT
// A list in order of use with an index by key, under a lock that is held for a few instructions.
// Sessions are stored and handed out as exclusive copies: OpenSSL changes the session of a
// connection that fails, on any thread.

#include "io/tls/session_cache.hpp"

#include <ctime>

namespace weir::tls::detail {

namespace {

bool is_fresh(SSL_SESSION& kept) {
    return SSL_SESSION_is_resumable(&kept) == 1 &&
           SSL_SESSION_get_time(&kept) + SSL_SESSION_get_timeout(&kept) >
               static_cast<long>(std::time(nullptr));
}

}  // namespace

std::size_t session_cache::size() const {
    const std::lock_guard lock(guard_);
    return hosts_.size();
}

void session_cache::put(const std::string& key, session_pointer fresh) {
    const std::lock_guard lock(guard_);
    auto found = by_key_.find(key);
    if (found == by_key_.end()) {
        if (hosts_.size() == most_hosts_) {
            erase(std::prev(hosts_.end()));
        }
        hosts_.push_front({key, {}});
        found = by_key_.emplace(hosts_.front().key, hosts_.begin()).first;
    } else {
        hosts_.splice(hosts_.begin(), hosts_, found->second);
    }
    std::vector<session_pointer>& kept = found->second->sessions;
    if (SSL_SESSION_get_protocol_version(fresh.get()) < TLS1_3_VERSION) {
        kept.clear();  // the new one serves any number of connections
    } else if (kept.size() == most_per_host) {
        kept.erase(kept.begin());
    }
    kept.push_back(std::move(fresh));
}

session_pointer session_cache::take(const std::string& key) {
    const std::lock_guard lock(guard_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) {
        return nullptr;
    }
    const place at = found->second;
    hosts_.splice(hosts_.begin(), hosts_, at);
    session_pointer session;
    while (!at->sessions.empty() && session == nullptr) {
        SSL_SESSION& newest = *at->sessions.back();
        if (!is_fresh(newest)) {
            at->sessions.pop_back();
        } else if (SSL_SESSION_get_protocol_version(&newest) < TLS1_3_VERSION) {
            return session_pointer(SSL_SESSION_dup(&newest));
        } else {
            session = std::move(at->sessions.back());
            at->sessions.pop_back();
        }
    }
    if (at->sessions.empty()) {
        erase(at);
    }
    return session;
}

void session_cache::forget(const std::string& key) {
    const std::lock_guard lock(guard_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
        erase(found->second);
    }
}

void session_cache::clear() {
    const std::lock_guard lock(guard_);
    by_key_.clear();
    hosts_.clear();
}

void session_cache::erase(place gone) {
    by_key_.erase(gone->key);
    hosts_.erase(gone);
}

}  // namespace weir::tls::detail
