// SPDX-License-Identifier: MIT
// The program as it is called: what it prints, what it answers to its caller, and how it ends.

#include "support.hpp"

#include <weir/http/json.hpp>

#include <sstream>

namespace weir_test {
namespace {

TEST(Program, SubmitsShowsAndEnds) {
    serving here({"--drain", "0.1"});
    const said done = here.ask("submit", {"echo", R"({"a": 1})", "--wait"});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_TRUE(has(done.out, R"({"a":1})")) << done.out;
    const said failed = here.ask("submit", {"echo", R"({"fail": "no"})", "--attempts", "1", "-W"});
    EXPECT_EQ(failed.code, 3) << failed.err;
    EXPECT_TRUE(has(failed.out, "no"));
    const said unknown = here.ask("submit", {"nothing"});
    EXPECT_EQ(unknown.code, 1);
    EXPECT_TRUE(has(unknown.err, "there are: echo")) << unknown.err;
    // Handlers that know what they take say so before there is a task.
    const said nowhere = here.ask("submit", {"http", R"({"url": "gopher://example.com"})"});
    EXPECT_EQ(nowhere.code, 1);
    EXPECT_TRUE(has(nowhere.err, "gopher")) << nowhere.err;

    const said given = here.ask("submit", {"sleep", "1000"});
    ASSERT_EQ(given.code, 0) << given.err;
    const std::string id = given.out.substr(0, given.out.find('\n'));
    const said shown = here.ask("status", {id});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_TRUE(has(shown.out, id)) << shown.out;
    const said queues = here.ask("status");
    EXPECT_TRUE(has(queues.out, "default")) << queues.out;
    const said tree = call({"ps", std::to_string(here.pid())});
    EXPECT_EQ(tree.code, 0) << tree.err;
    EXPECT_TRUE(has(tree.out, "service")) << tree.out;
    // With a task that runs: it is given back.
    EXPECT_EQ(here.end(), 0) << here.err();
    const said gone = here.ask("status");
    EXPECT_EQ(gone.code, 1);
    EXPECT_TRUE(has(gone.err, "weir serve")) << gone.err;
}

TEST(Program, WhatTasksSayDoesNotReachTheTerminalAsItIs) {
    serving here;
    const said failed = here.ask(
        "submit", {"echo", R"({"fail": "a\u001b[31mb\u009b31mc\nd"})", "--attempts", "1", "-W"});
    EXPECT_EQ(failed.code, 3);
    EXPECT_TRUE(has(failed.out, "a [31mb 31mc d")) << failed.out;
    const said done = here.ask("submit", {"echo", R"("\u009b31m")", "-W"});
    EXPECT_EQ(done.code, 0);
    EXPECT_TRUE(has(done.out, "\" 31m\"")) << done.out;
}

// Whatever the environment of who asks: that of the service counts.
TEST(Program, TasksOfAServiceAreFoundWhereItKeepsItsSocket) {
    const temporary_folder runtime;
    serving here({}, {"XDG_RUNTIME_DIR=" + runtime.path().string()});
    said tree;
    for (int i = 0; i < 100 && tree.code != 0; ++i) {  // it listens a moment after its greeting
        tree = call({"ps", std::to_string(here.pid())}, {"XDG_RUNTIME_DIR=/nowhere"});
    }
    EXPECT_EQ(tree.code, 0) << tree.err;
    EXPECT_TRUE(has(tree.out, "service")) << tree.out;
    const said none = call({"ps", "1073741823"});
    EXPECT_EQ(none.code, 1);
    EXPECT_TRUE(has(none.err, "no process")) << none.err;
    const said other = call({"ps", std::to_string(::getpid())});
    EXPECT_EQ(other.code, 1);
    EXPECT_TRUE(has(other.err, "shows no tasks")) << other.err;
}

// Once: what runs may end. Twice: at once.
TEST(Program, ASecondSignalEndsItAtOnce) {
    serving here({"--drain", "1000"});
    const said given = here.ask("submit", {"sleep", "1000"});
    ASSERT_EQ(given.code, 0) << given.err;
    const auto runs = [&] {
        return has(here.ask("status", {given.out.substr(0, 13)}).out, "running");
    };
    here.wait_until(runs);  // or there would be nothing to wait for
    here.signal(SIGINT);
    here.wait_until([&] { return has(here.err(), "draining"); });
    const said still = here.ask("status", {given.out.substr(0, 13)});
    EXPECT_TRUE(has(still.out, "running") || still.code != 0) << still.out;
    here.signal(SIGINT);
    EXPECT_NE(here.wait(), 0);
    // What ran is run again by the next.
    serving next({"--drain", "0.1", "--database", here.folder / "tasks.db"});
    said again;
    for (int i = 0; i < 100 && !has(again.out, "running"); ++i) {
        again = next.ask("status", {given.out.substr(0, 13)});
    }
    EXPECT_TRUE(has(again.out, "running")) << again.out;
}

// Whatever tasks and names hold, a log has a line for an entry, and JSON stays JSON.
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
    const said made = here.ask("submit", {"-t", "red", "-t", "blue", "echo", "1"});
    ASSERT_EQ(made.code, 0) << made.err;
    const said shown = here.ask("status", {made.out.substr(0, 13), "--json"});
    EXPECT_TRUE(has(shown.out, R"("tags":["red","blue"])")) << shown.out;
    const said list = here.ask("submit", {"echo", "[1, 2]", "-W"});  // one payload, not two words
    EXPECT_TRUE(has(list.out, "[1,2]")) << list.out << list.err;
}

TEST(Program, TokensOpenItAndStayWithIt) {
    const std::string token = "WEIR_TOKEN=a-token-that-nobody-guesses";
    serving here({"--allow-command", "show=/usr/bin/env"}, {token});
    const said refused = here.ask("status", {}, {"WEIR_TOKEN="});
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(has(refused.err, "--token-file")) << refused.err;
    // What tasks run does not inherit the token of the service.
    const said shown = here.ask("submit", {"exec", R"({"command": "show"})", "-W"}, {token});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_TRUE(has(shown.out, "WEIR_TASK_ID=")) << shown.out;
    EXPECT_FALSE(has(shown.out, "nobody-guesses")) << shown.out;
    EXPECT_FALSE(has(here.err(), "nobody-guesses"));
}

TEST(Program, AnAddressInUseIsSaid) {
    serving here;
    for (const char* mode : {"--log-level=info", "--check"}) {
        const said refused = call({"serve", mode, "--listen", here.url.substr(7), "--database",
                                   here.folder / "other.db"});
        EXPECT_EQ(refused.code, 1);
        EXPECT_TRUE(has(refused.out + refused.err, "--listen")) << refused.err;
    }
    EXPECT_FALSE(std::filesystem::exists(here.folder / "other.db"));
    const std::string local = "unix:" + (here.folder / "socket").string();
    const temporary_folder folder;
    running_program other(folder, {WEIR_PROGRAM, "serve", "-l", local, "-d", folder / "a.db"});
    other.wait_until([&] { return has(other.out(), "curl --unix-socket"); });
    const said taken = call({"serve", "--check", "-l", local, "-d", folder / "b.db"});
    EXPECT_EQ(taken.code, 1) << taken.out;
    EXPECT_TRUE(has(taken.out, "another program has")) << taken.out;
    other.stop();  // and leaves its file
    EXPECT_EQ(call({"serve", "--check", "-l", local, "-d", folder / "b.db"}).code, 0);
}

// Two on one file: what one has no worker for the other runs.
TEST(Program, TwoShareAFile) {
    serving first({"--workers", "1", "--drain", "0.1"});
    const said slow = first.ask("submit", {"sleep", "1000"});
    ASSERT_EQ(slow.code, 0) << slow.err;
    serving second({"--drain", "0.1", "--database", first.folder / "tasks.db"});
    const said done = first.ask("submit", {"echo", "1", "--wait"});  // the first is busy
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(first.end(), 0) << first.err();
    EXPECT_EQ(second.end(), 0) << second.err();
}

}  // namespace
}  // namespace weir_test
