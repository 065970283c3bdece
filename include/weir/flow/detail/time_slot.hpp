// SPDX-License-Identifier: MIT
// One slot of a time_table.
#pragma once

#include <weir/flow/seeded_hash.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weir::detail {

// The type that a key is looked up by: lookups construct no std::string.
template <class Key>
using lookup_key =
    std::conditional_t<std::is_same_v<Key, std::string>, std::string_view, const Key&>;

template <bool Keeps>
struct kept_hash {
    static constexpr bool keeps_hash = false;
};
template <>
struct kept_hash<true> {
    static constexpr bool keeps_hash = true;
    std::uint64_t hash;
};

// Small plain keys are compared directly and rehashed; for others the hash is stored, so that the
// characters of a string are read only if the hash matches.
template <class Key, class Hash>
struct time_slot : kept_hash<!(std::is_trivially_copyable_v<Key> && sizeof(Key) <= 16)> {
    static_assert(std::is_nothrow_move_constructible_v<Key>,
                  "keys are moved when the table grows, so moving one must not throw");
    static constexpr std::int64_t absent = std::numeric_limits<std::int64_t>::min();

    time_slot() noexcept {}  // NOLINT: the key is constructed later
    time_slot(const time_slot&) = delete;
    time_slot& operator=(const time_slot&) = delete;
    ~time_slot() {
        if (time != absent) {
            std::destroy_at(&key);
        }
    }

    bool is(lookup_key<Key> wanted, [[maybe_unused]] std::uint64_t hash_wanted) const noexcept {
        if constexpr (time_slot::keeps_hash) {
            return this->hash == hash_wanted && key == wanted;
        } else {
            return key == wanted;
        }
    }
    void fill(lookup_key<Key> with, [[maybe_unused]] std::uint64_t hash_of) {
        std::construct_at(&key, with);
        if constexpr (time_slot::keeps_hash) {
            this->hash = hash_of;
        }
    }
    void replace(lookup_key<Key> with, [[maybe_unused]] std::uint64_t hash_of) {
        Key copy(with);  // may throw; the rest does not
        std::destroy_at(&key);
        std::construct_at(&key, std::move(copy));
        if constexpr (time_slot::keeps_hash) {
            this->hash = hash_of;
        }
    }
    void move_from(time_slot& other) noexcept {
        std::construct_at(&key, std::move(other.key));
        std::destroy_at(&other.key);
        if constexpr (time_slot::keeps_hash) {
            this->hash = other.hash;
        }
        time = std::exchange(other.time, absent);
    }

    std::int64_t time = absent;
    union {
        Key key;
    };
};

}  // namespace weir::detail
