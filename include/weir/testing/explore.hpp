// SPDX-License-Identifier: MIT
// Schedule exploration as a function: runs a body under many orders of ready tasks and says
// whether, and under which, it failed. WEIR_TEST does the same under the control of the
// environment.
#pragma once

#include <weir/clock.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::testing {

// Called once for each schedule; each call must create the objects that its tasks share.
using test_body = std::function<task<void>()>;

struct explore_options {
    std::uint64_t schedules = 1000;
    std::uint64_t first_seed = 0;          // 0 is the ordinary schedule, first in, first out
    std::uint64_t most_steps = 1'000'000;  // a schedule that takes longer has failed: a livelock
    bool debug = false;  // the loop's debug mode: a task never awaited is a failure
};

struct exploration {
    bool failed = false;
    std::uint64_t seed = 0;  // of the schedule that failed
    std::uint64_t schedules_run = 0;
    std::vector<std::string>
        messages;  // failed expectations, a deadlock, tasks left running, reports
    std::vector<std::string>
        trace;  // of the schedule that failed: which task took each step, and notes
    // A second run with the same seed took other steps: the body depends on more than the schedule
    // (real time, addresses, state left over from an earlier run).
    bool reproducible = true;

    // All messages, for people.
    std::string text() const;
};

// Runs the body on a simulated loop under one schedule after another, and stops at the first that
// fails. GoogleTest's EXPECT_* and WEIR_ASSERT_* inside count, and are not passed on to the running
// test. A failing schedule is run once more, for its trace. Throws loop_error inside a running
// loop.
exploration explore(const test_body& body, const explore_options& options = {});

// Runs one schedule, with a trace.
exploration replay(const test_body& body, std::uint64_t seed, const explore_options& options = {});

// Adds a line to the trace of the running schedule; nothing outside one, or where none is kept.
void note(std::string_view line);

// For a test whose point is the order of tasks: from here on first in, first out, for every seed.
void in_ordinary_order();

// For a long test that no order of tasks can change: it is not repeated under other schedules.
void once_is_enough();

// The seed of the running schedule; 0 outside.
std::uint64_t current_seed() noexcept;

// Runs the body under the schedules that the environment asks for; failures go to the running test.
// WEIR_SCHEDULES=n: seeds 0 to n-1; WEIR_SEED=n: that one alone; WEIR_TRACE=1 prints each step.
void run_test(const test_body& body);

}  // namespace weir::testing
