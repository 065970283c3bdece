// SPDX-License-Identifier: MIT
// Programs that tasks run: options of the service, and that none survives its task or the service.

#include "support.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace weir_test {
namespace {

// The running processes whose command line has the text.
std::vector<std::string> running_with(const std::string& text) {
    std::vector<std::string> found;
    for (const auto& each : std::filesystem::directory_iterator("/proc")) {
        const std::string name = each.path().filename();
        std::ifstream file(each.path() / "cmdline", std::ios::binary);
        std::ostringstream line;
        line << file.rdbuf();
        if (name.find_first_not_of("0123456789") == std::string::npos &&
            line.str().starts_with("sleep") && has(line.str(), text)) {
            found.push_back(name);
        }
    }
    return found;
}

// Stubborn, with a daemon that is stubborn too. Both are 'sleep TIME'.
std::string stubborn(const std::string& time) {
    return "stubborn=/bin/sh -c 'trap \"\" TERM; (setsid sleep " + time + " &); exec sleep " +
           time + "'";
}

std::string time_of_own() {
    static int count = 0;
    return "8" + std::to_string(::getpid()) + "." + std::to_string(++count) + "55";
}

TEST(ExecProgram, CommandsHaveQuotesArgumentsAndBinaryOutput) {
    serving here({"--allow-command", R"(quoted=/usr/bin/printf "%s|" 'a b' "c \"d\"" e\ f '')",
                  "--allow-command", "bytes=/usr/bin/printf '\\377\\000'", "--binary-output",
                  "bytes", "--allow-arguments", "quoted", "--max-output", "20"});
    const auto run = [&](const std::string& payload) {
        return here.ask("submit", {"exec", payload, "--wait"}).out;
    };
    EXPECT_TRUE(has(run(R"({"command": "quoted"})"), R"({"output":"a b|c \"d\"|e f||"})"));
    EXPECT_TRUE(has(run(R"({"command": "quoted", "arguments": ["x", "y"]})"),
                    R"({"output":"a b|c \"d\"|e f||x|y|"})"));
    EXPECT_TRUE(has(run(R"({"command": "quoted", "arguments": ["0123456789"]})"),
                    R"({"output":"a b|c \"d\"|e f||01234","truncated":true})"));
    EXPECT_TRUE(has(run(R"({"command": "bytes"})"), R"({"output":"/wA=","encoding":"base64"})"));
    const program_output refused =
        here.ask("submit", {"exec", R"({"command": "bytes", "arguments": ["x"]})"});
    EXPECT_TRUE(has(refused.err, "takes no arguments")) << refused.err;
    EXPECT_EQ(here.end(), 0);
}

// A task is cancelled, or has failed, only when nothing of it runs any more.
TEST(ExecProgram, NothingRunsAfterATimeout) {
    const std::string time = time_of_own();
    serving here({"--allow-command", stubborn(time), "--grace", "0.1"});
    const program_output ended = here.ask(
        "submit",
        {"exec", R"({"command": "stubborn"})", "--timeout", "0.3", "--attempts", "1", "--wait"});
    EXPECT_EQ(running_with(time), std::vector<std::string>());
    EXPECT_TRUE(has(ended.out, "failed")) << ended.out << ended.err;
    EXPECT_EQ(here.end(), 0);
}

// Without the helper, the old programs would run beside those of the next service.
TEST(ExecProgram, NothingRunsAfterAKillOfTheService) {
    const std::string time = time_of_own();
    const temporary_folder folder;
    const std::string database = folder / "tasks.db";
    for (int round = 0; round < 3; ++round) {
        serving here({"--allow-command", stubborn(time), "--database", database, "--drain", "0.1",
                      "--grace", "0.1"});
        if (round == 0) {
            EXPECT_EQ(here.ask("submit", {"exec", R"({"command": "stubborn"})"}).code, 0);
        }
        if (round < 2) {  // a third crash would fail the task
            here.wait_until([&] { return running_with(time).size() == 2; });
        }
        EXPECT_LE(running_with(time).size(), 2u) << "the old ones run beside the new ones";
        here.signal(SIGKILL);
        here.wait();
    }
    serving last({"--allow-command", stubborn(time), "--database", database, "--drain", "0.1",
                  "--grace", "0.1"});
    last.wait_until([&] { return running_with(time).empty(); });
    EXPECT_EQ(last.end(), 0) << last.err();
    EXPECT_EQ(running_with(time), std::vector<std::string>());
}

}  // namespace
}  // namespace weir_test
