// SPDX-License-Identifier: MIT
// weir list, show, cancel, retry, delete: what they print, and how they end.

#include "commands.hpp"

#include <algorithm>

namespace weir_test {
namespace {

using ids = std::vector<std::string>;

constexpr const char* no_task = "0000000000001";

TEST(TaskCommands, ListsTasksThatMatch) {
    const serving here({"--drain", "0.1"});
    const std::string mail = submit_failing(here, {"--queue", "mail", "--tag", "red"});
    const std::string later = submit(here, {"sleep", "1", "--delay", "1000", "--flow-key", "k"});
    const std::string echo = submit(here, {"echo", "1", "--tag", "red"});
    here.ask("submit", {"echo", "2", "--wait"});  // the one before has ended as well, or soon will

    const auto listed = [&](std::vector<std::string> filters) {
        const program_output output = here.ask("list", std::move(filters));
        EXPECT_EQ(output.code, 0) << output.err;
        EXPECT_EQ(output.err, "");
        return fields_in(output.out, 0);
    };
    EXPECT_EQ(listed({}).size(), 4U);
    EXPECT_EQ(listed({"--queue", "mail"}), ids{mail});
    EXPECT_EQ(listed({"--state", "failed"}), ids{mail});
    EXPECT_EQ(listed({"--status", "scheduled"}), ids{later});
    EXPECT_EQ(listed({"--kind", "sleep"}), ids{later});
    EXPECT_EQ(listed({"--flow-key", "k"}), ids{later});
    EXPECT_EQ(listed({"--tag", "red"}), (ids{echo, mail}));
    EXPECT_EQ(listed({"-t", "red", "-q", "mail"}), ids{mail});
    EXPECT_EQ(listed({"--from", "2020-01-01"}).size(), 4U);
    EXPECT_EQ(listed({"--to", "2020-01-01T00:00:00.5+01:00"}), ids{});
    EXPECT_EQ(listed({"--limit", "2"}).size(), 2U);
    EXPECT_EQ(listed({"--state", "cancelled"}), ids{});

    const std::string line = here.ask("list", {"--state", "failed"}).out;
    const std::vector<std::string> fields = split_at(lines_in(line).at(0), '\t');
    ASSERT_EQ(fields.size(), 6U) << line;
    EXPECT_EQ(fields[1] + fields[2] + fields[3], "failedechomail");
    EXPECT_TRUE(fields[4].ends_with("Z") && fields[4].size() == 20) << fields[4];
    EXPECT_EQ(fields[5], "it broke");
}

// More tasks than the service gives at once.
TEST(TaskCommands, ListsFollowPages) {
    const serving here({"--drain", "0.1"});
    std::string batch;
    for (int i = 0; i < 230; ++i) {
        batch += std::string(batch.empty() ? "[" : ",") + R"({"kind": "echo", "delay": 1000})";
    }
    request("POST", here.url + "/tasks/batch", batch + "]");
    ids all = fields_in(here.ask("list", {"--limit", "1000"}).out, 0);
    EXPECT_EQ(all.size(), 230U);
    EXPECT_TRUE(std::is_sorted(all.rbegin(), all.rend()));
    EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
    const boost::json::value some = parsed(here.ask("list", {"-n", "210", "--json"}));
    EXPECT_EQ(some.at("tasks").as_array().size(), 210U);
    EXPECT_TRUE(some.at("next").is_string());
    const boost::json::value whole = parsed(here.ask("list", {"-n", "230", "--json"}));
    EXPECT_EQ(whole.at("tasks").as_array().size(), 230U);
    EXPECT_TRUE(whole.at("next").is_null());
}

TEST(TaskCommands, ATableFitsTheTerminal) {
    const serving here({"--drain", "0.1"});
    const std::string id =
        submit(here, {"echo", "1", "--delay", "1000", "--queue", std::string(60, 'q')});
    const std::string wide = on_terminal(here, {"list"}, 200);
    ASSERT_EQ(lines_in(wide).size(), 2U) << wide;
    EXPECT_TRUE(lines_in(wide)[0].starts_with("id             status     kind  queue")) << wide;
    EXPECT_TRUE(lines_in(wide)[1].starts_with(id + "  scheduled  echo  qqq")) << wide;
    EXPECT_TRUE(has(wide, std::string(60, 'q'))) << wide;
    for (const unsigned short columns : {80, 60, 20}) {
        const std::string narrow = on_terminal(here, {"list"}, columns);
        for (const std::string& line : lines_in(narrow)) {
            const auto cut = std::count(line.begin(), line.end(), '\xe2');  // '…' has three bytes
            EXPECT_LE(line.size() - 2 * static_cast<std::size_t>(cut), columns) << narrow;
        }
        EXPECT_TRUE(has(narrow, id)) << narrow;
    }
    EXPECT_TRUE(has(on_terminal(here, {"list", "--state", "failed"}, 80), "no tasks match"));
    const std::string another = submit(here, {"echo", "1", "--delay", "1000"});
    EXPECT_TRUE(has(on_terminal(here, {"list", "--limit", "1"}, 80), "--limit shows more"));
    EXPECT_TRUE(has(on_terminal(here, {"cancel", another}, 80), another + "  cancelled"));
}

TEST(TaskCommands, ShowsAllOfATask) {
    const serving here({"--drain", "0.1"});
    const std::string failed = submit_failing(here, {"--tag", "red", "--tag", "blue"});
    const program_output shown = here.ask("show", {failed});
    EXPECT_EQ(shown.code, 0) << shown.err;
    for (const char* const part :
         {"failed  echo", "red, blue", R"({"fail":"it broke"})", "failures        1 of 1",
          "attempt         1  ", "failed: it broke"}) {
        EXPECT_TRUE(has(shown.out, part)) << part << shown.out;
    }
    const std::string later = submit(here, {"echo", "1", "--delay", "1000"});
    EXPECT_TRUE(has(here.ask("show", {later}).out, "waits           it is scheduled"));
    const boost::json::value task = parsed(here.ask("show", {failed, "--json"}));
    EXPECT_EQ(task.at("id").as_string(), failed);
    EXPECT_EQ(task.at("attempts").as_array().size(), 1U);
}

TEST(TaskCommands, SecretsAreNotShown) {
    serving here({"--drain", "0.1"});
    const std::string id = submit(here, {"echo", R"({"user": "ada", "password": "hunter22"})",
                                         "--secret", "password", "--wait"});
    for (const std::vector<std::string>& more : {std::vector<std::string>(), {"--json"}}) {
        std::vector<std::string> words = {id};
        words.insert(words.end(), more.begin(), more.end());
        const program_output shown = here.ask("show", words);
        EXPECT_TRUE(has(shown.out, R"("password":"***")")) << shown.out;
        EXPECT_FALSE(has(shown.out, "hunter22")) << shown.out;
    }
    const program_output wrong = here.ask("submit", {"echo", "{}", "--secret", "password"});
    EXPECT_EQ(wrong.code, 1);
    EXPECT_TRUE(has(wrong.err, "'password', which is not a member of the payload")) << wrong.err;
    EXPECT_FALSE(has(here.err(), "hunter22")) << here.err();
    EXPECT_EQ(here.end(), 0) << here.err();
}

TEST(TaskCommands, TasksAreCancelledRetriedAndDeleted) {
    serving here({"--drain", "0.1"});
    const std::string later = submit(here, {"echo", "1", "--delay", "1000"});
    const std::string failed = submit_failing(here);
    const std::string slow = submit(here, {"sleep", "1000"});
    const auto status_of = [&](const std::string& id) {
        return std::string(parsed(here.ask("show", {id, "--json"})).at("status").as_string());
    };
    here.wait_until([&] { return status_of(slow) == "running"; });
    const program_output early = here.ask("delete", {later});
    EXPECT_EQ(early.code, 1);
    EXPECT_TRUE(has(early.err, later) && has(early.err, "cancel it first")) << early.err;

    const program_output cancelled = here.ask("cancel", {later, slow});
    EXPECT_EQ(cancelled.code, 0) << cancelled.err;
    EXPECT_EQ(cancelled.out, later + "\tcancelled\n" + slow + "\tcancelling\n");
    here.wait_until([&] { return status_of(slow) == "cancelled"; });
    const program_output again = here.ask("retry", {later, failed});
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(again.out, later + "\tpending\n" + failed + "\tpending\n");
    here.wait_until(
        [&] { return status_of(later) == "completed" && status_of(failed) == "failed"; });
    const program_output gone = here.ask("delete", {later, failed, slow});
    EXPECT_EQ(gone.code, 0) << gone.err;
    EXPECT_EQ(fields_in(gone.out, 1), (ids{"deleted", "deleted", "deleted"})) << gone.out;
    EXPECT_EQ(here.ask("list").out, "");
}

// Each task is tried, and the exit code says that one was refused.
TEST(TaskCommands, OneRefusalDoesNotKeepTheOthers) {
    serving here({"--drain", "0.1"});
    const std::string first = submit(here, {"echo", "1", "--delay", "1000"});
    const std::string second = submit(here, {"echo", "1", "--delay", "1000"});
    const program_output output = here.ask("cancel", {first, no_task, "nonsense", second});
    EXPECT_EQ(output.code, 1);
    EXPECT_EQ(fields_in(output.out, 0), (ids{first, second})) << output.out;
    EXPECT_TRUE(has(output.err, std::string("there is no task ") + no_task)) << output.err;
    EXPECT_TRUE(has(output.err, "'nonsense': an id has 13 letters")) << output.err;
    const program_output twice = here.ask("cancel", {first});
    EXPECT_EQ(twice.code, 1);
    EXPECT_TRUE(has(twice.err, first + " has ended already")) << twice.err;

    const program_output lines = here.ask("retry", {first, no_task, "--json"});
    EXPECT_EQ(lines.code, 1);
    EXPECT_EQ(lines.err, "");
    ASSERT_EQ(lines_in(lines.out).size(), 2U) << lines.out;
    const boost::json::value done = weir::http::parse_json(lines_in(lines.out)[0]);
    EXPECT_EQ(done.at("id").as_string(), first);
    EXPECT_EQ(done.at("retry").as_string(), "done");
    const boost::json::value refused = weir::http::parse_json(lines_in(lines.out)[1]);
    EXPECT_EQ(refused.at("id").as_string(), no_task);
    EXPECT_EQ(refused.at("error").at("status"), 404);
    here.wait_until([&] { return has(here.ask("list", {"--state", "completed"}).out, first); });
    const boost::json::value removed = parsed(here.ask("delete", {first, "--json"}));
    EXPECT_EQ(removed.at("delete").as_string(), "done");
}

TEST(TaskCommands, InvalidFiltersAndIdsAreNamed) {
    const serving here({"--drain", "0.1"});
    submit(here, {"echo", "1", "--queue", "mail", "--delay", "1000"});
    const struct {
        std::vector<std::string> words;
        int code;
        std::vector<std::string> messages;
    } all[] = {
        {{"list", "--state", "done"}, 2, {"--state is 'done'", "pending, running, completed"}},
        {{"list", "--status", "later"}, 2, {"--status is 'later'", "scheduled"}},
        {{"list", "--limit", "0"}, 2, {"--limit is '0'", "1 to 1000000"}},
        {{"list", "--from", "yesterday"}, 2, {"--from is 'yesterday'", "2026-11-15T09:30:00Z"}},
        {{"list", "--to", "2026-02-30"}, 2, {"--to is '2026-02-30'"}},
        {{"list", "--to", "2026-02-03T25:00:00Z"}, 2, {"--to is '2026-02-03T25:00:00Z'"}},
        {{"list", "--to", "2026-02-03T05:00:00"}, 2, {"--to is '2026-02-03T05:00:00'"}},
        {{"list", "--kind", std::string(101, 'k')}, 1, {"the kind must have 1 to 100 bytes"}},
        {{"list", "--stat", "failed"}, 2, {"did you mean '--state'?"}},
        {{"list", "extra"}, 2, {"'extra' is not expected"}},
        {{"list", "--queue", "mial"}, 0, {"there is no queue 'mial'; did you mean 'mail'?"}},
        {{"show", no_task}, 1, {std::string("there is no task ") + no_task}},
        {{"show", "a/b"}, 1, {"there is no task 'a/b': an id has 13 letters and digits"}},
        {{"show"}, 2, {"id is required"}},
        {{"cancel"}, 2, {"which tasks?"}},
    };
    for (const auto& each : all) {
        std::vector<std::string> rest(each.words.begin() + 1, each.words.end());
        const program_output output = here.ask(each.words[0], rest);
        EXPECT_EQ(output.code, each.code) << each.messages[0] << output.out << output.err;
        for (const std::string& part : each.messages) {
            EXPECT_TRUE(has(output.err, part)) << part << ": " << output.err;
        }
    }
}

TEST(TaskCommands, AServiceThatIsAwayIsSaid) {
    const std::string nowhere = "http://127.0.0.1:1";
    for (const std::vector<std::string>& words : {std::vector<std::string>{"list"},
                                                  {"show", no_task},
                                                  {"cancel", no_task, no_task},
                                                  {"retry", no_task},
                                                  {"delete", no_task, "--json"},
                                                  {"queues"},
                                                  {"pause", "mail", "more"},
                                                  {"resume", "mail"},
                                                  {"redrive", "mail"},
                                                  {"schedules"}}) {
        std::vector<std::string> all = words;
        all.insert(all.end(), {"--server", nowhere});
        const program_output output = call(all);
        EXPECT_EQ(output.code, 1) << words[0];
        EXPECT_EQ(output.out, "") << words[0];
        EXPECT_TRUE(has(output.err, "start a service with `weir serve`")) << output.err;
        EXPECT_EQ(lines_in(output.err).size(), 1U) << output.err;  // not one for each object
    }
}

TEST(TaskCommands, TheyNeedTheTokenOfTheService) {
    const std::string token = "WEIR_TOKEN=a-token-that-nobody-guesses";
    const serving here({}, {token});
    for (const char* const command : {"list", "queues", "schedules"}) {
        const program_output refused = here.ask(command, {}, {"WEIR_TOKEN="});
        EXPECT_EQ(refused.code, 1) << command;
        EXPECT_TRUE(has(refused.err, "--token-file")) << refused.err;
        EXPECT_EQ(here.ask(command, {}, {token}).code, 0) << command;
    }
    const std::string file = here.folder.write("token", "a-token-that-nobody-guesses\n");
    EXPECT_EQ(here.ask("list", {"--token-file", file}, {"WEIR_TOKEN="}).code, 0);
    const std::string config =
        here.folder.write("weir.toml", "[list]\ntoken-file = '" + file + "'\nlimit = 3\n");
    EXPECT_EQ(here.ask("list", {"--config", config}, {"WEIR_TOKEN="}).code, 0);
}

// Nobody takes it, so that it is cancelled when its time comes.
TEST(TaskCommands, ATaskExpires) {
    const serving here({"--drain", "0.1", "--remote-kinds", "resize"});
    const program_output ended = here.ask("submit", {"resize", "--expires", "0.3", "--wait"});
    EXPECT_EQ(ended.code, 3) << ended.err;
    EXPECT_TRUE(has(ended.out, "cancelled")) << ended.out;
    EXPECT_TRUE(has(ended.out, "expired: not started by 20")) << ended.out;
    const std::string id = submit(here, {"resize", "--expires", "2099-11-15"});
    EXPECT_TRUE(has(here.ask("show", {id}).out, "expires_at      2099-11-15T00:00:00")) << id;
    const auto expiry = [&](std::vector<std::string> change) {
        change.insert(change.begin(), id);
        EXPECT_EQ(here.ask("change", change).code, 0);
        const boost::json::value task = parsed(here.ask("show", {id, "--json"}));
        return weir::http::to_json(task.at("expires_at"));
    };
    EXPECT_EQ(expiry({"--expires", "2098-01-01T00:00:00+01:00"}),
              "\"2097-12-31T23:00:00.000000Z\"");
    EXPECT_EQ(expiry({"--priority", "3"}), "\"2097-12-31T23:00:00.000000Z\"");
    EXPECT_EQ(expiry({"--expires", "never"}), "null");
    EXPECT_NE(expiry({"--expires", "1000"}), "null");
    for (const std::string wrong : {"never", "soon", "-1", "1e9", "400000000", "2099-02-30"}) {
        const program_output refused = here.ask("submit", {"resize", "--expires=" + wrong});
        EXPECT_EQ(refused.code, 2) << wrong << refused.out;
        EXPECT_TRUE(has(refused.err, "seconds from now, up to ten years, a time as in"))
            << refused.err;
    }
    const program_output late = here.ask("submit", {"resize", "--delay", "60", "--expires", "60"});
    EXPECT_EQ(late.code, 1);
    EXPECT_TRUE(has(late.err, "it must be after run_at")) << late.err;
}

TEST(TaskCommands, ShowsCallbacks) {
    const serving here({"--drain", "0.1"});
    const program_output done =
        here.ask("submit", {"echo", "1", "--wait", "--on-success", "https://127.0.0.1:1/good",
                            "--on-failure", "https://127.0.0.1:1/bad"});
    EXPECT_EQ(done.code, 0) << done.err;
    const std::string id = done.out.substr(0, done.out.find(' '));
    const boost::json::value task = parsed(here.ask("show", {id, "--json"}));
    ASSERT_EQ(task.at("callbacks").as_array().size(), 1U);
    const std::string callback(task.at("callbacks").at(0).as_string());
    const program_output shown = here.ask("show", {id});
    for (const std::string& part : {std::string("on_success      https://127.0.0.1:1/good\n"),
                                    std::string("on_failure      https://127.0.0.1:1/bad\n"),
                                    "callback        " + callback + "\n"}) {
        EXPECT_TRUE(has(shown.out, part)) << part << shown.out;
    }
    EXPECT_TRUE(has(here.ask("show", {callback}).out, "http\n"));
    const program_output refused = here.ask("submit", {"echo", "1", "--on-success", "nowhere"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(has(refused.err, "on_success")) << refused.err;
}

}  // namespace
}  // namespace weir_test
