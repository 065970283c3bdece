// SPDX-License-Identifier: MIT
// A list in the order of use and an index into it, whose keys are the names in the list's nodes,
// which never move.

#include "io/dns/dns_cache.hpp"

namespace weir::dns::detail {

const answer* cache::find(std::string_view name, clock::time_point now) {
    const auto found = index_.find(name);
    if (found == index_.end()) {
        return nullptr;
    }
    if (found->second->expires <= now) {
        erase(found->second);
        return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->result;
}

void cache::put(std::string name, answer result, clock::time_point now, clock::duration good_for) {
    if (const auto old = index_.find(name); old != index_.end()) {
        erase(old->second);
    }
    if (capacity_ == 0 || good_for <= clock::duration::zero()) {
        return;
    }
    while (entries_.size() >= capacity_) {
        erase(std::prev(entries_.end()));
    }
    entries_.push_front({std::move(name), std::move(result), weir::detail::after(now, good_for)});
    try {
        index_.emplace(entries_.front().name, entries_.begin());
    } catch (...) {
        entries_.pop_front();
        throw;
    }
}

void cache::clear() noexcept {
    index_.clear();
    entries_.clear();
}

void cache::erase(order::iterator gone) {
    index_.erase(gone->name);
    entries_.erase(gone);
}

}  // namespace weir::dns::detail
