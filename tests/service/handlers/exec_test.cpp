// SPDX-License-Identifier: MIT
// The handler 'exec' with real programs.

#include "support.hpp"
#include <support/io.hpp>

#include <weir/error.hpp>
#include <weir/service/handlers/exec.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using handlers_test::outcome_of;
using handlers_test::task_with;
namespace service = weir::service;

WEIR_IO_TEST(Exec, RunsWhatIsAllowed) {
    service::exec_commands commands;
    commands.allow("cat", {.command = {"/bin/cat"}})
        .allow("task", {.command = {"/bin/sh", "-c", "printf '%s %s' $WEIR_TASK_ID $WEIR_ATTEMPT"}})
        .allow("words", {.command = {"/bin/echo"}, .takes_arguments = true})
        .allow("fails", {.command = {"/bin/sh", "-c", "echo bad luck >&2; exit 3"}})
        .allow("in_vain", {.command = {"/bin/sh", "-c", "exit 100"}})
        .allow("large",
               {.command = {"/bin/sh", "-c", "head -c 100000 /dev/zero"}, .max_output = 1000})
        .allow("missing", {.command = {"/nowhere/to/be/found"}});
    auto run = [&](service::job& job) { return commands.run(job); };
    const std::vector<std::pair<const char*, std::string>> cases = {
        {R"({"command": "cat", "input": {"a": [1, "ä"]}})", R"({"output":{"a":[1,"ä"]}})"},
        {R"({"command": "cat"})", R"({"output":null})"},
        {R"({"command": "task"})", R"({"output":")" + task_with("").id.text() + R"( 1"})"},
        {R"({"command": "words", "arguments": ["$HOME; ls", "b"]})", R"({"output":"$HOME; ls b"})"},
        {R"({"command": "fails"})", "failed: exec: 'fails' exited with code 3: bad luck"},
        {R"({"command": "in_vain"})", "for good: exec: 'in_vain' exited with code 100"},
        {R"({"command": "large"})", "for good: exec: 'large' printed more than 1000 bytes"},
        {R"({"command": "cat", "arguments": ["/etc/passwd"]})",
         "for good: exec: the command 'cat' takes no arguments from tasks"},
        {R"({"command": "rm"})",
         "for good: exec: the command 'rm' is not allowed by the configuration"},
        {R"({"command": 1})",
         "for good: exec: the member command is unknown or has the wrong type; expected: command"
         " (a text), input, arguments (a list of texts)"},
    };
    for (const auto& [payload, expected] : cases) {
        const auto task = task_with(payload);
        const std::string outcome = co_await outcome_of(task, run);
        EXPECT_EQ(outcome, expected) << payload;
    }
    const auto missing = task_with(R"({"command": "missing"})");
    const std::string outcome = co_await outcome_of(missing, run);
    EXPECT_NE(outcome.find("/nowhere/to/be/found"), std::string::npos) << outcome;
    EXPECT_THROW(commands.allow("cat", {.command = {"/bin/cat"}}), weir::invalid_argument);
    EXPECT_THROW(commands.allow("none", {}), weir::invalid_argument);
}

WEIR_IO_TEST(Exec, StoppingEndsTheProgram) {
    service::exec_commands commands;
    commands.allow("long", {.command = {"/bin/sleep", "1000"}});
    const auto task = task_with(R"({"command": "long"})");
    auto run = [&]() -> weir::task<> {
        service::job job(task);
        co_await commands.run(job);
    };
    auto running = weir::spawn(run());
    co_await weir::sleep(20ms);
    running.cancel();
    co_await running.wait();  // and no child is left: the test counts descriptors
    EXPECT_TRUE(running.cancelled());
}
