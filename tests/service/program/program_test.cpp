// SPDX-License-Identifier: MIT
// The program on the command line: its output, its exit codes, and its end.

#include "support.hpp"

#include <weir/http/json.hpp>

#include <sys/stat.h>

#include <sstream>

namespace weir_test {
namespace {

TEST(Program, SubmitsShowsAndEnds) {
    serving here({"--drain", "0.1"});
    const program_output done = here.ask("submit", {"echo", R"({"a": 1})", "--wait"});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_TRUE(has(done.out, R"({"a":1})")) << done.out;
    const program_output failed =
        here.ask("submit", {"echo", R"({"fail": "no"})", "--attempts", "1", "-W"});
    EXPECT_EQ(failed.code, 3) << failed.err;
    EXPECT_TRUE(has(failed.out, "no"));
    const program_output unknown = here.ask("submit", {"nothing"});
    EXPECT_EQ(unknown.code, 1);
    EXPECT_TRUE(has(unknown.err, "known kinds: crawl echo")) << unknown.err;
    // Handlers that check their payload refuse an invalid one at submit.
    const program_output nowhere =
        here.ask("submit", {"http", R"({"url": "gopher://example.com"})"});
    EXPECT_EQ(nowhere.code, 1);
    EXPECT_TRUE(has(nowhere.err, "gopher")) << nowhere.err;

    const program_output output = here.ask("submit", {"sleep", "1000"});
    ASSERT_EQ(output.code, 0) << output.err;
    const std::string id = output.out.substr(0, output.out.find('\n'));
    const program_output shown = here.ask("status", {id});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_TRUE(has(shown.out, id)) << shown.out;
    const program_output queues = here.ask("status");
    EXPECT_TRUE(has(queues.out, "default")) << queues.out;
    const program_output tree = call({"ps", std::to_string(here.pid())});
    EXPECT_EQ(tree.code, 0) << tree.err;
    EXPECT_TRUE(has(tree.out, "service")) << tree.out;
    // With a task that runs: it is given back.
    EXPECT_EQ(here.end(), 0) << here.err();
    const program_output gone = here.ask("status");
    EXPECT_EQ(gone.code, 1);
    EXPECT_TRUE(has(gone.err, "weir serve")) << gone.err;
}

// What the service prints when it starts is typed as it stands, with a shorter task.
TEST(Program, TheCommandsOfTheGreetingWork) {
    serving here;
    std::string greeting = here.out();
    EXPECT_TRUE(has(greeting, "tasks are stored in " + (here.folder / "tasks.db").string()))
        << greeting;
    const std::size_t first = greeting.find("  curl");
    ASSERT_NE(first, std::string::npos) << greeting;
    std::string commands =
        "set -e\ncurl() { command curl --silent --fail \"$@\"; echo; }\n" + greeting.substr(first);
    int replaced = 0;
    for (std::size_t at = 0; (at = commands.find("\"seconds\": 5", at)) != std::string::npos;) {
        commands.replace(at, 12, "\"seconds\": 0");
        ++replaced;
    }
    EXPECT_EQ(replaced, 2) << commands;
    const weir::command_result typed = weir::run(run_program({"bash", "-c", commands}, {}));
    EXPECT_EQ(typed.status.code(), 0) << commands << typed.out << typed.err;
    EXPECT_TRUE(has(typed.out, R"("state":"pending")")) << typed.out;
    EXPECT_TRUE(has(typed.out, R"("slept":0)")) << typed.out;
    EXPECT_EQ(here.end(), 0) << here.err();
}

TEST(Program, WhatTasksSayDoesNotReachTheTerminalAsItIs) {
    serving here;
    const program_output failed = here.ask(
        "submit", {"echo", R"({"fail": "a\u001b[31mb\u009b31mc\nd"})", "--attempts", "1", "-W"});
    EXPECT_EQ(failed.code, 3);
    EXPECT_TRUE(has(failed.out, "a [31mb 31mc d")) << failed.out;
    const program_output done = here.ask("submit", {"echo", R"("\u009b31m")", "-W"});
    EXPECT_EQ(done.code, 0);
    EXPECT_TRUE(has(done.out, "\" 31m\"")) << done.out;
}

// The environment of the service counts, and not that of the client.
TEST(Program, TasksOfAServiceAreFoundWhereItKeepsItsSocket) {
    const temporary_folder runtime;
    serving here({}, {"XDG_RUNTIME_DIR=" + runtime.path().string()});
    program_output tree;
    for (int i = 0; i < 100 && tree.code != 0; ++i) {  // it listens a moment after its greeting
        tree = call({"ps", std::to_string(here.pid())}, {"XDG_RUNTIME_DIR=/nowhere"});
    }
    EXPECT_EQ(tree.code, 0) << tree.err;
    EXPECT_TRUE(has(tree.out, "service")) << tree.out;
    const program_output none = call({"ps", "1073741823"});
    EXPECT_EQ(none.code, 1);
    EXPECT_TRUE(has(none.err, "no process")) << none.err;
    const program_output other = call({"ps", std::to_string(::getpid())});
    EXPECT_EQ(other.code, 1);
    EXPECT_TRUE(has(other.err, "shows no tasks")) << other.err;
}

// The first signal lets runs end. The second stops them at once.
TEST(Program, ASecondSignalEndsItAtOnce) {
    serving here({"--drain", "1000"});
    const program_output output = here.ask("submit", {"sleep", "1000"});
    ASSERT_EQ(output.code, 0) << output.err;
    const auto runs = [&] {
        return has(here.ask("status", {output.out.substr(0, 13)}).out, "running");
    };
    here.wait_until(runs);  // otherwise no run would delay the end
    here.signal(SIGINT);
    here.wait_until([&] { return has(here.err(), "draining"); });
    const program_output still = here.ask("status", {output.out.substr(0, 13)});
    EXPECT_TRUE(has(still.out, "running") || still.code != 0) << still.out;
    here.signal(SIGINT);
    EXPECT_NE(here.wait(), 0);
    // The interrupted task is run again by the next service.
    serving next({"--drain", "0.1", "--database", here.folder / "tasks.db"});
    program_output again;
    for (int i = 0; i < 100 && !has(again.out, "running"); ++i) {
        again = next.ask("status", {output.out.substr(0, 13)});
    }
    EXPECT_TRUE(has(again.out, "running")) << again.out;
}

// With any content of tasks and names, each log entry is one line, and JSON stays valid.
TEST(Program, LogsAreLinesWhateverTasksHold) {
    for (const char* format : {"text", "json"}) {
        serving here({"--log-format", format, "--log-level", "debug", "--drain", "0.1",
                      "--allow-command", "a=/nowhere/\x1b[31m\xc2\x9b\xff\n{\"level\":"});
        here.ask("submit", {"echo", R"({"fail": "x\u001b[31m\n{}\u2028\u202e\u009b"})", "-W",
                            "--attempts", "1"});
        EXPECT_EQ(here.end(), 0);
        const std::string log = here.err();
        EXPECT_TRUE(has(log, "/nowhere/")) << log;
        EXPECT_FALSE(has(log, "\x1b[31m") || has(log, "\xc2\x9b") || has(log, "\xff")) << log;
        std::istringstream lines(log);
        for (std::string line; std::getline(lines, line);) {
            if (std::string_view(format) == "json") {
                EXPECT_NO_THROW(static_cast<void>(weir::http::parse_json(line))) << line;
            } else {
                EXPECT_TRUE(line.starts_with("20")) << line;  // the year
            }
        }
    }
}

TEST(Program, ATagTakesOneWord) {
    serving here;
    const program_output output = here.ask("submit", {"-t", "red", "-t", "blue", "echo", "1"});
    ASSERT_EQ(output.code, 0) << output.err;
    const program_output shown = here.ask("status", {output.out.substr(0, 13), "--json"});
    EXPECT_TRUE(has(shown.out, R"("tags":["red","blue"])")) << shown.out;
    const program_output list =
        here.ask("submit", {"echo", "[1, 2]", "-W"});  // one payload, not two words
    EXPECT_TRUE(has(list.out, "[1,2]")) << list.out << list.err;
}

TEST(Program, TokensOpenItAndStayWithIt) {
    const std::string token = "WEIR_TOKEN=a-token-that-nobody-guesses";
    serving here({"--allow-command", "show=/usr/bin/env"}, {token});
    const program_output refused = here.ask("status", {}, {"WEIR_TOKEN="});
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(has(refused.err, "--token-file")) << refused.err;
    // Programs run by tasks do not inherit the token of the service.
    const program_output shown =
        here.ask("submit", {"exec", R"({"command": "show"})", "-W"}, {token});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_TRUE(has(shown.out, "WEIR_TASK_ID=")) << shown.out;
    EXPECT_FALSE(has(shown.out, "nobody-guesses")) << shown.out;
    EXPECT_FALSE(has(here.err(), "nobody-guesses"));
}

TEST(Program, AnAddressInUseIsSaid) {
    serving here;
    for (const char* mode : {"--log-level=info", "--check"}) {
        const program_output refused = call({"serve", mode, "--listen", here.url.substr(7),
                                             "--database", here.folder / "other.db"});
        EXPECT_EQ(refused.code, 1);
        EXPECT_TRUE(has(refused.out + refused.err, "--listen")) << refused.err;
    }
    EXPECT_FALSE(std::filesystem::exists(here.folder / "other.db"));
    const std::string local = "unix:" + (here.folder / "socket").string();
    const temporary_folder folder;
    running_program other(folder, {WEIR_PROGRAM, "serve", "-l", local, "-d", folder / "a.db"});
    other.wait_until([&] { return has(other.out(), "curl --unix-socket"); });
    const program_output taken = call({"serve", "--check", "-l", local, "-d", folder / "b.db"});
    EXPECT_EQ(taken.code, 1) << taken.out;
    EXPECT_TRUE(has(taken.out, "another program has")) << taken.out;
    other.stop();  // and leaves its file
    EXPECT_EQ(call({"serve", "--check", "-l", local, "-d", folder / "b.db"}).code, 0);
}

// Payloads are as private as the files of the user.
TEST(Program, NobodyElseCanReadTheDatabase) {
    const serving here;
    for (const char* const name : {"tasks.db", "tasks.db-wal", "tasks.db-shm"}) {
        struct stat found{};
        ASSERT_EQ(::stat((here.folder / name).c_str(), &found), 0) << name;
        EXPECT_EQ(found.st_mode & 0777, 0600U) << name;
    }
}

TEST(Program, WatchesProgressInPlainLines) {
    serving here({"--drain", "0.1"});
    const temporary_folder folder;
    running_program watch(folder, {WEIR_PROGRAM, "watch", "--plain", "--server", here.url});
    const auto submit = [&] { here.ask("submit", {"sleep", R"({"seconds": 1})", "--wait"}); };
    submit();  // it may not be connected yet
    submit();
    watch.wait_until([&] { return has(watch.out(), "completed"); });
    EXPECT_TRUE(has(watch.out(), "running       0%  sleep") || has(watch.out(), "%  sleep"))
        << watch.out();
}

// Two services on one file: tasks that one has no worker for run on the other.
TEST(Program, TwoShareAFile) {
    serving first({"--workers", "1", "--drain", "0.1"});
    const program_output slow = first.ask("submit", {"sleep", "1000"});
    ASSERT_EQ(slow.code, 0) << slow.err;
    serving second({"--drain", "0.1", "--database", first.folder / "tasks.db"});
    const program_output done = first.ask("submit", {"echo", "1", "--wait"});  // the first is busy
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(first.end(), 0) << first.err();
    EXPECT_EQ(second.end(), 0) << second.err();
}

}  // namespace
}  // namespace weir_test
