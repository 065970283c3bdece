// SPDX-License-Identifier: MIT
// Faults at every I/O point: a body is run again and again, and in each run another read, write,
// accept, connect, query or timer fails or is cut short, until all have been tried.
//
//     TEST(Client, SurvivesEveryFault) {
//         weir::testing::expect_no_fault_breaks([]() -> weir::task<> {
//             weir::testing::simulated_network net;
//             ...                                  // a whole exchange, with its expectations
//         });
//     }
//
// The body must hold in every run: its expectations, and whatever a test of this kit checks (no
// deadlock, no task left, no report that was not expected). In a run with a fault it may end by an
// exception, since the fault has to go somewhere, but not by one of the kind that says the program
// is wrong (weir::misuse, std::logic_error). injected_fault() tells the body what was done, for
// expectations that only hold without it.
//
// Points are those of the simulated network and of real sockets, datagrams, pipes, files and
// standard input, of sleeps and timeouts, and of the databases' queries.
#pragma once

#include <weir/base/fault_point.hpp>
#include <weir/clock.hpp>
#include <weir/loop.hpp>
#include <weir/testing/explore.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::testing {

enum class fault_kind : unsigned char {
    error,      // the connection is reset, the connect refused, the accept or query fails
    cut_short,  // a read gets one byte; a write is cut off in the middle by a reset; a timer rings now
    stop,       // the task is cancelled at this point
};

struct fault_options {
    bool errors = true;
    bool cuts = true;
    bool stops = true;
    std::vector<io_point> only{};       // empty: all points
    std::uint64_t schedules = 1;        // orders of ready tasks, each with all faults
    std::uint64_t most_points = 10000;  // a body that has more of them has failed
    std::uint64_t most_steps = 1'000'000;
    // Set: the body runs on a loop with this driver and the real clock, in the ordinary order, so
    // that it may use real sockets; a run that takes longer has failed. Stops only reach the
    // simulated network.
    std::optional<driver_kind> driver{};
    clock::duration most_time = std::chrono::seconds(10);
};

struct injected {
    fault_kind kind = fault_kind::error;
    io_point at = io_point::read;
    std::uint64_t number = 0;  // of the point in its run, from 1
    std::string name;          // 'read', 'connect to server:80'

    std::string text() const;  // 'point 7 (read): error'
};

struct fault_exploration {
    bool failed = false;
    std::optional<injected> fault;  // of the run that failed; none: the body fails without one
    std::uint64_t seed = 0;         // its schedule
    std::uint64_t runs = 0;
    std::uint64_t points = 0;  // of a run without a fault
    std::vector<std::string> messages;

    std::string text() const;
};

// Stops at the first run that fails. Throws loop_error inside a running loop.
fault_exploration explore_faults(const test_body& body, const fault_options& options = {});

// The same as one expectation of the running test. Returns the number of runs.
std::uint64_t expect_no_fault_breaks(const test_body& body, const fault_options& options = {});

// What this run has injected so far.
std::optional<injected> injected_fault();

}  // namespace weir::testing
