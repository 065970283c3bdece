// SPDX-License-Identifier: MIT
// Shared by the tests of the primitives: exploration as one expectation, and random choices drawn
// from the seed of the running schedule.
#pragma once

#include "support/schedules.hpp"

#include <weir/testing/testing.hpp>

#include <algorithm>
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

// A short time: none, a turn of the loop, or some milliseconds.
inline task<> pause(dice& random) {
    const int choice = random.below(4);
    if (choice == 1) {
        co_await weir::yield();
    } else if (choice > 1) {
        co_await weir::sleep(random.milliseconds_below(3));
    }
}

// Runs the work as a task of its own until it ends without being cancelled; a cancelled attempt is
// repeated.
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

// Bursts of grants and cancels in one step, then rest: no resource may be free while a task waits
// for it. One-shot waiters, some of which are cancelled; they do not retry, so that no later call
// compensates for a lost grant.
class crowd {
public:
    template <class Start>
    void refill(std::size_t wanted, Start start) {
        std::erase_if(members_, [](const handle<void>& each) { return each.done(); });
        while (members_.size() < wanted) {
            members_.push_back(start());
        }
    }
    // Several at once, preferably among the longest-waiting tasks, which are granted first.
    void cancel_some(dice& random) {
        for (int i = random.below(4); i > 0 && !members_.empty(); --i) {
            const int among = std::min<int>(static_cast<int>(members_.size()), 4);
            members_[static_cast<std::size_t>(random.below(among))].cancel();
        }
    }
    std::size_t waiting() const {
        return static_cast<std::size_t>(std::count_if(
            members_.begin(), members_.end(), [](const auto& each) { return !each.done(); }));
    }
    task<> end() {
        for (auto& each : members_) {
            each.cancel();
            co_await each.wait();
        }
    }

private:
    std::vector<handle<void>> members_;
};

inline constexpr int bursts = 25;

// How each of some tasks ended.
struct endings {
    int well = 0;
    int invalid = 0;
};

template <class Wait>
task<> ended(endings& count, Wait wait) {
    try {
        co_await wait();
        ++count.well;
    } catch (const weir::invalid_state&) {
        ++count.invalid;
    }
}

}  // namespace sync_tests
