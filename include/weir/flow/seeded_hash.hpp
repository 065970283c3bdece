// SPDX-License-Identifier: MIT
// seeded_hash: a hash whose collisions an attacker cannot predict.
//
// Keys of a limiter are untrusted input: addresses, user names, tokens. With a known hash function,
// an attacker can send keys that all collide, which makes each lookup visit the whole table. So
// every table has a secret seed. Strings are hashed with SipHash-1-3. Numbers, enumerations and
// plain structs of up to 16 bytes without padding are multiplied twice by secret factors, with high
// and low half folded together: a fifth of the time, and collisions are unpredictable as long as
// the hashes are not visible. Larger plain structs are hashed with SipHash as bytes. Other types
// need their own hash that takes the seed, or std::hash, whose result is mixed with the seed:
// sufficient for keys that are not chosen by an attacker.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>
#include <type_traits>

namespace weir {

struct hash_seed {
    std::uint64_t first = 0;
    std::uint64_t second = 0;

    friend bool operator==(const hash_seed&, const hash_seed&) = default;
    // From the system's random source.
    static hash_seed random();
    // Always the same: for tests and simulations.
    static constexpr hash_seed fixed(std::uint64_t number) noexcept {
        return {number * 0x9e3779b97f4a7c15u, number ^ 0xd1b54a32d192ed03u};
    }
};

namespace detail {

// SipHash with one round for each word and three at the end.
class sip_hasher {
public:
    explicit constexpr sip_hasher(hash_seed seed) noexcept
        : a_(seed.first ^ 0x736f6d6570736575u),
          b_(seed.second ^ 0x646f72616e646f6du),
          c_(seed.first ^ 0x6c7967656e657261u),
          d_(seed.second ^ 0x7465646279746573u) {}

    constexpr void add(std::uint64_t word) noexcept {
        d_ ^= word;
        round();
        a_ ^= word;
    }
    // The last word has the number of bytes in its highest byte.
    constexpr std::uint64_t finish(std::uint64_t last, std::size_t bytes) noexcept {
        add(last | (static_cast<std::uint64_t>(bytes) << 56));
        c_ ^= 0xff;
        round();
        round();
        round();
        return a_ ^ b_ ^ c_ ^ d_;
    }

private:
    constexpr void round() noexcept {
        a_ += b_;
        c_ += d_;
        b_ = std::rotl(b_, 13) ^ a_;
        d_ = std::rotl(d_, 16) ^ c_;
        a_ = std::rotl(a_, 32);
        c_ += b_;
        a_ += d_;
        b_ = std::rotl(b_, 17) ^ c_;
        d_ = std::rotl(d_, 21) ^ a_;
        c_ = std::rotl(c_, 32);
    }

    std::uint64_t a_;
    std::uint64_t b_;
    std::uint64_t c_;
    std::uint64_t d_;
};

inline std::uint64_t sip_hash(const void* data, std::size_t size, hash_seed seed) noexcept {
    sip_hasher hasher(seed);
    const auto* from = static_cast<const unsigned char*>(data);
    std::size_t left = size;
    for (; left >= 8; left -= 8, from += 8) {
        std::uint64_t word;
        std::memcpy(&word, from, 8);
        hasher.add(word);
    }
    std::uint64_t last = 0;
    std::memcpy(&last, from, left);
    return hasher.finish(last, size);
}

// The product of two numbers, its halves combined.
inline std::uint64_t fold(std::uint64_t left, std::uint64_t right) noexcept {
    __extension__ using wide = unsigned __int128;
    const wide product = static_cast<wide>(left) * right;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}
inline std::uint64_t fold_hash(std::uint64_t word, hash_seed seed) noexcept {
    return fold(fold(word ^ seed.first, seed.second | 1) ^ seed.second, 0x9e3779b97f4a7c15u);
}
inline std::uint64_t fold_hash(std::uint64_t first, std::uint64_t second, hash_seed seed) noexcept {
    return fold_hash(fold_hash(first, seed) ^ second, {seed.second, seed.first});
}

template <class Key>
concept hashed_as_text = std::convertible_to<const Key&, std::string_view>;
template <class Key>
concept hashed_as_bytes = !hashed_as_text<Key> && !std::is_pointer_v<Key> &&
                          std::has_unique_object_representations_v<Key>;
template <class Key>
concept hashed_by_std = requires(const Key& key) {
    { std::hash<Key>()(key) } -> std::convertible_to<std::size_t>;
};

}  // namespace detail

template <class Key>
struct seeded_hash {
    static_assert(detail::hashed_as_text<Key> || detail::hashed_as_bytes<Key> ||
                      detail::hashed_by_std<Key>,
                  "this key needs a hash: a class with "
                  "std::uint64_t operator()(const Key&, weir::hash_seed) const, "
                  "given as template argument");

    std::uint64_t operator()(const Key& key, hash_seed seed) const noexcept
        requires(!detail::hashed_as_text<Key>)
    {
        if constexpr (detail::hashed_as_bytes<Key> && sizeof(Key) <= 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, &key, sizeof key);
            return detail::fold_hash(word, seed);
        } else if constexpr (detail::hashed_as_bytes<Key> && sizeof(Key) <= 16) {
            std::uint64_t words[2] = {0, 0};
            std::memcpy(words, &key, sizeof key);
            return detail::fold_hash(words[0], words[1], seed);
        } else if constexpr (detail::hashed_as_bytes<Key>) {
            return detail::sip_hash(&key, sizeof key, seed);
        } else {
            return detail::fold_hash(std::hash<Key>()(key), seed);
        }
    }
    std::uint64_t operator()(std::string_view text, hash_seed seed) const noexcept
        requires(detail::hashed_as_text<Key>)
    {
        return detail::sip_hash(text.data(), text.size(), seed);
    }
};

}  // namespace weir
