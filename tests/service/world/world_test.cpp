// SPDX-License-Identifier: MIT
// The whole service in worlds that follow from their seeds. WEIR_WORLD=n plays the world of seed n
// alone, WEIR_STRESS=n so many worlds.

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

TEST(World, AllTasksEndWhateverHappens) {
    const char* const only = std::getenv("WEIR_WORLD");
    const std::uint64_t first = number_from("WEIR_WORLD", 1);
    std::uint64_t count = number_from("WEIR_STRESS", 30);
    count = only != nullptr ? 1 : count == 1 ? 5000 : count;
    for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
        expect_well(plan(seed));
    }
}

// The same seed is the same world, whatever was played before.
TEST(World, FollowsFromItsSeed) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const verdict once = play(plan(seed));
        const verdict again = play(plan(seed));
        EXPECT_EQ(once.fingerprint, again.fingerprint);
        EXPECT_GT(once.runs, 100U);
    }
}

// With WEIR_STRESS, a day.
TEST(World, ManyNodesForLong) {
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
