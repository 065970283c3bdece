// SPDX-License-Identifier: MIT
// Shared by the tests of the circuit breaker: calls that succeed, fail, and take time.
#pragma once

#include <weir/flow/circuit_breaker.hpp>
#include <weir/sync/event.hpp>
#include <weir/sync/semaphore.hpp>
#include <weir/testing/testing.hpp>

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace flow_breaker {

using namespace std::chrono_literals;
using weir::circuit_breaker;
using weir::circuit_breaker_options;
using weir::circuit_state;
using weir::handle;
using weir::outcome;
using weir::refusal_reason;
using weir::task;
using weir::testing::advance;
using weir::testing::settle_all;

struct unavailable : std::runtime_error {
    unavailable() : std::runtime_error("unavailable") {}
};

inline task<int> succeed() {
    co_return 1;
}
inline task<int> fail() {
    throw unavailable();
    co_return 0;
}
inline task<int> succeed_after(weir::clock::duration time) {
    co_await weir::sleep(time);
    co_return 1;
}
inline task<int> fail_after(weir::clock::duration time) {
    co_await weir::sleep(time);
    throw unavailable();
}

// One call with a given result.
inline task<> succeed_through(circuit_breaker& breaker) {
    const outcome<int> ended = co_await breaker.settle(succeed);
    EXPECT_TRUE(ended.has_value());
}
inline task<> fail_through(circuit_breaker& breaker, int times = 1) {
    for (; times > 0; --times) {
        const outcome<int> ended = co_await breaker.settle(fail);
        EXPECT_TRUE(ended.has_error());
    }
}
inline task<bool> is_refused(circuit_breaker& breaker) {
    const outcome<int> ended = co_await breaker.settle(succeed);
    co_return ended.is_refused();
}

// A call in a task of its own.
template <class Fn>
task<outcome<int>> settle_owned(circuit_breaker& breaker, Fn fn) {
    co_return co_await breaker.settle(fn);
}
template <class Fn>
handle<outcome<int>> start_call(circuit_breaker& breaker, Fn fn) {
    return weir::spawn(settle_owned(breaker, fn));
}

// A breaker that has just become half-open.
inline task<> make_half_open(circuit_breaker& breaker) {
    breaker.trip();
    co_await weir::sleep(breaker.open_time_left());
    EXPECT_EQ(breaker.state(), circuit_state::half_open);
}

}  // namespace flow_breaker
