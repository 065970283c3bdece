// SPDX-License-Identifier: MIT
// The handler 'exec': runs one of the programs that the configuration allows, by its name.
//
//     service::exec_commands commands;
//     commands.allow("thumbnail", {.command = {"/usr/local/bin/thumbnail", "--stdin"}});
//     tasks.handle("exec", [&](service::job& job) { return commands.run(job); });
//
//     {"kind": "exec", "payload": {"command": "thumbnail", "input": {"path": "a.png"}}}
//
// The program gets `input` as JSON on its standard input, and the task's id and attempt in the
// variables WEIR_TASK_ID and WEIR_ATTEMPT. No shell is involved. `arguments` of the task are
// appended only where the command allows them. Exit code 0 completes the task; its result is the
// output, as JSON if it is JSON. Any other exit code is a failure with the end of the program's
// standard error as message; 100 is a permanent failure, which is not retried. Stopping the task
// ends the program and its children: SIGTERM, then SIGKILL.
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
    std::string directory{};  // empty: the one of this process
    std::size_t max_output = 64 << 10;
};

// Must outlive the service.
class exec_commands {
public:
    // Throws invalid_argument if the name is empty or already allowed, or the command has no
    // program.
    exec_commands& allow(std::string name, allowed_command command);
    bool empty() const noexcept { return allowed_.empty(); }

    weir::task<boost::json::value> run(job& job) const;
    // Throws permanent_failure if the payload is invalid, so that it is refused at submit.
    void check(const boost::json::value& payload) const;

private:
    std::map<std::string, allowed_command, std::less<>> allowed_;
};

}  // namespace weir::service
