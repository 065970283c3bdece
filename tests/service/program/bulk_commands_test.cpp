// SPDX-License-Identifier: MIT
// weir cancel, retry and delete by filter, and weir change: what they print, and how they end.

#include "commands.hpp"

#include <atomic>

namespace weir_test {
namespace {

std::vector<std::string> submit_later(const serving& here, int count, const std::string& queue) {
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
        ids.push_back(submit(here, {"echo", "1", "--queue", queue, "--delay", "1000"}));
    }
    return ids;
}

std::vector<std::string> statuses(const serving& here, const std::string& queue) {
    return fields_in(here.ask("list", {"--queue", queue}).out, 1);
}

TEST(BulkCommands, TasksAreChangedByFilter) {
    const serving here({"--drain", "0.1"});
    submit_later(here, 3, "mail");
    submit_later(here, 1, "other");
    const program_output counted = here.ask("cancel", {"--queue", "mail", "--dry-run"});
    EXPECT_EQ(counted.code, 0) << counted.err;
    EXPECT_EQ(counted.out, "matched\t3\n");
    EXPECT_EQ(statuses(here, "mail"),
              (std::vector<std::string>{"scheduled", "scheduled", "scheduled"}));
    const program_output some = here.ask("cancel", {"-q", "mail", "--limit", "1", "--yes"});
    EXPECT_EQ(some.out, "cancelled\t1\n") << some.err;
    const boost::json::value rest =
        parsed(here.ask("cancel", {"-q", "mail", "-k", "echo", "-y", "--json"}));
    EXPECT_EQ(rest.at("changed"), 2);
    EXPECT_EQ(rest.at("state").as_string(), "done");
    const program_output retried =
        here.ask("retry", {"-q", "mail", "--state", "cancelled", "-n", "2", "-y"});
    EXPECT_EQ(retried.out, "retried\t2\n") << retried.err;
    const program_output removed =
        here.ask("delete", {"-q", "mail", "--status", "cancelled", "-y"});
    EXPECT_EQ(removed.out, "deleted\t1\n") << removed.err;
    EXPECT_EQ(statuses(here, "other"), std::vector<std::string>{"scheduled"});
    const program_output all = here.ask("cancel", {"--all", "-y"});
    EXPECT_EQ(all.out, "cancelled\t1\n") << all.err;
}

TEST(BulkCommands, MistakesChangeNothing) {
    const serving here({"--drain", "0.1"});
    const std::vector<std::string> ids = submit_later(here, 1, "mail");
    const program_output unconfirmed = here.ask("cancel", {"--queue", "mail"});
    EXPECT_EQ(unconfirmed.code, 2);
    EXPECT_TRUE(has(unconfirmed.err, "--yes")) << unconfirmed.err;
    const program_output neither = here.ask("cancel", {"--yes"});
    EXPECT_EQ(neither.code, 2);
    EXPECT_TRUE(has(neither.err, "which tasks?")) << neither.err;
    const program_output both = here.ask("cancel", {ids[0], "--queue", "mail", "-y"});
    EXPECT_EQ(both.code, 2);
    EXPECT_TRUE(has(both.err, "not both")) << both.err;
    const program_output wrong = here.ask("delete", {"--state", "pending", "-y"});
    EXPECT_EQ(wrong.code, 1);
    EXPECT_TRUE(has(wrong.err, "completed, failed and cancelled tasks can be deleted"))
        << wrong.err;
    EXPECT_EQ(here.ask("cancel", {"--state", "odd", "-y"}).code, 2);
    EXPECT_EQ(statuses(here, "mail"), std::vector<std::string>{"scheduled"});
}

TEST(BulkCommands, ATerminalShowsTheNumber) {
    const serving here({"--drain", "0.1"});
    submit_later(here, 2, "mail");
    EXPECT_TRUE(has(on_terminal(here, {"cancel", "-q", "mail", "--dry-run"}, 80),
                    "2 tasks matched, none is changed"));
    EXPECT_TRUE(has(on_terminal(here, {"cancel", "-q", "mail", "-y"}, 80), "2 tasks cancelled"));
    EXPECT_TRUE(has(on_terminal(here, {"cancel", "-q", "mail"}, 80), "0 tasks matched"));
}

// ^C stops the operation before the command ends.
TEST(BulkCommands, AnInterruptStopsTheOperation) {
    const char* const running =
        R"({"id": "0dpfh2qhm0004", "state": "running", "dry_run": false, "matched": 9,
            "changed": 5, "skipped": 0, "error": null})";
    std::atomic<int> asked = 0;
    std::atomic<int> stopped = 0;
    const auto interrupt = [&](const std::string& url) {
        const temporary_folder folder;
        running_program command(folder,
                                {WEIR_PROGRAM, "cancel", "--all", "--yes", "--server", url});
        command.wait_until([&] { return asked > 1; });
        command.signal(SIGINT);
        int status = 0;
        ::waitpid(command.pid(), &status, 0);
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), 130);
        EXPECT_TRUE(has(command.err(), "stopped; 5 tasks are changed")) << command.err();
    };
    beside_server(
        [&](weir::http::request& request) -> weir::task<weir::http::response> {
            asked += request.method() == weir::http::method::get ? 1 : 0;
            stopped += request.method() == weir::http::method::delete_ ? 1 : 0;
            co_return weir::http::response::json_text(running);
        },
        interrupt);
    EXPECT_EQ(stopped, 1);
}

TEST(BulkCommands, APendingTaskIsChanged) {
    const serving here({"--drain", "0.1"});
    const std::string id = submit_later(here, 1, "mail")[0];
    const program_output moved =
        here.ask("change", {id, "--priority", "5", "--at", "2099-01-01", "--payload", "[2]"});
    EXPECT_EQ(moved.code, 0) << moved.err;
    EXPECT_EQ(moved.out, id + "\tscheduled\tpriority 5\tdue 2099-01-01T00:00:00Z\n");
    const boost::json::value json = parsed(here.ask("change", {id, "--delay", "500", "--json"}));
    EXPECT_EQ(json.at("priority"), 5);
    EXPECT_EQ(json.at("payload").at(0), 2);
    EXPECT_EQ(here.ask("change", {id, "--delay", "0"}).code, 0);
    const program_output late = [&] {
        program_output output;
        do {
            output = here.ask("change", {id, "--priority", "1"});
        } while (output.code == 0);
        return output;
    }();
    EXPECT_EQ(late.code, 1);
    EXPECT_TRUE(has(late.err, "only a pending task can be changed")) << late.err;
    EXPECT_EQ(here.ask("change", {id}).code, 2);
    EXPECT_EQ(here.ask("change", {id, "--delay", "1", "--at", "2099-01-01"}).code, 2);
    EXPECT_EQ(here.ask("change", {id, "--payload", "{"}).code, 2);
}

}  // namespace
}  // namespace weir_test
