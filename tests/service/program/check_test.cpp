// SPDX-License-Identifier: MIT
// weir serve --check: finds errors that would keep the service from running, and changes nothing.

#include "support.hpp"

#include <weir/db/sqlite/database.hpp>

#include <sys/stat.h>

#include <map>

namespace weir_test {
namespace {

// Names, sizes and times of all that is in a folder.
std::map<std::string, std::pair<std::uintmax_t, std::filesystem::file_time_type>> state_of(
    const std::filesystem::path& folder) {
    std::map<std::string, std::pair<std::uintmax_t, std::filesystem::file_time_type>> all;
    for (const auto& each : std::filesystem::directory_iterator(folder)) {
        all[each.path().filename()] = {each.file_size(), each.last_write_time()};
    }
    return all;
}

program_output check(std::vector<std::string> more) {
    more.insert(more.begin(), {"serve", "--check"});
    return call(std::move(more), {"WEIR_LISTEN=127.0.0.1:0"});
}

TEST(Check, ChangesNothing) {
    const temporary_folder folder;
    const std::string database = folder / "tasks.db";
    const program_output fresh = check({"-d", database});
    EXPECT_EQ(fresh.code, 0) << fresh.out;
    EXPECT_TRUE(has(fresh.out, "does not exist yet")) << fresh.out;
    EXPECT_TRUE(state_of(folder.path()).empty());

    serving here({"--drain", "0.1"});
    EXPECT_EQ(here.ask("submit", {"sleep", "1000"}).code, 0);
    const std::string kept = here.folder / "tasks.db";
    const program_output running = check({"-d", kept});  // while it is in use
    EXPECT_EQ(running.code, 0) << running.out;
    EXPECT_TRUE(has(running.out, "1 running") || has(running.out, "1 pending")) << running.out;
    EXPECT_EQ(here.end(), 0);
    const auto before = state_of(here.folder.path());
    const program_output ended = check({"-d", kept});
    EXPECT_EQ(ended.code, 0) << ended.out;
    EXPECT_TRUE(has(ended.out, "; tasks: ")) << ended.out;
    EXPECT_TRUE(has(ended.out, "1 pending")) << ended.out;
    EXPECT_EQ(state_of(here.folder.path()), before);
}

TEST(Check, SaysWhatIsWrong) {
    const temporary_folder folder;
    const auto expect = [](const program_output& answer, std::string_view part) {
        EXPECT_EQ(answer.code, 1) << part << answer.out;
        EXPECT_TRUE(has(answer.out, "WRONG")) << answer.out;
        EXPECT_TRUE(has(answer.out, part)) << answer.out;
    };
    expect(check({"-d", "/nowhere/at/all/tasks.db"}), "the folder /nowhere/at/all does not exist");
    expect(check({"-d", folder.path().string()}), "is not a file");
    expect(check({"-d", folder.write("text", std::string(1000, 'x'))}), "not a SQLite database");
    const std::string good = folder / "good.db";
    expect(check({"-d", good, "--allow-command", "a=/nowhere/at/all"}), "no program /nowhere");
    expect(check({"-d", good, "--allow-command", "a=nothing-of-that-name"}), "in PATH");
    expect(check({"-d", good, "--allow-command", "a=" + folder.write("data", "").string()}),
           "not an executable file");
    expect(check({"-d", good, "-l", "192.0.2.1:0", "--token-file",
                  folder.write("token", "a-token-that-nobody-guesses")}),
           "does not have this address");
    if (::geteuid() != 0) {  // root is allowed everything
        const std::string closed = folder.write("closed.db", "");
        ::chmod(closed.c_str(), 0400);
        expect(check({"-d", closed}), "is not readable and writable");
    }
    EXPECT_EQ(check({"-d", good, "--allow-command", "a=cat -u"}).code, 0);
}

TEST(Check, LooksAtVersionsAndSchedules) {
    serving here({"--drain", "0.1"});
    EXPECT_EQ(here.end(), 0);
    const std::string kept = here.folder / "tasks.db";
    const auto change = [&](const std::string& sql) {
        const auto body = [&]() -> weir::task<> {
            weir::sqlite::database file = co_await weir::sqlite::open(kept);
            co_await file.execute_alone(sql);
            co_await file.close();
        };
        weir::run(body());
    };
    change(
        "INSERT INTO schedules VALUES('nightly', '0 3 * * *', 'Mars/Phobos', 0, 0, '{}', 0, NULL,"
        " NULL, 0)");
    const program_output zone = check({"-d", kept});
    EXPECT_EQ(zone.code, 1) << zone.out;
    EXPECT_TRUE(has(zone.out, "nightly") && has(zone.out, "Mars/Phobos")) << zone.out;
    change("UPDATE schedules SET zone = 'Europe/Berlin'");
    const program_output plain = check({"-d", kept});
    EXPECT_EQ(plain.code, 0);
    EXPECT_FALSE(has(plain.out, "warn")) << plain.out;
    change("UPDATE schedules SET cron = '0 3 */2 * mon'");
    const program_output odd = check({"-d", kept});
    EXPECT_EQ(odd.code, 0) << odd.out;
    EXPECT_TRUE(has(odd.out, "warn") && has(odd.out, "nightly: cron '0 3 */2 * mon'") &&
                has(odd.out, "must both hold"))
        << odd.out;
    change("PRAGMA user_version = 1000");
    const program_output newer = check({"-d", kept});
    EXPECT_EQ(newer.code, 1) << newer.out;
    EXPECT_TRUE(has(newer.out, "version 1000")) << newer.out;
    change("PRAGMA application_id = 7");
    EXPECT_TRUE(has(check({"-d", kept}).out, "another program"));
}

}  // namespace
}  // namespace weir_test
