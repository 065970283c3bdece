// SPDX-License-Identifier: MIT
// weir queues, pause, resume, redrive, schedules: what they print, and how they end.

#include "commands.hpp"

namespace weir_test {
namespace {

TEST(QueueCommands, ShowsCountsLimitsAndPauses) {
    const serving here({"--drain", "0.1"});
    EXPECT_EQ(here.ask("queues").out, "");
    EXPECT_TRUE(has(on_terminal(here, {"queues"}, 80), "no queues yet"));
    submit(here, {"echo", "1", "--queue", "mail", "--delay", "1000"});
    submit_failing(here, {"--queue", "mail"});
    request("PATCH", here.url + "/queues/mail",
            R"({"rate": 2.5, "burst": 5, "max_running": 4, "max_pending": 1000,
                "key_max_running": 1, "key_rate": 3})");
    submit_failing(here, {"--queue", "other"});
    const program_output output = here.ask("queues");
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_EQ(output.out,
              "mail\tactive\t1\t0\t0\t0\t1\t0\tpending 1000, running 4, rate 2.5/s burst 5, "
              "key running 1, key rate 3/s\n"
              "other\tactive\t0\t0\t0\t0\t1\t0\t\n");
    const std::string shown = on_terminal(here, {"queues"}, 200);
    ASSERT_EQ(lines_in(shown).size(), 3U) << shown;
    EXPECT_TRUE(lines_in(shown)[0].starts_with("queue  state   pending  due  running")) << shown;
    EXPECT_TRUE(lines_in(shown)[1].starts_with("mail   active        1    0        0")) << shown;
    const boost::json::value json = parsed(here.ask("queues", {"--json"}));
    EXPECT_EQ(json.at("queues").at(0).at("limits").at("max_running"), 4);
    EXPECT_TRUE(has(here.ask("status").out, "mail"));  // the older command is as it was
}

TEST(QueueCommands, QueuesArePausedAndResumed) {
    serving here({"--drain", "0.1"});
    submit_failing(here, {"--queue", "mail"});
    submit_failing(here, {"--queue", "a b/c"});
    const program_output paused = here.ask("pause", {"mail", "a b/c"});
    EXPECT_EQ(paused.code, 0) << paused.err;
    EXPECT_EQ(paused.out, "mail\tpaused\na b/c\tpaused\n");
    EXPECT_EQ(fields_in(here.ask("queues").out, 1), (std::vector<std::string>{"paused", "paused"}));
    const std::string held = submit(here, {"echo", "1", "--queue", "mail"});
    EXPECT_TRUE(has(here.ask("show", {held}).out, "the queue 'mail' is paused"));
    const program_output resumed = here.ask("resume", {"mail"});
    EXPECT_EQ(resumed.out, "mail\tactive\n") << resumed.err;
    here.wait_until([&] { return has(here.ask("list", {"--state", "completed"}).out, held); });
    const boost::json::value json = parsed(here.ask("resume", {"a b/c", "--json"}));
    EXPECT_EQ(json.at("name").as_string(), "a b/c");
    EXPECT_FALSE(json.at("is_paused").as_bool());
}

// The service itself would create them.
TEST(QueueCommands, UnknownQueuesAreRefused) {
    const serving here({"--drain", "0.1"});
    const program_output none = here.ask("pause", {"mail"});
    EXPECT_EQ(none.code, 1);
    EXPECT_TRUE(has(none.err, "there is no queue 'mail'; there are none yet")) << none.err;
    submit_failing(here, {"--queue", "mail"});
    submit_failing(here, {"--queue", "reports"});
    for (const char* const command : {"pause", "resume", "redrive"}) {
        const program_output near = here.ask(command, {"mial"});
        EXPECT_EQ(near.code, 1) << command;
        EXPECT_TRUE(has(near.err, "there is no queue 'mial'; did you mean 'mail'?")) << near.err;
        const program_output far = here.ask(command, {"something-else"});
        EXPECT_EQ(far.code, 1) << command;
        EXPECT_TRUE(has(far.err, "'something-else'; there are: mail, reports")) << far.err;
    }
    const program_output one = here.ask("pause", {"mial", "mail", "--json"});
    EXPECT_EQ(one.code, 1);
    ASSERT_EQ(lines_in(one.out).size(), 2U) << one.out;
    EXPECT_TRUE(has(lines_in(one.out)[0], R"("queue":"mial","error":{"status":404)")) << one.out;
    EXPECT_TRUE(has(lines_in(one.out)[1], R"("is_paused":true)")) << one.out;
    EXPECT_EQ(lines_in(here.ask("queues").out).size(), 2U);
    EXPECT_EQ(here.ask("pause").code, 2);
    EXPECT_EQ(here.ask("redrive").code, 2);
}

TEST(QueueCommands, FailedTasksAreRedrivenByFilter) {
    const serving here({"--drain", "0.1"});
    for (const char* const tag : {"red", "red", "blue"}) {
        submit_failing(here, {"--queue", "mail", "--tag", tag});
    }
    EXPECT_EQ(here.ask("pause", {"mail"}).code, 0);  // so that they do not fail again at once
    const auto redriven = [&](std::vector<std::string> filters) {
        filters.insert(filters.begin(), "mail");
        const program_output output = here.ask("redrive", std::move(filters));
        EXPECT_EQ(output.code, 0) << output.err;
        return output.out;
    };
    EXPECT_EQ(redriven({"--kind", "sleep"}), "mail\t0\n");
    EXPECT_EQ(redriven({"--to", "2020-01-01"}), "mail\t0\n");
    EXPECT_EQ(redriven({"--tag", "red", "--limit", "1"}), "mail\t1\n");
    const boost::json::value json = parsed(here.ask("redrive", {"mail", "-t", "red", "--json"}));
    EXPECT_EQ(json.at("redriven"), 1);
    EXPECT_TRUE(has(on_terminal(here, {"redrive", "mail"}, 80), "1 failed task is pending again"));
    EXPECT_EQ(lines_in(here.ask("list", {"-q", "mail", "--state", "pending"}).out).size(), 3U);
    const program_output refused = here.ask("redrive", {"mail", "--from", "soon"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_TRUE(has(refused.err, "--from is 'soon'")) << refused.err;
}

TEST(QueueCommands, ListsSchedules) {
    const serving here({"--drain", "0.1"});
    EXPECT_EQ(here.ask("schedules").out, "");
    EXPECT_TRUE(has(on_terminal(here, {"schedules"}, 80), "no schedules"));
    request("PUT", here.url + "/schedules/nightly",
            R"({"cron": "0 3 * * *", "zone": "Europe/Berlin",
                "task": {"kind": "echo", "queue": "reports"}})");
    request("PUT", here.url + "/schedules/yearly",
            R"({"cron": "@yearly", "is_paused": true, "task": {"kind": "sleep", "payload": 1}})");
    const program_output output = here.ask("schedules");
    EXPECT_EQ(output.code, 0) << output.err;
    ASSERT_EQ(lines_in(output.out).size(), 2U) << output.out;
    EXPECT_TRUE(lines_in(output.out)[0].starts_with(
        "nightly\tactive\t0 3 * * *\tEurope/Berlin\techo\treports\t20"))
        << output.out;
    EXPECT_TRUE(lines_in(output.out)[1].starts_with("yearly\tpaused\t@yearly\tUTC\tsleep\tdefault"))
        << output.out;
    EXPECT_TRUE(has(on_terminal(here, {"schedules"}, 120), "schedule  state   cron"));
    const boost::json::value json = parsed(here.ask("schedules", {"--json"}));
    EXPECT_EQ(json.at("schedules").at(0).at("name").as_string(), "nightly");
}

TEST(QueueCommands, ChangesSchedules) {
    const serving here({"--drain", "0.1"});
    const program_output added =
        here.ask("schedules", {"add", "nightly", "0 3 * * *", "echo", R"({"a": 1.10})", "--zone",
                               "Europe/Berlin", "--queue", "reports", "--overlap", "skip"});
    EXPECT_EQ(added.code, 0) << added.err;
    EXPECT_TRUE(added.out.starts_with("nightly\t20")) << added.out;
    const boost::json::value plan = parsed(here.ask("schedules", {"--json"})).at("schedules").at(0);
    EXPECT_EQ(plan.at("overlap").as_string(), "skip");
    EXPECT_EQ(plan.at("missed").as_string(), "run_latest");
    EXPECT_EQ(plan.at("zone").as_string(), "Europe/Berlin");
    EXPECT_EQ(plan.at("task").at("queue").as_string(), "reports");

    EXPECT_EQ(here.ask("schedules", {"pause", "nightly"}).out, "nightly\tpaused\n");
    EXPECT_TRUE(has(here.ask("schedules").out, "nightly\tpaused"));
    EXPECT_EQ(here.ask("schedules", {"resume", "nightly"}).out, "nightly\tactive\n");
    const program_output run = here.ask("schedules", {"run", "nightly", "other"});
    EXPECT_EQ(run.code, 1);
    EXPECT_TRUE(has(run.err, "there is no schedule 'other'")) << run.err;
    const std::string id = split_at(lines_in(run.out).at(0), '\t').at(1);
    EXPECT_TRUE(has(here.ask("schedules").out, " " + id)) << "the last task";
    EXPECT_TRUE(has(here.ask("show", {id}).out, R"({"a":1.1)"));
    EXPECT_EQ(here.ask("schedules", {"remove", "nightly"}).out, "nightly\tremoved\n");
    EXPECT_EQ(here.ask("schedules").out, "");

    for (const std::vector<std::string>& words : {std::vector<std::string>{"add", "a", "@daily"},
                                                  {"run"},
                                                  {"start", "a"},
                                                  {"add", "a", "@daily", "echo", "1", "2"},
                                                  {"add", "a", "@daily", "echo", "no JSON"}}) {
        EXPECT_EQ(here.ask("schedules", words).code, 2) << words.front();
    }
    const program_output refused = here.ask("schedules", {"add", "a", "@every 1ms", "echo"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(has(refused.err, "cron")) << refused.err;
}

}  // namespace
}  // namespace weir_test
