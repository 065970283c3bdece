// SPDX-License-Identifier: MIT
// The handler 'exec': runs a program that the configuration allows, by its name there.
//
//     service::exec_commands commands;
//     commands.allow("thumbnail", {.command = {"/usr/local/bin/thumbnail", "--stdin"}});
//     tasks.handle("exec", [&](service::job& job) { return commands.run(job); });
//
//     {"kind": "exec", "payload": {"command": "thumbnail", "input": {"path": "a.png"}}}
//
// The program gets `input` as JSON on its standard input, and the task's id and attempt as
// WEIR_TASK_ID and WEIR_ATTEMPT; no shell is between. Words of the task, `arguments`, are appended
// only where that was allowed. It completes the task by ending with 0: the result has what it
// printed, as JSON if it is. Any other end is a failure with the end of what it said on standard
// error; 100 means that trying again is in vain. Stopping the task ends the program and its
// children: SIGTERM, then SIGKILL.
#pragma once

#include <weir/service/job.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace weir::service {

struct allowed_command {
    std::vector<std::string> command{};  // the program and its first arguments
    bool takes_arguments = false;
    std::string directory{};  // empty: ours
    std::size_t max_output = 64 << 10;
};

// Must outlive the service.
class exec_commands {
public:
    // Throws invalid_argument for a name that is empty or known, and a command without a program.
    exec_commands& allow(std::string name, allowed_command what);
    bool empty() const noexcept { return allowed_.empty(); }

    weir::task<boost::json::value> run(job& what) const;
    // Throws permanent_failure if this is no payload for it: to refuse it when it is submitted.
    void check(const boost::json::value& payload) const;

private:
    std::map<std::string, allowed_command, std::less<>> allowed_;
};

}  // namespace weir::service
