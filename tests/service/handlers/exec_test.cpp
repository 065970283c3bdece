// SPDX-License-Identifier: MIT
// The handler 'exec' with real programs.

#include "support.hpp"
#include <support/io.hpp>

#include <weir/error.hpp>
#include <weir/io/pipe.hpp>
#include <weir/service/handlers/exec.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
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
        .allow("trace", {.command = {"/bin/sh", "-c", "echo $TRACEPARENT $TRACESTATE"}})
        .allow("words", {.command = {"/bin/echo"}, .takes_arguments = true})
        .allow("fails", {.command = {"/bin/sh", "-c", "echo bad luck >&2; exit 3"}})
        .allow("in_vain", {.command = {"/bin/sh", "-c", "exit 100"}})
        .allow("missing", {.command = {"/nowhere/to/be/found"}});
    auto run = [&](service::job& job) { return commands.run(job); };
    const std::vector<std::pair<const char*, std::string>> cases = {
        {R"({"command": "cat", "input": {"a": [1.10, "ä"]}})", R"({"output":{"a": [1.10, "ä"]}})"},
        {R"({"command": "cat", "input": "a \"text\"\n"})", R"({"output":"a \"text\""})"},
        {R"({"command": "cat"})", R"({"output":null})"},
        {R"({"command": "task"})", R"({"output":")" + task_with("").id.text() + R"( 1"})"},
        {R"({"command": "words", "arguments": ["$HOME; ls", "b"]})", R"({"output":"$HOME; ls b"})"},
        {R"({"command": "fails"})", "failed: exec: 'fails' exited with code 3: bad luck"},
        {R"({"command": "in_vain"})", "for good: exec: 'in_vain' exited with code 100"},
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
    auto traced = task_with(R"({"command": "trace"})");
    traced.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    traced.tracestate = "a=b";
    const std::string trace = co_await outcome_of(traced, run);
    EXPECT_EQ(trace, R"({"output":")" + traced.traceparent + R"( a=b"})");
    traced.traceparent = "";
    const std::string no_trace = co_await outcome_of(traced, run);
    EXPECT_EQ(no_trace, R"({"output":null})");
    const auto missing = task_with(R"({"command": "missing"})");
    const std::string outcome = co_await outcome_of(missing, run);
    EXPECT_NE(outcome.find("/nowhere/to/be/found"), std::string::npos) << outcome;
    EXPECT_THROW(commands.allow("cat", {.command = {"/bin/cat"}}), weir::invalid_argument);
    EXPECT_THROW(commands.allow("none", {}), weir::invalid_argument);
}

// Its work is done: the exit code decides.
WEIR_IO_TEST(Exec, ALongOutputIsCutAndMarked) {
    service::exec_commands commands;
    const auto shell = [](const char* script, std::size_t limit = 10) {
        return service::allowed_command{.command = {"/bin/sh", "-c", script}, .max_output = limit};
    };
    commands.allow("digits", shell("printf 123456789012345; exit 0"))
        .allow("fits", shell("printf 1234567890"))
        .allow("errors", shell("head -c 1000000 /dev/zero >&2; exit 0"))
        .allow("fails",
               shell("head -c 1000000 /dev/zero; printf 'beginning%s' _the_end. >&2; exit 4"))
        .allow("many", shell("head -c 10000000 /dev/zero | tr '\\0' x", 64 << 10));
    auto run = [&](service::job& job) { return commands.run(job); };
    const std::vector<std::pair<const char*, std::string>> cases = {
        {"digits", R"({"output":"1234567890","truncated":true})"},
        {"fits", R"({"output":1234567890})"},
        {"errors", R"({"output":null})"},
        {"fails", "failed: exec: 'fails' exited with code 4: g_the_end."},
        {"many", R"({"output":")" + std::string(64 << 10, 'x') + R"(","truncated":true})"},
    };
    for (const auto& [name, expected] : cases) {
        const auto task = task_with(std::string(R"({"command":")") + name + "\"}");
        const std::string outcome = co_await outcome_of(task, run);
        EXPECT_EQ(outcome, expected) << name;
    }
}

// Replaced, never dropped.
WEIR_IO_TEST(Exec, BytesThatAreNoUtf8AreReplaced) {
    service::exec_commands commands;
    const auto shell = [](const char* script) {
        return service::allowed_command{.command = {"/bin/sh", "-c", script}};
    };
    commands.allow("output", shell(R"(printf 'a\377b')"))
        .allow("error", shell(R"(printf 'bad \377\000 luck' >&2; exit 3)"))
        .allow("cut", shell(R"(printf '\303\244%0499d' 7 >&2; exit 3)"))
        .allow("binary",
               {.command = {"/bin/sh", "-c", R"(printf '\377\000\n')"}, .is_binary = true});
    auto run = [&](service::job& job) { return commands.run(job); };
    const std::vector<std::pair<const char*, std::string>> cases = {
        {"output", R"({"output":"a\ufffdb"})"},
        {"error", "failed: exec: 'error' exited with code 3: bad \ufffd\ufffd luck"},
        {"cut", "failed: exec: 'cut' exited with code 3: " + std::string(498, '0') + "7"},
        {"binary", R"({"output":"/wAK","encoding":"base64"})"},
    };
    for (const auto& [name, expected] : cases) {
        const auto task = task_with(std::string(R"({"command":")") + name + "\"}");
        const std::string outcome = co_await outcome_of(task, run);
        EXPECT_EQ(outcome, expected) << name;
    }
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

// A daemon that ignores SIGTERM holds the pipe: its end is the end of all processes.
WEIR_IO_TEST(Exec, NothingOutlivesTheRun) {
    service::exec_commands commands;
    auto held = weir::io::make_pipe();
    const std::string open = "exec 9>/proc/" + std::to_string(::getpid()) + "/fd/" +
                             std::to_string(held.writer.fd()) + "; ";
    const std::string daemon = "(setsid sh -c 'trap \"\" TERM; sleep 1000; sleep 1000' &)";
    commands
        .allow("ends", {.command = {"/bin/sh", "-c", open + daemon + "; echo done"}, .grace = 20ms})
        .allow("stays",
               {.command = {"/bin/sh", "-c", open + daemon + "; sleep 1000"}, .grace = 20ms});
    auto run = [&](service::job& job) { return commands.run(job); };
    const auto ends = task_with(R"({"command": "ends"})");
    const std::string outcome = co_await outcome_of(ends, run);
    EXPECT_EQ(outcome, R"({"output":"done"})");
    const auto stays = task_with(R"({"command": "stays"})");
    auto running = weir::spawn(outcome_of(stays, run));
    co_await weir::sleep(50ms);
    running.cancel();
    co_await running.wait();
    held.writer.close();
    std::array<char, 10> none;
    const std::size_t count = co_await weir::timeout(5s, held.reader.read(none));
    EXPECT_EQ(count, 0u);
}
