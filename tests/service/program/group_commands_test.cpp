// SPDX-License-Identifier: MIT
// weir group and weir submit --after: what they print, and how they end.

#include "commands.hpp"

#include <algorithm>
#include <fstream>

namespace weir_test {
namespace {

constexpr const char* no_group = "0000000000001";

// Creates a group and returns its id.
std::string create(const serving& here, const std::string& document) {
    const program_output output = here.ask("group", {"create", document});
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_EQ(output.out.size(), 14U) << output.out;
    return output.out.substr(0, 13);
}
std::string shown_group(const serving& here, const std::string& id) {
    const program_output output = here.ask("group", {"show", id});
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_EQ(output.err, "");
    return output.out;
}

TEST(GroupCommands, AGroupIsATreeThatEndsWithItsCallback) {
    serving here({"--drain", "0.1"});
    const std::string id = create(here, R"({"name": "nightly", "tasks": [
        {"name": "a", "kind": "echo", "delay": 1000},
        {"name": "b", "kind": "echo", "after": ["a"]},
        {"name": "c", "kind": "echo", "after": ["a"]},
        {"kind": "echo", "after": ["b", "c"]}], "callback": {"kind": "echo"}})");
    const std::string tree = shown_group(here, id);
    const std::vector<std::string> lines = lines_in(tree);
    ASSERT_EQ(lines.size(), 7U) << tree;
    EXPECT_EQ(lines[0], "group " + id + " (nightly): open");
    EXPECT_EQ(lines[1], "0 of 4 ended: 0 completed, 0 failed, 0 cancelled");
    EXPECT_EQ(lines[2], "callback: echo when all have ended");
    EXPECT_TRUE(lines[3].ends_with("  scheduled  echo") && !lines[3].starts_with(" ")) << tree;
    EXPECT_TRUE(lines[4].starts_with("  ") && lines[4].ends_with("  waiting    echo")) << tree;
    EXPECT_TRUE(lines[6].starts_with("    ") && lines[6].ends_with("echo, and after 1 more"))
        << tree;

    const std::string first = lines[3].substr(0, 13);
    EXPECT_EQ(here.ask("change", {first, "--delay", "0"}).code, 0);
    here.wait_until([&] { return has(shown_group(here, id), "): completed"); });
    const boost::json::value ended = parsed(here.ask("group", {"show", id, "--json"}));
    EXPECT_EQ(ended.at("tasks").as_array().size(), 4U);
    EXPECT_EQ(ended.at("completed").as_int64(), 4);
    const std::string callback(ended.at("callback_task").as_string());
    EXPECT_TRUE(has(shown_group(here, id), "callback: echo " + callback));
    EXPECT_TRUE(has(here.ask("show", {callback}).out, R"({"group":{"id":")" + id));
}

// More members than the API gives at once: the pages follow each other.
TEST(GroupCommands, TheMembersOfALargeGroupComeInPages) {
    serving here({"--drain", "0.1"});
    std::string tasks;
    for (int i = 0; i < 1005; ++i) {
        tasks += std::string(tasks.empty() ? "[" : ",") + R"({"kind": "echo", "delay": 1000})";
    }
    const std::string path = (here.folder / "tasks.json").string();
    std::ofstream(path) << tasks << "]";
    const std::string id = create(here, path);
    std::vector<std::string> lines = lines_in(shown_group(here, id));
    EXPECT_EQ(lines.size(), 2U + 1005U);
    std::sort(lines.begin(), lines.end());
    EXPECT_EQ(std::unique(lines.begin(), lines.end()), lines.end());
}

TEST(GroupCommands, TasksAreAddedUntilTheGroupIsSealed) {
    serving here({"--drain", "0.1"});
    const std::string id = create(here, R"({"name": "later"})");
    EXPECT_TRUE(has(shown_group(here, id), "(later): open, not sealed"));
    const program_output added =
        here.ask("group", {"add", id, R"({"tasks": [{"kind": "echo"}, {"kind": "echo"}]})"});
    EXPECT_EQ(added.code, 0) << added.err;
    EXPECT_EQ(lines_in(added.out).size(), 2U) << added.out;
    const program_output sealed = here.ask("group", {"seal", id});
    EXPECT_EQ(sealed.code, 0) << sealed.err;
    EXPECT_TRUE(has(sealed.out, "group " + id) && !has(sealed.out, "not sealed")) << sealed.out;
    here.wait_until([&] { return has(shown_group(here, id), "(later): completed"); });
    const program_output late = here.ask("group", {"add", id, R"({"tasks": [{"kind": "echo"}]})"});
    EXPECT_EQ(late.code, 1);
    EXPECT_TRUE(has(late.err, "409") && has(late.err, "is sealed")) << late.err;
}

TEST(GroupCommands, GroupsAreListedCancelledAndHeld) {
    serving here({"--drain", "0.1"});
    const std::string cancelled = create(here,
                                         R"({"name": "two", "tasks": [
                  {"kind": "echo", "delay": 1000}, {"kind": "echo", "delay": 1000}]})");
    const program_output output = here.ask("group", {"cancel", cancelled});
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_TRUE(has(output.out, "2 of 2 ended: 0 completed, 0 failed, 2 cancelled")) << output.out;
    const std::string held = create(here, R"({"on_failure": "hold", "callback": {"kind": "echo"},
        "tasks": [{"kind": "echo", "payload": {"fail": "it broke"}, "max_attempts": 1}]})");
    here.wait_until([&] { return has(shown_group(here, held), "it broke"); });
    EXPECT_TRUE(has(shown_group(here, held), "open, held until failed tasks are retried"));

    const std::string list = here.ask("group", {}).out;
    EXPECT_EQ(fields_in(list, 0), (std::vector<std::string>{held, cancelled})) << list;
    EXPECT_EQ(fields_in(list, 1), (std::vector<std::string>{"held", "cancelled"})) << list;
    EXPECT_EQ(fields_in(list, 2), (std::vector<std::string>{"1", "2"})) << list;
    EXPECT_EQ(parsed(here.ask("group", {"--json"})).at("groups").as_array().size(), 2U);
}

TEST(GroupCommands, WrongUseIsExplained) {
    serving here({"--drain", "0.1"});
    for (const char* const command : {"show", "seal", "cancel"}) {
        const program_output output = here.ask("group", {command, no_group});
        EXPECT_EQ(output.code, 1) << command;
        EXPECT_TRUE(has(output.err, "there is no group '0000000000001'")) << output.err;
    }
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"list"}, {"show"}, {"add", no_group}, {"seal", "a", "b"}}) {
        const program_output output = here.ask("group", words);
        EXPECT_EQ(output.code, 2) << words.front();
        EXPECT_TRUE(has(output.err, "create FILE, show ID")) << output.err;
    }
    EXPECT_TRUE(has(here.ask("group", {"create", "/no/such/file"}).err, "cannot be read"));
    const program_output cycle = here.ask("group", {"create", R"({"tasks": [
        {"name": "a", "kind": "echo", "after": ["a"]}]})"});
    EXPECT_EQ(cycle.code, 1);
    EXPECT_TRUE(has(cycle.err, "422") || has(cycle.err, "400")) << cycle.err;
    EXPECT_TRUE(here.ask("group", {}).out.empty());
    // A list of tasks is not taken for a list of words.
    EXPECT_EQ(here.ask("group", {"create", R"([{"kind": "echo"}, {"kind": "echo"}])"}).code, 0);
}

TEST(GroupCommands, ASubmittedTaskComesAfterOthers) {
    serving here({"--drain", "0.1"});
    const std::string one = submit(here, {"echo", "1", "--delay", "1000"});
    const std::string two = submit(here, {"echo", "2", "--delay", "1000"});
    const std::string after = submit(here, {"echo", "3", "--after", one, "--after", two});
    const std::string anyway =
        submit(here, {"echo", "4", "--after", one, "--after-failure", "run"});
    const program_output waits = here.ask("show", {after});
    EXPECT_TRUE(has(waits.out, after + "  waiting")) << waits.out;
    EXPECT_TRUE(has(waits.out, "comes after the task " + one)) << waits.out;
    EXPECT_EQ(here.ask("cancel", {one}).code, 0);
    const auto task_of = [&](const std::string& id) {
        return parsed(here.ask("show", {id, "--json"}));
    };
    here.wait_until([&] { return task_of(anyway).at("status").as_string() == "completed"; });
    const boost::json::value cancelled = task_of(after);
    EXPECT_EQ(cancelled.at("status").as_string(), "cancelled");
    EXPECT_TRUE(has(std::string(cancelled.at("error").as_string()), one));
    const program_output wrong =
        here.ask("submit", {"echo", "--after", two, "--after-failure", "no"});
    EXPECT_EQ(wrong.code, 2) << wrong.out;
}

}  // namespace
}  // namespace weir_test
