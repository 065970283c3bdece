// SPDX-License-Identifier: MIT
// The handler 'exec': runs one of the programs that the configuration allows, by its name.
//
//     service::exec_commands commands;
//     commands.allow("thumbnail", {.command = {"/usr/local/bin/thumbnail", "--stdin"}});
//     tasks.handle("exec", [&](service::job& job) { return commands.run(job); });
//
//     {"kind": "exec", "payload": {"command": "thumbnail", "input": {"path": "a.png"}}}
//
// The program gets `input` on its standard input, a text as it is and other JSON byte by byte as it
// was submitted, and the task's id and attempt in the variables WEIR_TASK_ID and WEIR_ATTEMPT. No
// shell is involved. `arguments` of the task are appended only where the command allows them.
//
// Exit code 0 completes the task; its result is {"output": ...}, the output as JSON if it is JSON,
// a text otherwise. Of an output longer than max_output the beginning is kept, with "truncated":
// true. Any other exit code is a failure with the end of the program's standard error as message;
// 100 is a permanent failure, which is not retried. Bytes that are not UTF-8 become U+FFFD.
//
// The program is contained (process.hpp): nothing that it starts outlives the run. Stopping the
// task sends SIGTERM, then SIGKILL, and the run ends when the last process has ended. A task whose
// former run crashed starts after what that left behind has been ended.
#pragma once

#include <weir/clock.hpp>
#include <weir/service/job.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace weir::service {

struct allowed_command {
    std::vector<std::string> command{};  // the program and its first arguments
    bool takes_arguments = false;
    std::string directory{};            // empty: the one of this process
    std::size_t max_output = 64 << 10;  // bytes that are kept, of output and errors each
    // The result is {"output": "...", "encoding": "base64"}, whatever the output is.
    bool is_binary = false;
    clock::duration grace = std::chrono::seconds(5);  // between SIGTERM and SIGKILL
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
