// SPDX-License-Identifier: MIT
// The fingerprints of all URLs that a crawl knows: 8 bytes each in an open-addressing table that is
// at most three quarters full. A fingerprint is a keyed hash, so that no page can choose links that
// collide; among 10 million URLs the chance that any two share one is 3 in a million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::crawl::detail {

class seen_set {
public:
    seen_set() : slots_(first_size) {}

    // False if it is there already.
    bool insert(std::uint64_t fingerprint);
    bool contains(std::uint64_t fingerprint) const noexcept {
        return slots_[slot_of(fingerprint != 0 ? fingerprint : 1)] != 0;
    }
    // Loads what a later insert of it needs: tables of millions are in no cache.
    void prefetch(std::uint64_t fingerprint) const noexcept {
        __builtin_prefetch(&slots_[static_cast<std::size_t>(fingerprint) & (slots_.size() - 1)]);
    }
    std::size_t size() const noexcept { return size_; }
    // Room for so many without growing again.
    void reserve(std::size_t count);

private:
    static constexpr std::size_t first_size = 1024;

    // Of the fingerprint, or of the free slot where it belongs.
    std::size_t slot_of(std::uint64_t fingerprint) const noexcept {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = static_cast<std::size_t>(fingerprint) & mask;
        while (slots_[at] != 0 && slots_[at] != fingerprint) {
            at = (at + 1) & mask;
        }
        return at;
    }
    void grow(std::size_t slots);

    std::vector<std::uint64_t> slots_;  // a power of two; 0: free
    std::size_t size_ = 0;
};

}  // namespace weir::crawl::detail
