// SPDX-License-Identifier: MIT
// Random valid requests, several on one connection, written in random ways and cut at random
// places: what is read is what was meant.

#include "parse.hpp"
#include "random_requests.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace random_requests;
using weir::test::parse_all;
using weir::test::parse_pieces;
using weir::test::parse_result;
using weir::test::parsed_request;

void expect_same(const parsed_request& read, const model& meant) {
    EXPECT_EQ(read.head.method_name, meant.method);
    EXPECT_EQ(read.head.method, weir::http::method_of(meant.method));
    EXPECT_EQ(read.head.target, meant.target);
    EXPECT_EQ(read.head.minor_version, meant.minor_version);
    EXPECT_EQ(read.head.keep_alive, meant.keep_alive);
    EXPECT_EQ(read.head.is_chunked, meant.is_chunked);
    EXPECT_EQ(read.head.content_length.has_value(), meant.has_length);
    if (meant.has_length) {
        EXPECT_EQ(read.head.content_length, meant.body.size());
    }
    // An absolute target brings HTTP/1.0 the Host that it may lack.
    ASSERT_GE(read.head.fields.size(), meant.fields.size());
    ASSERT_LE(read.head.fields.size(), meant.fields.size() + 1);
    for (std::size_t i = 0; i < meant.fields.size(); ++i) {
        EXPECT_EQ(read.head.fields[i].name, meant.fields[i].first);
        EXPECT_EQ(read.head.fields[i].value, meant.fields[i].second);
    }
    EXPECT_EQ(read.body, meant.body);
}

TEST(RequestRandom, ReadsWhatWasMeantHoweverItIsCut) {
    for (std::uint64_t seed = 1; seed <= 400 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        dice random(seed);
        std::vector<model> meant;
        std::string text;
        for (std::size_t count = 1 + random.below(4); count != 0; --count) {
            meant.push_back(random_request(random));
            text += written(random, meant.back());
        }
        const std::size_t most_piece = 1 + random.below(random.one_in(2) ? 10 : 1000);
        const std::size_t most_room = 1 + random.below(random.one_in(2) ? 10 : 1000);
        const parse_result result = parse_pieces(
            text, {}, [&] { return 1 + random.below(most_piece); },
            [&] { return 1 + random.below(most_room); });
        ASSERT_EQ(result.status, 0u) << result.detail << "\n" << ::testing::PrintToString(text);
        ASSERT_EQ(result.requests.size(), meant.size());
        EXPECT_EQ(result.used, text.size());
        for (std::size_t i = 0; i < meant.size(); ++i) {
            expect_same(result.requests[i], meant[i]);
        }
    }
}

// One byte changed, dropped or doubled: the result may differ, but does not depend on the cuts.
TEST(RequestRandom, DamageIsJudgedTheSameHoweverItIsCut) {
    std::size_t refused = 0;
    for (std::uint64_t seed = 1; seed <= 800 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        dice random(seed);
        std::string text = written(random, random_request(random));
        text += written(random, random_request(random));
        damage(random, text);
        const parse_result whole = parse_all(text);
        const parse_result pieces = parse_pieces(
            text, {}, [&] { return 1 + random.below(20); }, [&] { return 1 + random.below(20); });
        refused += whole.status != 0;
        EXPECT_EQ(whole.status, pieces.status);
        EXPECT_EQ(whole.detail, pieces.detail);
        EXPECT_EQ(whole.wants_more, pieces.wants_more);
        EXPECT_EQ(whole.used, pieces.used);
        ASSERT_EQ(whole.requests.size(), pieces.requests.size());
        for (std::size_t i = 0; i < whole.requests.size(); ++i) {
            EXPECT_EQ(whole.requests[i].head.target, pieces.requests[i].head.target);
            EXPECT_EQ(whole.requests[i].body, pieces.requests[i].body);
        }
    }
    EXPECT_GT(refused, 100u);  // the damage is damage
}

}  // namespace
