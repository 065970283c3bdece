// SPDX-License-Identifier: MIT
// Shared by the tests of bulkheads and adaptive limits.
#pragma once

#include "support/schedules.hpp"

#include <weir/flow/bulkhead.hpp>
#include <weir/group.hpp>
#include <weir/testing/testing.hpp>
#include <weir/timeout.hpp>

#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace flow_bulkhead {

using namespace std::chrono_literals;
using weir::admission;
using weir::bulkhead;
using weir::handle;
using weir::outcome;
using weir::priority;
using weir::refusal_reason;
using weir::task;
using weir::testing::advance;
using weir::testing::settle_all;
using permit = bulkhead::permit;

inline void expect_always(const weir::testing::test_body& body, std::uint64_t count = 1000) {
    schedules::expect_under(count, body);
}

class dice {
public:
    dice() : random_(static_cast<unsigned>(weir::testing::current_seed()) * 7919 + 1) {}
    explicit dice(unsigned seed) : random_(seed) {}
    unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }
    bool one_in(unsigned count) { return below(count) == 0; }
    std::chrono::milliseconds milliseconds_below(unsigned end) {
        return std::chrono::milliseconds(below(end));
    }

private:
    std::mt19937 random_;
};

// Asks, notes in `order` that it got in, and holds its places for a while.
inline task<> hold(bulkhead& from, std::string& order, char name, weir::clock::duration time,
                   std::size_t weight = 1, priority level = priority::normal) {
    auto waiting = from.acquire(weight, level);
    const permit held = co_await std::move(waiting);
    order += name;
    co_await weir::sleep(time);
}

}  // namespace flow_bulkhead
