// SPDX-License-Identifier: MIT
// The hash is SipHash-1-3, however a key is fed to it, and depends on the seed.

#include <weir/flow/seeded_hash.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace {

using weir::hash_seed;
using weir::seeded_hash;

TEST(SeededHash, KnownAnswers) {
    const seeded_hash<std::string> hash;
    EXPECT_EQ(hash("a", {}), 0x407448d2b89b1813u);
    EXPECT_EQ(hash("weir", {}), 0xafd841259e24ac48u);
    EXPECT_EQ(hash("12345678", {}), 0x3489982430560a87u);
    EXPECT_EQ(hash("the quick brown fox jumps", {}), 0x00c98b97e4f70042u);
}

TEST(SeededHash, LargePlainKeysAreHashedAsBytes) {
    struct address {
        std::array<char, 20> bytes;
    };
    const address from = {{"1234567890123456789"}};
    const hash_seed seed = hash_seed::fixed(3);
    EXPECT_EQ(seeded_hash<address>()(from, seed),
              seeded_hash<std::string>()(std::string(from.bytes.data(), 20), seed));
}

// Each bit of the key changes each bit of the hash half the time.
template <class Key, class Flip>
void expect_avalanche(int bits, Flip flip) {
    constexpr int trials = 4000;
    const seeded_hash<Key> hash;
    for (int bit = 0; bit < bits; ++bit) {
        std::array<int, 64> changed{};
        for (int trial = 0; trial < trials; ++trial) {
            const hash_seed seed = hash_seed::fixed(static_cast<std::uint64_t>(trial) + 1);
            const std::uint64_t difference =
                hash(flip(trial, -1), seed) ^ hash(flip(trial, bit), seed);
            for (std::size_t i = 0; i < 64; ++i) {
                changed[i] += static_cast<int>((difference >> i) & 1);
            }
        }
        for (const int times : changed) {
            EXPECT_NEAR(times, trials / 2, trials / 10) << "bit " << bit;
        }
    }
}

TEST(SeededHash, NumbersAreScattered) {
    expect_avalanche<std::uint64_t>(64, [](int trial, int bit) {
        const auto key = static_cast<std::uint64_t>(trial);
        return bit < 0 ? key : key ^ (std::uint64_t{1} << bit);
    });
    using pair = std::array<std::uint64_t, 2>;
    expect_avalanche<pair>(128, [](int trial, int bit) {
        pair key = {static_cast<std::uint64_t>(trial), 7};
        if (bit >= 0) {
            key[static_cast<std::size_t>(bit / 64)] ^= std::uint64_t{1} << (bit % 64);
        }
        return key;
    });
}

// Neighbours, multiples and powers spread over buckets as chance would have it.
TEST(SeededHash, PatternsAreSpread) {
    const seeded_hash<std::uint64_t> hash;
    for (const std::uint64_t factor : {std::uint64_t{1}, std::uint64_t{256}, std::uint64_t{1} << 32,
                                       std::uint64_t{0x9e3779b97f4a7c15u}}) {
        for (const int shift : {0, 22, 54}) {
            std::array<int, 1024> buckets{};
            for (std::uint64_t i = 0; i < 102'400; ++i) {
                ++buckets[(hash(i * factor, hash_seed::fixed(9)) >> shift) & 1023];
            }
            double deviation = 0;
            for (const int count : buckets) {
                deviation += (count - 100) * (count - 100) / 100.0;
            }
            EXPECT_NEAR(deviation, 1023, 300) << factor << " >> " << shift;
        }
    }
}

TEST(SeededHash, OtherTypesGoThroughStdHash) {
    const seeded_hash<double> hash;
    EXPECT_EQ(hash(0.0, hash_seed::fixed(1)), hash(-0.0, hash_seed::fixed(1)));
    EXPECT_NE(hash(1.0, hash_seed::fixed(1)), hash(2.0, hash_seed::fixed(1)));
}

TEST(SeededHash, DependsOnTheSeed) {
    const seeded_hash<int> hash;
    EXPECT_NE(hash(1, hash_seed::fixed(1)), hash(1, hash_seed::fixed(2)));
    EXPECT_NE(hash_seed::random(), hash_seed::random());
}

// Keys that collide under one seed are spread under another: what a stranger finds out about one
// process is worth nothing in the next.
TEST(SeededHash, CollisionsDoNotCarryOver) {
    const seeded_hash<int> hash;
    int collide = 0;
    int still = 0;
    for (int key = 0; collide < 200; ++key) {
        if (hash(key, hash_seed::fixed(1)) >> 56 == 7) {
            ++collide;
            still += hash(key, hash_seed::fixed(2)) >> 56 == 7 ? 1 : 0;
        }
    }
    EXPECT_LT(still, 10);
}

}  // namespace
