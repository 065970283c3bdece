// SPDX-License-Identifier: MIT
// What the tests of the primitives share: exploration as one expectation, and random choices drawn
// from the seed of the running schedule.
#pragma once

#include "support/schedules.hpp"

#include <weir/testing/testing.hpp>

#include <random>
#include <vector>

namespace sync_tests {

using namespace std::chrono_literals;
using weir::handle;
using weir::task;
using weir::testing::settle_all;

// The body must hold under so many schedules.
inline void expect_always(const weir::testing::test_body& body, std::uint64_t count = 300) {
    schedules::expect_under(count, body);
}

class dice {
public:
    dice() : random_(weir::testing::current_seed() * 7919 + 1) {}
    int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
    bool one_in(int count) { return below(count) == 0; }
    std::chrono::milliseconds milliseconds_below(int end) {
        return std::chrono::milliseconds(below(end));
    }

private:
    std::mt19937 random_;
};

// A little time: none, a turn of the loop, or some milliseconds.
inline task<> pause(dice& random) {
    const int choice = random.below(4);
    if (choice == 1) {
        co_await weir::yield();
    } else if (choice > 1) {
        co_await weir::sleep(random.milliseconds_below(3));
    }
}

// Runs the work as a task of its own until it ends by itself; a cancelled attempt is made again.
template <class Work>
task<> until_done(handle<void>& attempt, Work& work) {
    bool is_done = false;
    while (!is_done) {
        attempt = weir::spawn(work());
        co_await attempt.wait();
        is_done = !attempt.cancelled();
    }
    co_await attempt;  // its error, if any
}

// Cancels attempts at random.
inline task<> chaos(dice& random, std::vector<handle<void>>& attempts, int times) {
    for (int i = 0; i < times; ++i) {
        co_await pause(random);
        handle<void>& victim =
            attempts[static_cast<std::size_t>(random.below(static_cast<int>(attempts.size())))];
        if (victim) {
            victim.cancel();
        }
    }
}

struct counted {
    int& count;
    explicit counted(int& of) : count(of) { ++count; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --count; }
};

}  // namespace sync_tests
