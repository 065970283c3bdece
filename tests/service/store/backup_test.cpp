// SPDX-License-Identifier: MIT
// Backups of a store: complete, of one moment, and never in the place of something else.

#include "stores.hpp"
#include <support/io.hpp>

#include <weir/gather.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

using namespace store_test;
namespace fs = std::filesystem;
namespace sqlite = weir::sqlite;

struct place {
    weir_test::temporary_folder folder;
    std::string path() const { return (folder.path() / "tasks.db").string(); }
};

task<std::unique_ptr<store>> open_quickly(std::string path) {
    sqlite_store_options options;
    options.is_durable = false;
    std::unique_ptr<store> opened = co_await open_sqlite_store(path, options);
    co_return opened;
}

task<> submit_to(store& target, std::size_t count) {
    std::vector<new_task> some(count, bench::make());
    co_await target.submit(std::move(some), bench().now);
}

task<std::uint64_t> pending_in(store& in) {
    const std::vector<queue_record> queues = co_await in.queues();
    co_return queues.empty() ? 0 : queues.at(0).count(task_state::pending);
}

task<std::string> refusal_of_backup(std::string path, std::string target, bool is_replacing) {
    std::string why;
    try {
        co_await back_up_sqlite_store(path, target, is_replacing);
    } catch (const store_unavailable& error) {
        why = error.what();
    }
    co_return why;
}

std::size_t files_in(const fs::path& folder) {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// The copy has all tasks of one moment, and counts that match them.
WEIR_IO_TEST(StoreBackup, IsMadeWhileTheStoreIsUsed) {
    const place at;
    const place copies;
    std::unique_ptr<store> kept = co_await open_quickly(at.path());
    co_await submit_to(*kept, 2000);
    bool is_done = false;
    const auto submit_always = [&]() -> task<> {
        while (!is_done) {
            co_await submit_to(*kept, 1);
        }
    };
    sqlite_file_facts facts;
    const auto back_up = [&]() -> task<> {
        facts = co_await back_up_sqlite_store(at.path(), copies.path());
        is_done = true;
    };
    co_await weir::gather(submit_always(), back_up());
    EXPECT_TRUE(facts.exists);
    EXPECT_GE(facts.tasks[0], 2000U);
    EXPECT_EQ(files_in(copies.folder.path()), 1U);
    std::unique_ptr<store> copy = co_await open_quickly(copies.path());
    const std::uint64_t copied = co_await pending_in(*copy);
    EXPECT_EQ(copied, facts.tasks[0]);
    const std::uint64_t pending = co_await pending_in(*kept);
    EXPECT_LE(copied, pending);
    co_await copy->close();
    co_await kept->close();
    copy = nullptr;
    kept = nullptr;
    co_await inspect_sqlite(copies.folder.path().string());
    co_await inspect_sqlite(at.folder.path().string());
}

// A crash leaves the latest commits in the log.
WEIR_IO_TEST(StoreBackup, HasTheCommitsThatACrashLeftInTheLog) {
    const place at;
    const place crashed;
    const place copies;
    std::unique_ptr<store> kept = co_await open_quickly(at.path());
    co_await submit_to(*kept, 7);
    fs::copy_file(at.path(), crashed.path());
    fs::copy_file(at.path() + "-wal", crashed.path() + "-wal");
    co_await kept->close();
    kept = nullptr;
    const sqlite_file_facts facts = co_await back_up_sqlite_store(crashed.path(), copies.path());
    EXPECT_EQ(facts.tasks[0], 7U);
}

// At any moment: the backup is complete, or no file is there.
WEIR_IO_TEST(StoreBackup, AStopLeavesNothingUnfinished) {
    const place at;
    std::unique_ptr<store> kept = co_await open_quickly(at.path());
    co_await submit_to(*kept, 3000);
    const auto back_up = [&](std::string target) -> task<bool> {
        co_await back_up_sqlite_store(at.path(), target);
        co_return true;
    };
    for (const auto delay :
         {0us, 300us, 1000us, 3000us, 6000us, 10'000us, 20'000us, 10'000'000us}) {
        const place copies;
        const bool is_done = co_await weir::timeout_or(delay, back_up(copies.path()), false);
        const bool exists = fs::exists(copies.path());
        EXPECT_TRUE(exists || !is_done) << delay.count();
        EXPECT_EQ(files_in(copies.folder.path()), exists ? 1U : 0U) << delay.count();
        if (exists) {
            const sqlite_file_facts facts = co_await look_at_sqlite_store(copies.path());
            EXPECT_EQ(facts.tasks[0], 3000U) << delay.count();
        }
    }
    co_await kept->close();
}

WEIR_IO_TEST(StoreBackup, ReplacesNothingByMistake) {
    const place at;
    const place copies;
    std::unique_ptr<store> kept = co_await open_quickly(at.path());
    co_await submit_to(*kept, 3);
    co_await kept->close();
    kept = nullptr;
    EXPECT_EQ(files_in(at.folder.path()), 1U);
    std::string why = co_await refusal_of_backup(at.path(), copies.path(), false);
    EXPECT_EQ(why, "");
    why = co_await refusal_of_backup(at.path(), copies.path(), false);
    EXPECT_NE(why.find("exists already"), std::string::npos) << why;
    why = co_await refusal_of_backup(at.path(), copies.path(), true);
    EXPECT_EQ(why, "");
    why = co_await refusal_of_backup(at.path(), at.path(), true);
    EXPECT_NE(why.find("the task store itself"), std::string::npos) << why;
    why = co_await refusal_of_backup(at.path(), copies.folder.path().string(), true);
    EXPECT_NE(why.find("not a file"), std::string::npos) << why;
    why = co_await refusal_of_backup(copies.path() + ".none", at.path() + ".copy", false);
    EXPECT_NE(why.find("does not exist"), std::string::npos) << why;
    EXPECT_EQ(files_in(copies.folder.path()), 1U);
    EXPECT_EQ(files_in(at.folder.path()), 1U);
}

// Looking at it does not change it either.
WEIR_IO_TEST(StoreBackup, RefusesTheDatabaseOfAnotherProgram) {
    const place at;
    const place copies;
    {
        sqlite::open_options alone;
        alone.readers = 0;
        sqlite::database other = co_await sqlite::open(at.path(), alone);
        co_await other.script("CREATE TABLE notes(text)");
        co_await other.execute_alone("PRAGMA journal_mode = DELETE");
        co_await other.close();
    }
    std::ifstream before(at.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(before), {});
    const std::string why = co_await refusal_of_backup(at.path(), copies.path(), false);
    EXPECT_NE(why.find("database of another program"), std::string::npos) << why;
    std::ifstream after(at.path(), std::ios::binary);
    EXPECT_EQ(bytes, std::string(std::istreambuf_iterator<char>(after), {}));
    EXPECT_EQ(files_in(copies.folder.path()), 0U);
}

}  // namespace
