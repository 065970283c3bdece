// SPDX-License-Identifier: MIT
// The table under random use, against a plain map that never forgets.

#include <weir/flow/detail/time_table.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

using weir::hash_seed;
using weir::seeded_hash;
using weir::detail::time_table;

// Every key to the same page, or even the same slot.
struct bad_hash {
    std::uint64_t mask = 0;
    std::uint64_t operator()(std::uint64_t key, hash_seed) const noexcept { return key & mask; }
};

template <class Key, class Hash, class Make>
std::optional<std::string> disagreement(unsigned seed, Hash hash, Make make, int steps) {
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t end) { return random() % end; };
    const std::size_t max_keys = below(3) == 0 ? 1 + below(20) : 1 + below(1500);
    const std::size_t range = 1 + below(2000);
    time_table<Key, Hash> table(max_keys, hash_seed::fixed(seed), hash);
    std::map<Key, std::int64_t> model;
    std::int64_t now = 0;
    for (int step = 0; step < steps; ++step) {
        now += static_cast<std::int64_t>(below(3) + (below(400) == 0 ? 1000 : 0));
        const Key key = make(below(range));
        const std::int64_t until = now + 1 + static_cast<std::int64_t>(below(below(2) ? 50 : 900));
        const auto found = model.find(key);
        const bool is_busy = found != model.end() && found->second > now;
        const auto place = table.locate(key, table.hash(key), now);
        if (is_busy && (!place.is_found() || place.time() != found->second)) {
            return "lost a key that matters";
        }
        if (!is_busy && place.is_found() && place.time() > now) {
            return "invented a key";
        }
        if (place.is_found()) {
            table.change(place, until);
            model[key] = until;
        } else {
            const auto busy = static_cast<std::size_t>(std::count_if(
                model.begin(), model.end(), [now](auto& each) { return each.second > now; }));
            const bool is_in = table.put(place, key, table.hash(key), until, now);
            if (is_in != (busy < max_keys)) {
                return is_in ? "more keys than allowed" : "full before its time";
            }
            if (is_in) {
                model[key] = until;
            } else if (table.full_until() <= now) {
                return "full, but says that it is not";
            }
        }
        if (below(32) == 0) {
            table.tidy(now);
        }
        if (table.size() > max_keys) {
            return "more keys than allowed";
        }
        if (below(200) == 0) {
            table.tidy_all(now);
            std::erase_if(model, [now](auto& each) { return each.second <= now; });
            if (table.size() != model.size() || table.count_busy(now) != model.size()) {
                return "keeps what has passed after tidying all";
            }
        }
    }
    return std::nullopt;
}

TEST(TimeTable, AgreesWithAMapOnNumbers) {
    for (unsigned seed = 0; seed < 150; ++seed) {
        const auto wrong = disagreement<std::uint64_t>(
            seed, seeded_hash<std::uint64_t>(), [](std::size_t n) { return n; }, 1500);
        ASSERT_EQ(wrong, std::nullopt) << "seed " << seed;
    }
}

TEST(TimeTable, AgreesWithAMapOnStrings) {
    for (unsigned seed = 0; seed < 150; ++seed) {
        const auto wrong = disagreement<std::string>(
            seed, seeded_hash<std::string>(),
            [](std::size_t n) { return "a client with a long name, " + std::to_string(n); }, 1500);
        ASSERT_EQ(wrong, std::nullopt) << "seed " << seed;
    }
}

// Slow, but right, and the directory does not explode.
TEST(TimeTable, SurvivesABadHash) {
    for (const std::uint64_t mask : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
        for (unsigned seed = 0; seed < 8; ++seed) {
            const auto wrong = disagreement<std::uint64_t>(
                seed, bad_hash{mask}, [](std::size_t n) { return n; }, 1500);
            ASSERT_EQ(wrong, std::nullopt) << "seed " << seed << " mask " << mask;
        }
    }
    time_table<std::uint64_t, bad_hash> table(10'000, {}, bad_hash{7});
    for (std::uint64_t key = 0; key < 3000; ++key) {
        ASSERT_TRUE(table.put(table.locate(key, table.hash(key), 0), key, table.hash(key), 1, 0));
    }
    EXPECT_LT(table.bytes(), 3000u * 64);
}

template <class Key, class Make>
std::pair<double, std::size_t> fill(std::size_t keys, Make make) {
    time_table<Key, seeded_hash<Key>> table(keys, hash_seed::random());
    double most = 0;
    for (std::size_t i = 0; i < keys; ++i) {
        const Key key = make(i);
        const std::uint64_t hash = table.hash(key);
        EXPECT_TRUE(table.put(table.locate(key, hash, 0), key, hash, 1000, 0));
        if (i > keys / 4 && i % 512 == 0) {
            most = std::max(most, static_cast<double>(table.bytes()) / static_cast<double>(i + 1) -
                                      sizeof(Key));
        }
    }
    table.tidy_all(1000);
    return {most, table.bytes()};
}

// At any number of keys, not just behind a lucky doubling; and memory comes back.
TEST(TimeTable, BytesForEachKeyBeyondTheKey) {
    const auto [for_number, numbers_left] =
        fill<std::uint64_t>(1'000'000, [](std::size_t i) { return i; });
    EXPECT_LE(for_number, 64);
    EXPECT_LE(for_number, 24);
    EXPECT_LT(numbers_left, 300'000u);
    const auto [for_string, strings_left] =
        fill<std::string>(300'000, [](std::size_t i) { return std::to_string(i); });
    EXPECT_LE(for_string, 64);
    EXPECT_LT(strings_left, 300'000u);
}

// Keys that come and go: the table stays as large as the number that matters at a time.
TEST(TimeTable, ForgetsAsKeysCome) {
    time_table<std::uint64_t, seeded_hash<std::uint64_t>> table(1'000'000, hash_seed::random());
    std::size_t most = 0;
    for (std::int64_t now = 0; now < 500'000; ++now) {
        const auto key = static_cast<std::uint64_t>(now);
        const std::uint64_t hash = table.hash(key);
        ASSERT_TRUE(table.put(table.locate(key, hash, now), key, hash, now + 1000, now));
        most = std::max(most, table.size());
    }
    EXPECT_LT(most, 4000u);
    EXPECT_LT(table.bytes(), 200'000u);
}

}  // namespace
