// SPDX-License-Identifier: MIT
// Requests wait for a connection here and not in libcurl: libcurl's queue is not fair, and counts
// the wait as connecting, so that a request that waited for long would fail when its turn came.
//
// A host with room and waiters is in the list of such hosts. When the total allows one more
// request, the first host of the list starts its first waiter and goes to the end of the list.
//
// libcurl keeps the addresses it gets in a cache, for ever, and uses its blocking resolver for
// hosts that are not in the cache. So the table passes a host's addresses to libcurl again when
// they have changed. A host that the table has forgotten is removed from the cache with the next
// request that passes any addresses.

#include "http/client/host_table.hpp"

#include <charconv>

namespace weir::http::detail {

host_state& host_table::find(std::string_view host, std::uint16_t port) {
    char digits[5];
    const auto end = std::to_chars(digits, digits + sizeof digits, port).ptr;
    key_.assign(host);
    key_ += ':';
    key_.append(digits, end);
    const auto [found, is_new] = hosts_.try_emplace(key_);
    if (is_new) {
        found->second.name = key_;
    }
    ++found->second.users;
    return found->second;
}

void host_table::release(host_state& used) noexcept {
    if (--used.users > 0 || used.is_listed || hosts_.size() <= max_unused) {
        return;
    }
    try {
        if (!used.known.empty()) {
            removed_.push_back(used.name);
        }
        hosts_.erase(used.name);
    } catch (...) {
        // Out of memory: the host stays.
    }
}

bool host_table::try_enter(host_state& host) noexcept {
    if (total_ >= max_total_ || host.active >= max_per_host_ || !host.waiting.is_empty()) {
        return false;
    }
    ++total_;
    ++host.active;
    return true;
}

void host_table::leave(host_state& host) noexcept {
    --total_;
    --host.active;
    list(host);
    admit();
}

void host_table::list(host_state& host) noexcept {
    if (!host.is_listed && !host.waiting.is_empty() && host.active < max_per_host_) {
        host.is_listed = true;
        host.next_listed = nullptr;
        (first_listed_ == nullptr ? first_listed_ : last_listed_->next_listed) = &host;
        last_listed_ = &host;
    }
}

void host_table::admit() noexcept {
    while (total_ < max_total_ && first_listed_ != nullptr) {
        host_state& host = *std::exchange(first_listed_, first_listed_->next_listed);
        host.is_listed = false;
        if (host.waiting.is_empty()) {
            continue;
        }
        auto& next = static_cast<host_entry&>(host.waiting.first());
        host.waiting.remove(next);
        ++total_;
        ++host.active;
        list(host);
        next.is_granted_ = true;
        next.complete();
    }
}

void host_table::fail_waiters(const std::exception_ptr& why) noexcept {
    for (auto& [name, host] : hosts_) {
        fail_waiters(host, why);
    }
}

void host_table::fail_waiters(host_state& host, const std::exception_ptr& why) noexcept {
    while (!host.waiting.is_empty()) {
        auto& each = static_cast<host_entry&>(host.waiting.first());
        host.waiting.remove(each);
        each.error_ = why;
        each.complete();
    }
}

void host_table::tell(host_state& host, const std::vector<io::address>& found, curl_list& list) {
    if (host.known == found) {
        return;
    }
    host.known.clear();  // in case memory runs out below
    for (const std::string& each : removed_) {
        if (each != host.name) {
            list.add({"-", each});
        }
    }
    std::string addresses;
    for (const io::address& each : found) {
        const bool is_v6 = each.kind() == io::address::family::ipv6;
        addresses += addresses.empty() ? "" : ",";
        addresses += is_v6 ? "[" : "";
        addresses += each.host();
        addresses += is_v6 ? "]" : "";
    }
    list.add({host.name, ":", addresses});
    removed_.clear();
    host.known = found;
}

void host_table::forget_all() noexcept {
    for (auto& [name, host] : hosts_) {
        host.known.clear();
    }
    removed_.clear();
}

host_entry::~host_entry() {
    if (is_granted_) {
        place_.table_->leave(*place_.host_);
    }
}

bool host_entry::start() noexcept {
    place_.host_->waiting.append(*this);
    place_.table_->list(*place_.host_);
    return true;
}

bool host_entry::cancel() noexcept {
    place_.host_->waiting.remove(*this);
    return true;
}

void host_entry::resume() {
    if (error_ != nullptr) {
        std::rethrow_exception(error_);
    }
    is_granted_ = false;
    place_.is_entered_ = true;
}

}  // namespace weir::http::detail
