// SPDX-License-Identifier: MIT
// The whole service in worlds that follow from their seeds. WEIR_WORLD=n plays the world of seed n
// alone, WEIR_WORLDS=n so many worlds.

#include "plan.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace weir::service::testing {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
    const char* const text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

void expect_well(const plan& how) {
    const verdict result = play(how);
    if (result.is_failed()) {
        const plan small = shrink(how);
        const verdict again = play(small);
        ADD_FAILURE() << again.violation << "\nWEIR_WORLD=" << how.seed << " replays it; "
                      << describe(small) << "\n"
                      << again.last_events;
    }
}

// Each part plays every tenth seed, so that parts run beside each other.
constexpr std::uint64_t parts = 10;

class World : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(World, AllTasksEndWhateverHappens) {
    const std::uint64_t only = number_from("WEIR_WORLD", 0);
    const std::uint64_t count =
        number_from("WEIR_WORLDS", std::getenv("WEIR_STRESS") != nullptr ? 100'000 : 30);
    const std::uint64_t first = number_from("WEIR_FIRST_WORLD", 1);
    for (std::uint64_t seed = first + GetParam(); seed < first + count && !HasFailure();
         seed += parts) {
        if (only == 0) {
            expect_well(plan(seed));
        }
    }
    if (only != 0 && only % parts == (1 + GetParam()) % parts) {
        expect_well(plan(only));
    }
}

INSTANTIATE_TEST_SUITE_P(Part, World, ::testing::Range(std::uint64_t{0}, parts));

// The same seed is the same world, whatever was played before.
TEST(Worlds, FollowFromTheirSeeds) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const verdict once = play(plan(seed));
        const verdict again = play(plan(seed));
        EXPECT_EQ(once.fingerprint, again.fingerprint);
        EXPECT_GT(once.runs, 100U);
    }
}

// With WEIR_STRESS, a day.
TEST(Worlds, ManyNodesForLong) {
    plan day(number_from("WEIR_WORLD", 1));
    day.nodes = 50;
    day.trouble_time = std::getenv("WEIR_STRESS") != nullptr ? 24h : 5min;
    day.submit_every = 500ms;
    day.trouble_every = 5s;
    day.lease = 30s;
    day.poll = 5s;
    day.check_every = 60s;
    day.kept = 5min;
    const verdict result = play(day);
    EXPECT_FALSE(result.is_failed()) << result.violation << "\n" << result.last_events;
    std::printf("%llu tasks, %llu runs, %llu calls of the store\n",
                static_cast<unsigned long long>(result.tasks),
                static_cast<unsigned long long>(result.runs),
                static_cast<unsigned long long>(result.calls));
}

}  // namespace
}  // namespace weir::service::testing
