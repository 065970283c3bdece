// SPDX-License-Identifier: MIT
// Linear probing: fingerprints are uniform, so that runs stay short, and a lookup touches one cache
// line in most cases. Nothing is ever removed.

#include "crawl/frontier/seen_set.hpp"

#include <bit>
#include <utility>

namespace weir::crawl::detail {

bool seen_set::insert(std::uint64_t fingerprint) {
    const std::uint64_t kept = fingerprint != 0 ? fingerprint : 1;
    std::size_t at = slot_of(kept);
    if (slots_[at] != 0) {
        return false;
    }
    if ((size_ + 1) * 4 > slots_.size() * 3) {
        grow(slots_.size() * 2);
        at = slot_of(kept);
    }
    slots_[at] = kept;
    ++size_;
    return true;
}

void seen_set::reserve(std::size_t count) {
    const std::size_t wanted = std::bit_ceil(count + count / 3 + 1);
    if (wanted > slots_.size()) {
        grow(wanted);
    }
}

void seen_set::grow(std::size_t slots) {
    const std::vector<std::uint64_t> old = std::exchange(slots_, std::vector<std::uint64_t>(slots));
    for (const std::uint64_t each : old) {
        if (each != 0) {
            slots_[slot_of(each)] = each;
        }
    }
}

}  // namespace weir::crawl::detail
