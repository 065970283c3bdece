// SPDX-License-Identifier: MIT
// The hash is SipHash-1-3, whatever the way a key is fed to it, and depends on the seed.

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

TEST(SeededHash, PlainKeysAreHashedAsBytes) {
    const std::array<unsigned char, 4> address = {10, 0, 0, 1};
    const hash_seed seed = hash_seed::fixed(3);
    EXPECT_EQ(seeded_hash<decltype(address)>()(address, seed),
              seeded_hash<std::string>()(std::string("\x0a\0\0\x01", 4), seed));
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
