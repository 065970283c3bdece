// SPDX-License-Identifier: MIT
// weir ps: requests the task tree of a process over its inspection socket.

#include "program/command_line/commands.hpp"
#include "program/output/program_name.hpp"
#include "program/output/text.hpp"

#include <weir/io/error.hpp>
#include <weir/io/inspect.hpp>
#include <weir/run.hpp>
#include <weir/timeout.hpp>

#include <chrono>
#include <cstdio>
#include <sstream>
#include <string>

namespace weir::program {

namespace {

task<int> show_tasks(int pid) {
    try {
        const std::string tree = co_await timeout(std::chrono::seconds(10), io::inspect(pid));
        std::istringstream lines(tree);
        for (std::string line; std::getline(lines, line);) {
            std::puts(shown(line).c_str());
        }
        co_return 0;
    } catch (const timed_out&) {
        print_error("process " + std::to_string(pid) + " does not answer: its loop is blocked");
    } catch (const io_error& error) {
        print_error(error.what());
    }
    co_return 1;
}

}  // namespace

void add_options(options& to, ps_settings& settings) {
    to.number({"pid", "PID", "Process id", "", false, true}, settings.pid, 1, 1 << 30);
}

int run_ps(const ps_settings& settings) {
    return weir::run(show_tasks(settings.pid));
}

}  // namespace weir::program
