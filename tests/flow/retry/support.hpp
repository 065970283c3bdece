// SPDX-License-Identifier: MIT
// Shared by the tests of retry, hedge and fallback.
#pragma once

#include "support/schedules.hpp"

#include <weir/flow/retry.hpp>
#include <weir/flow/retry_loop.hpp>
#include <weir/testing/testing.hpp>

#include <random>
#include <string>
#include <vector>

namespace retry_tests {

using namespace std::chrono_literals;
using weir::outcome;
using weir::outcome_view;
using weir::task;

struct flaky_error : std::runtime_error {
    flaky_error() : std::runtime_error("the connection was lost") {}
};
struct fatal_error : std::runtime_error {
    fatal_error() : std::runtime_error("no such page") {}
};

// Fails a number of times, then returns the number of the attempt. Records the times of its calls.
class flaky {
public:
    explicit flaky(int failures, weir::clock::duration takes = {})
        : failures_(failures), takes_(takes) {}

    task<int> operator()() {
        const int number = ++calls;
        begun.push_back(weir::now());
        if (takes_ > weir::clock::duration::zero()) {
            co_await weir::sleep(takes_);
        }
        if (number <= failures_) {
            throw flaky_error();
        }
        co_return number;
    }
    // Between the beginnings of attempts.
    std::vector<weir::clock::duration> gaps() const {
        std::vector<weir::clock::duration> found;
        for (std::size_t i = 1; i < begun.size(); ++i) {
            found.push_back(begun[i] - begun[i - 1]);
        }
        return found;
    }

    int calls = 0;
    std::vector<weir::clock::time_point> begun;

private:
    int failures_;
    weir::clock::duration takes_;
};

inline constexpr weir::backoff_options doubling = weir::exponential_backoff(1s, 60s);
using delays = std::vector<weir::clock::duration>;

inline void expect_always(const weir::testing::test_body& body, std::uint64_t count = 200) {
    schedules::expect_under(count, body);
}

}  // namespace retry_tests
