// SPDX-License-Identifier: MIT
// Remembers what became of references, by the folder of the page and the text of the reference:
// navigation repeats on every page, and resolving a reference costs twenty times a look at this
// table. A place holds the last reference that came to it.
#pragma once

#include <weir/crawl/counters.hpp>
#include <weir/flow/seeded_hash.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weir::crawl::detail {

class link_memo {
public:
    struct entry {
        std::uint64_t key = 0;  // 0: free
        std::uint64_t fingerprint = 0;
        link_refusal refusal = link_refusal::none;
    };

    explicit link_memo(hash_seed seed) : seed_(seed), entries_(size) {}

    // `base`: the URL up to the last slash of its path.
    void set_base(std::string_view base) noexcept {
        base_ = seeded_hash<std::string_view>()(base, seed_);
    }
    // References that depend on more than the folder have no entry.
    static bool is_covered(std::string_view reference) noexcept {
        return !reference.empty() && reference.front() != '?' && reference.front() != '#';
    }
    std::uint64_t key_of(std::string_view reference) const noexcept {
        return seeded_hash<std::string_view>()(reference, {seed_.first ^ base_, seed_.second}) | 1;
    }
    // Null if it is not known.
    const entry* find(std::uint64_t key) const noexcept {
        const entry& place = entries_[key >> shift];
        return place.key == key ? &place : nullptr;
    }
    void keep(std::uint64_t key, std::uint64_t fingerprint, link_refusal refusal) noexcept {
        entries_[key >> shift] = {key, fingerprint, refusal};
    }

private:
    static constexpr int bits = 14;
    static constexpr int shift = 64 - bits;
    static constexpr std::size_t size = std::size_t{1} << bits;

    hash_seed seed_;
    std::uint64_t base_ = 0;
    std::vector<entry> entries_;
};

}  // namespace weir::crawl::detail
