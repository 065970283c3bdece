// SPDX-License-Identifier: MIT
// Sessions that shorten a client's next handshake with a host.
#pragma once

#include "io/tls/tls_openssl.hpp"

#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::tls::detail {

// Bounded; the least recently used host is dropped first. Thread-safe.
class session_cache {
public:
    explicit session_cache(std::size_t most_hosts) : most_hosts_(most_hosts) {}

    bool is_on() const noexcept { return most_hosts_ > 0; }
    std::size_t size() const;
    void put(const std::string& key, session_pointer fresh);
    // The newest session that can still be resumed, or null. A ticket of TLS 1.3 is used once: two
    // uses would show an eavesdropper that both connections are of the same client.
    session_pointer take(const std::string& key);
    void forget(const std::string& key);
    void clear();

private:
    static constexpr std::size_t most_per_host = 4;  // so that simultaneous connections resume too
    struct host {
        std::string key;
        std::vector<session_pointer> sessions;
    };
    using place = std::list<host>::iterator;

    void erase(place gone);

    const std::size_t most_hosts_;
    mutable std::mutex guard_;
    std::list<host> hosts_;  // most recently used first
    std::unordered_map<std::string_view, place> by_key_;
};

}  // namespace weir::tls::detail
