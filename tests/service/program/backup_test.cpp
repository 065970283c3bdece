// SPDX-License-Identifier: MIT
// weir backup: copies of a database that a service uses.

#include "commands.hpp"

#include <sys/stat.h>

namespace weir_test {
namespace {

namespace fs = std::filesystem;

TEST(Backup, IsMadeWhileTheServiceRuns) {
    serving here({"--drain", "0.1"});
    const std::string failed = submit_failing(here, {"--queue", "mail"});
    const std::string later = submit(here, {"echo", "[1, 2]", "--delay", "1000"});
    const std::string database = here.folder / "tasks.db";
    const std::string file = here.folder / "it's a backup.db";
    const program_output made = call({"backup", file, "--database", database});
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_TRUE(has(made.out, file + ": 2 tasks, ")) << made.out;
    struct stat found{};
    ASSERT_EQ(::stat(file.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600U);  // as private as the database

    // What came after it is not in it, and the service goes on.
    const std::string after = submit(here, {"echo", "1", "--delay", "1000"});
    EXPECT_EQ(here.end(), 0) << here.err();
    const serving restored({"--drain", "0.1", "--database", file});
    const program_output all = restored.ask("list");
    EXPECT_EQ(fields_in(all.out, 0), (std::vector<std::string>{later, failed})) << all.out;
    const boost::json::value task = parsed(restored.ask("show", {later, "--json"}));
    EXPECT_EQ(weir::http::to_json(task.at("payload")), "[1,2]");
    EXPECT_NE(after, later);
}

TEST(Backup, ReplacesAFileOnlyIfTold) {
    const serving here({"--drain", "0.1"});
    submit_failing(here);
    const std::string database = here.folder / "tasks.db";
    const std::string file = here.folder.write("backup.db", "another file");
    const program_output refused = call({"backup", file, "-d", database});
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(has(refused.err, file + " exists already; --force replaces it")) << refused.err;
    EXPECT_EQ(here.folder.read("backup.db"), "another file");
    const boost::json::value facts =
        parsed(call({"backup", file, "-d", database, "--force", "--json"}));
    EXPECT_EQ(facts.at("file").as_string(), file);
    EXPECT_EQ(facts.at("database").as_string(), database);
    EXPECT_EQ(facts.at("bytes").to_number<std::uintmax_t>(), fs::file_size(file));
    EXPECT_EQ(facts.at("counts").at("failed"), 1);
    EXPECT_EQ(facts.at("counts").at("pending"), 0);
    EXPECT_TRUE(here.folder.read("backup.db").starts_with("SQLite format 3"));
    const program_output itself = call({"backup", database, "-d", database, "--force"});
    EXPECT_EQ(itself.code, 1);
    EXPECT_TRUE(has(itself.err, "the task store itself")) << itself.err;
    EXPECT_EQ(here.ask("submit", {"echo", "1", "--wait"}).code, 0);
}

TEST(Backup, FindsTheDatabaseOfTheService) {
    const temporary_folder folder;
    const std::string database = folder / "tasks.db";
    {
        serving here({"--drain", "0.1", "--database", database});
        submit_failing(here);
        EXPECT_EQ(here.end(), 0);
    }
    const std::string config =
        folder.write("weir.toml", "[serve]\ndatabase = '" + database + "'\n");
    EXPECT_EQ(call({"backup", folder / "a.db", "-c", config}).code, 0);
    EXPECT_EQ(call({"backup", folder / "b.db"}, {"WEIR_CONFIG=" + config}).code, 0);
    EXPECT_EQ(call({"backup", folder / "c.db"}, {"WEIR_DATABASE=" + database}).code, 0);
    const std::string own = folder.write(
        "own.toml", "[serve]\ndatabase = '/nowhere'\n[backup]\ndatabase = '" + database + "'\n");
    EXPECT_EQ(call({"backup", folder / "d.db", "-c", own}).code, 0);
    for (const char* const name : {"a.db", "b.db", "c.db", "d.db"}) {
        EXPECT_TRUE(folder.read(name).starts_with("SQLite format 3")) << name;
    }
}

TEST(Backup, SaysWhyItCannotBeMade) {
    const temporary_folder folder;
    const std::string target = folder / "backup.db";
    const std::string text = folder.write("text", std::string(5000, 'x'));
    const std::string empty = folder.write("empty", "");
    const struct {
        std::vector<std::string> words;
        int code;
        std::string message;
    } all[] = {
        {{target, "-d", "/nowhere/tasks.db"}, 1, "/nowhere/tasks.db does not exist"},
        {{target, "-d", folder.path()}, 1, "is not a file"},
        {{target, "-d", text}, 1, "is not a SQLite database"},
        {{target, "-d", empty}, 1, "is empty, and no task store"},
        {{}, 2, "file is required"},
    };
    for (const auto& each : all) {
        std::vector<std::string> words = each.words;
        words.insert(words.begin(), "backup");
        const program_output output = call(words);
        EXPECT_EQ(output.code, each.code) << each.message << output.out;
        EXPECT_TRUE(has(output.err, each.message)) << each.message << ": " << output.err;
    }
    serving here({"--drain", "0.1"});
    const std::string database = here.folder / "tasks.db";
    const program_output nowhere = call({"backup", "/nowhere/backup.db", "-d", database});
    EXPECT_EQ(nowhere.code, 1);
    EXPECT_TRUE(has(nowhere.err, "/nowhere/backup.db cannot be written: No such file"))
        << nowhere.err;
    // Nothing is left behind.
    for (const fs::directory_entry& each : fs::directory_iterator(folder.path())) {
        EXPECT_FALSE(each.path().filename().string().starts_with("backup.db")) << each.path();
    }
}

}  // namespace
}  // namespace weir_test
