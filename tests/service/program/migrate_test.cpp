// SPDX-License-Identifier: MIT
// weir migrate: a service that runs moves its own tasks, and goes on.

#include "commands.hpp"
#include <support/peers/postgres.hpp>

#include <weir/db/pg/connection.hpp>
#include <weir/run.hpp>

namespace weir_test {
namespace {

TEST(Migrate, MovesTheTasksOfAServiceThatRuns) {
    postgres server;
    serving here({"--drain", "0.1"});
    const std::string failed = submit_failing(here, {"--queue", "mail"});
    const std::string running = submit(here, {"sleep", R"({"seconds": 3})"});
    const std::string later = submit(here, {"echo", "[1, 2]", "--delay", "1000"});
    const std::string database = here.folder / "tasks.db";

    const program_output checked = here.ask("migrate", {"--to", server.url(), "--check"});
    EXPECT_EQ(checked.code, 0) << checked.err;
    EXPECT_TRUE(has(checked.out, "3 tasks can be moved")) << checked.out;
    const boost::json::value moved =
        parsed(here.ask("migrate", {"--to", server.url(), "-d", database, "--json"}));
    EXPECT_EQ(moved.at("is_moved"), true);
    EXPECT_EQ(moved.at("from").as_string(), database);
    EXPECT_GT(moved.at("held_seconds").to_number<double>(), 0);
    const program_output again = here.ask("migrate", {server.url()});
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_TRUE(has(again.out, "were moved before")) << again.out;

    // The same process, with the same run of the task that was running.
    EXPECT_EQ(here.ask("submit", {"echo", "1", "--wait"}).code, 0);
    const boost::json::value ran = parsed(here.ask("show", {running, "--json"}));
    EXPECT_EQ(ran.at("run"), 1);
    const program_output other = here.ask("migrate", {here.folder / "a.db", "-d", "/tmp/other.db"});
    EXPECT_EQ(other.code, 1);
    EXPECT_TRUE(has(other.err, "not in /tmp/other.db")) << other.err;

    const program_output back = here.ask("migrate", {here.folder / "back.db", "-d", server.url()});
    EXPECT_EQ(back.code, 0) << back.err;
    EXPECT_TRUE(has(back.out, "writes waited")) << back.out;
    EXPECT_EQ(here.ask("submit", {"echo", "1", "--wait"}).code, 0);
    const program_output none = here.ask("migrate", {server.url(), "--abort"});
    EXPECT_EQ(none.code, 1);
    EXPECT_TRUE(has(none.err, "not being moved")) << none.err;
    EXPECT_EQ(here.end(), 0) << here.err();

    // A service that is started with the first file follows to where its tasks are.
    const serving followed({"--drain", "0.1", "--database", database});
    EXPECT_TRUE(has(followed.err(), "was moved to")) << followed.err();
    const program_output all = followed.ask("list");
    EXPECT_TRUE(has(all.out, failed) && has(all.out, later) && has(all.out, running)) << all.out;
}

// systemd does not start it again then.
TEST(Migrate, TablesOfANewerProgramEndAnOlderOneWithCode78) {
    postgres server;
    {
        serving here({"--drain", "0.1", "--migrate", "--database", server.url()});
        EXPECT_EQ(here.ask("submit", {"echo", "1", "--wait"}).code, 0);
        EXPECT_EQ(here.end(), 0) << here.err();
    }
    const auto raise_version = [&]() -> weir::task<> {
        weir::pg::connection tables = co_await weir::pg::connect({.url = server.url()});
        co_await tables.query(
            "UPDATE weir.meta SET value = value + 1000 WHERE name IN ('weir_task_store', "
            "'oldest_program')");
        tables.close();
    };
    weir::run(raise_version());
    const program_output refused =
        call({"serve", "--listen", "127.0.0.1:0", "--database", server.url()});
    EXPECT_EQ(refused.code, 78) << refused.err;
    EXPECT_TRUE(has(refused.err, "use a newer program")) << refused.err;
}

}  // namespace
}  // namespace weir_test
