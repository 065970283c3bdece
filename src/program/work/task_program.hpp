// SPDX-License-Identifier: MIT
// Runs the program of `weir work` for one task: the payload on its standard input, the result from
// its standard output.
#pragma once

#include <weir/clock.hpp>
#include <weir/io/process.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::program {

// A task as the service gives it.
struct given_task {
    given_task() = default;

    std::string id;
    std::uint32_t run = 0;
    std::string kind;
    std::string queue;
    std::string payload;  // JSON, as it was submitted
    unsigned attempt = 1;
    clock::duration left{};  // until its timeout
    std::string traceparent;
};

struct task_program {
    std::vector<std::string> words{};  // the program and its arguments
    // Lines 'progress 0.5 MESSAGE' of its standard error are reports, and no part of an error.
    bool reports_progress = false;
    std::size_t max_output = 1 << 20;  // a longer result is a failure
    clock::duration grace = std::chrono::seconds(5);
};

struct program_end {
    exit_status status;
    std::string out;
    std::string err;  // its end
    bool out_is_cut = false;
};

using progress_report = std::function<void(double fraction, std::string_view message)>;

// Stopping it ends the program with all that it has started. Throws io_error if the program cannot
// be started.
task<program_end> run_task_program(const task_program& program, const given_task& task,
                                   progress_report report);

// The members of a result, as JSON: '"outcome":"completed","result":...'.
std::string outcome_members(const program_end& ended, std::size_t max_output);
// The same for one that has failed in another way.
std::string failure_members(std::string_view error, bool is_permanent = false);

// Whether a line is a report of progress; if so, sets what it reports.
bool read_progress_line(std::string_view line, double& fraction, std::string_view& message);

}  // namespace weir::program
