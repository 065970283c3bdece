// SPDX-License-Identifier: MIT
// Files of older versions, and files that are moved, deleted or replaced while they are open.

#include "service/store/sqlite/file/schema.hpp"
#include "stores.hpp"
#include "version_1.hpp"
#include <support/io.hpp>

#include <weir/gather.hpp>
#include <weir/time.hpp>

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace {

using namespace store_test;
namespace fs = std::filesystem;
namespace sqlite = weir::sqlite;

struct place {
    weir_test::temporary_folder folder;
    std::string path() const { return (folder.path() / "tasks.db").string(); }
};

timestamp start() {
    return bench().now;
}

task<std::unique_ptr<store>> open_quickly(std::string path) {
    sqlite_store_options options;
    options.is_durable = false;
    std::unique_ptr<store> opened = co_await open_sqlite_store(path, options);
    co_return opened;
}

// ---- versions

task<> make_version_1(std::string path) {
    sqlite::database file = co_await sqlite::open(path);
    co_await file.script(version_1);
    co_await file.script(version_1_tasks);
    co_await file.close();
}

task<std::int64_t> version_of(std::string path) {
    sqlite::database file = co_await sqlite::open(path);
    const sqlite::rows found = co_await file.query("PRAGMA user_version");
    co_await file.close();
    co_return found.one<std::int64_t>();
}

task<std::map<std::int64_t, task_detail>> all_tasks(store& in) {
    std::map<std::int64_t, task_detail> all;
    for (std::int64_t id = 100; id <= 106; ++id) {
        const std::optional<task_detail> found = co_await in.find(task_id(id));
        EXPECT_TRUE(found.has_value()) << id;
        all[id] = found.value_or(task_detail());
    }
    co_return all;
}

WEIR_IO_TEST(StoreFile, AFileOfVersion1LosesNothing) {
    const place at;
    co_await make_version_1(at.path());
    std::unique_ptr<store> kept = co_await open_quickly(at.path());
    const std::map<std::int64_t, task_detail> all = co_await all_tasks(*kept);
    const task_state states[] = {task_state::pending,   task_state::pending, task_state::running,
                                 task_state::completed, task_state::failed,  task_state::cancelled,
                                 task_state::pending};
    for (std::int64_t id = 100; id <= 106; ++id) {
        EXPECT_EQ(all.at(id).task.state, states[id - 100]) << id;
    }
    const task_record& due = all.at(100).task;
    EXPECT_EQ(due.priority, 5);
    EXPECT_EQ(due.retry.max_attempts, 7U);
    EXPECT_EQ(due.idempotency_key, "key");
    EXPECT_EQ(due.tags, std::vector<std::string>{"red"});
    EXPECT_EQ(due.payload, R"({"a":1})");
    EXPECT_EQ(all.at(101).task.failures, 1U);
    EXPECT_EQ(all.at(102).task.node, "runs");
    EXPECT_EQ(all.at(102).task.flow_key, "alice");
    EXPECT_EQ(all.at(103).task.result, "\"done\"");
    EXPECT_EQ(all.at(103).task.payload, "\"a long one\"");
    EXPECT_EQ(all.at(104).attempts.size(), 2U);
    EXPECT_EQ(all.at(106).task.queue, "mail");
    const std::vector<schedule_record> schedules = co_await kept->schedules();
    EXPECT_EQ(schedules.at(0).last_task, task_id(100));
    const std::vector<queue_record> queues = co_await kept->queues();
    EXPECT_EQ(queues.size(), 3U);
    EXPECT_EQ(queues.at(2).limits.max_running, 4U);  // mail
    EXPECT_TRUE(queues.at(2).is_paused);

    // The store keeps working: due tasks are claimed, tasks of the dead node are rescued, failed
    // tasks are retried.
    const timestamp now = start();
    co_await kept->heartbeat(bench::node("new", now + 1h), now);
    const heartbeat_answer late = co_await kept->heartbeat(bench::node("died", now + 1h), now);
    EXPECT_FALSE(late.is_alive);
    const rescue_result rescued = co_await kept->rescue(now, 3);
    EXPECT_EQ(rescued.returned, 1U);
    const change_result retried = co_await kept->retry(task_id(104), now);
    EXPECT_EQ(retried, change_result::done);
    co_await kept->pause("mail", false);
    claim_request request;
    request.node = "new";
    request.now = now;
    request.limit = 10;
    const claimed claim = co_await kept->claim(request);
    EXPECT_EQ(claim.tasks.size(), 4U);
    std::vector<settlement> ended;
    for (const task_record& each : claim.tasks) {
        ended.push_back(bench::ending(each, task_state::completed));
    }
    const std::vector<bool> written = co_await kept->settle("new", std::move(ended), now);
    EXPECT_EQ(written, std::vector<bool>(4, true));
    const std::size_t purged = co_await kept->purge({}, now + std::chrono::hours(24 * 40));
    EXPECT_EQ(purged, 6U);
    const std::vector<queue_record> left = co_await kept->queues();
    EXPECT_EQ(left.size(), 2U);  // one was forgotten
    co_await kept->close();
    kept = nullptr;
    co_await inspect_sqlite(at.folder.path().string());
    const std::int64_t version = co_await version_of(at.path());
    EXPECT_EQ(version, std::ssize(detail::schema_steps()));
}

// Tasks of a version without destinations run as they did, and get one when they are returned.
WEIR_IO_TEST(StoreFile, TasksOfVersion2GetTheirDestinations) {
    const place at;
    co_await make_version_1(at.path());
    {
        const std::span<const char* const> steps = detail::schema_steps().first(2);
        sqlite::database file = co_await sqlite::open(at.path());
        auto upgrade = [&](sqlite::session& on) {
            return detail::prepare_schema(on, at.path(), steps);
        };
        co_await file.write(upgrade);
        co_await file.close();
    }
    const std::int64_t before = co_await version_of(at.path());
    EXPECT_EQ(before, 2);
    std::unique_ptr<store> kept = co_await open_quickly(at.path());
    const timestamp now = start();
    co_await kept->heartbeat(bench::node("new", now + 1h), now);
    co_await kept->rescue(now, 3);
    co_await kept->limit_destinations("due", {.max_running = 1});
    claim_request request;
    request.node = "new";
    request.now = now;
    request.limit = 10;
    claimed claim = co_await kept->claim(request);
    EXPECT_EQ(claim.tasks.size(), 2U);
    std::vector<settlement> ended;
    for (const task_record& each : claim.tasks) {
        EXPECT_EQ(each.destination, "");
        settlement& returned = ended.emplace_back(bench::ending(each, task_state::pending));
        returned.due_at = now;
        returned.destination = "http://example.com";
    }
    co_await kept->settle("new", std::move(ended), now);
    claim = co_await kept->claim(request);
    EXPECT_EQ(claim.tasks.size(), 2U);  // they are of two kinds
    for (const task_record& each : claim.tasks) {
        EXPECT_EQ(each.destination, "http://example.com");
    }
    co_await kept->close();
    kept = nullptr;
    co_await inspect_sqlite(at.folder.path().string());
}

// A process of version 2 that still has the file open knows no branches: it hides flows that have
// only those, and cancels tasks without counting them. Tasks run all the same.
WEIR_IO_TEST(StoreFile, AProcessOfVersion2DoesNoHarm) {
    const place at;
    std::unique_ptr<store> kept = co_await open_quickly(at.path());
    const timestamp now = start();
    co_await kept->heartbeat(bench::node("new", now + 1h), now);
    std::vector<new_task> fresh(3, bench::make_for("a"));
    fresh.push_back(bench::make_for("b"));
    const std::vector<submit_result> made = co_await kept->submit(fresh, now);
    sqlite::database older = co_await sqlite::open(at.path());
    co_await older.script("UPDATE flows SET place = 0");
    claim_request request;
    request.node = "new";
    request.now = now;
    request.limit = 1;
    claimed claim = co_await kept->claim(request);
    EXPECT_EQ(claim.tasks.size(), 1U);
    const std::string cancel =
        "UPDATE tasks SET state = 4, line = 35, finished_at = 1 WHERE id = " +
        std::to_string(made[3].id.number()) +
        "; UPDATE queues SET pending = pending - 1, cancelled = 1";
    co_await older.script(cancel);
    co_await older.close();
    request.limit = 10;
    claim = co_await kept->claim(request);
    EXPECT_EQ(claim.tasks.size(), 2U);
    for (const task_record& each : claim.tasks) {
        EXPECT_EQ(each.destination, "a");
    }
    claim = co_await kept->claim(request);
    EXPECT_TRUE(claim.tasks.empty());
    const std::vector<destination_record> all = co_await kept->destinations(10, now);
    EXPECT_EQ(all.size(), 2U);
    for (const destination_record& each : all) {
        EXPECT_EQ(each.due, 0U) << each.name;
    }
    co_await kept->close();
    kept = nullptr;
}

// A step fails half-way: it is rolled back, and the previous version stays intact.
WEIR_IO_TEST(StoreFile, AStepThatFailsLeavesTheVersionBefore) {
    const place at;
    co_await make_version_1(at.path());
    const std::span<const char* const> real = detail::schema_steps();
    const std::vector<const char*> steps = {real[0],
                                            "ALTER TABLE queues ADD COLUMN used_at INTEGER;"
                                            "DELETE FROM tasks; CREATE TABLE queues(x)"};
    {
        sqlite::database file = co_await sqlite::open(at.path());
        std::string why;
        try {
            auto fails = [&](sqlite::session& on) {
                return detail::prepare_schema(on, at.path(), steps);
            };
            co_await file.write(fails);
        } catch (const sqlite::error& error) {
            why = error.what();
        }
        EXPECT_NE(why.find("from version 1 to 2"), std::string::npos) << why;
        const sqlite::rows tasks = co_await file.query("SELECT count(*) FROM tasks");
        EXPECT_EQ(tasks.one<std::int64_t>(), 7);
        const sqlite::rows column = co_await file.query(
            "SELECT count(*) FROM pragma_table_info('queues') WHERE name = 'used_at'");
        EXPECT_EQ(column.one<std::int64_t>(), 0);
        co_await file.close();
    }
    const std::int64_t before = co_await version_of(at.path());
    EXPECT_EQ(before, 1);
    std::unique_ptr<store> kept = co_await open_quickly(at.path());
    const std::map<std::int64_t, task_detail> all = co_await all_tasks(*kept);
    EXPECT_EQ(all.size(), 7U);
    co_await kept->close();
    kept = nullptr;
    co_await inspect_sqlite(at.folder.path().string());
}

// As processes that are started together do: each step is done by one of them, and once.
WEIR_IO_TEST(StoreFile, SeveralMayBringAFileUpToDate) {
    for (const bool is_old : {true, false}) {
        const place at;
        if (is_old) {
            co_await make_version_1(at.path());
        }
        std::vector<std::unique_ptr<store>> all(6);
        const auto opens = [&](std::size_t which) -> task<> {
            all[which] = co_await open_quickly(at.path());
            co_await all[which]->probe({});
        };
        auto together = [&](weir::task_group& group) -> task<> {
            for (std::size_t i = 0; i < all.size(); ++i) {
                group.spawn(opens(i));
            }
            co_return;
        };
        co_await weir::with_group(together);
        for (const auto& each : all) {
            co_await each->close();
        }
        all.clear();
        co_await inspect_sqlite(at.folder.path().string());
        const std::int64_t version = co_await version_of(at.path());
        EXPECT_EQ(version, std::ssize(detail::schema_steps()));
    }
}

// ---- places

// Empty if it was made.
task<std::string> refusal_of_submit(store& target) {
    std::string why;
    try {
        std::vector<new_task> one(1, bench::make());
        co_await target.submit(std::move(one), start());
    } catch (const store_unavailable& error) {
        why = error.what();
    }
    co_return why;
}

task<bool> comes_back(store& in) {
    for (int i = 0; i < 400; ++i) {
        const std::string why = co_await refusal_of_submit(in);
        if (why.empty()) {
            co_return true;
        }
        co_await weir::sleep(25ms);
    }
    co_return false;
}

task<std::uint64_t> pending_in(store& in) {
    const std::vector<queue_record> queues = co_await in.queues();
    co_return queues.empty() ? 0 : queues.at(0).count(task_state::pending);
}

task<> expect_lost(store& in) {
    for (int i = 0; i < 2; ++i) {
        const std::string why = co_await refusal_of_submit(in);
        EXPECT_NE(why.find("deleted, moved or replaced"), std::string::npos) << why;
        bool is_refused = false;
        try {
            co_await in.queues();
        } catch (const store_unavailable&) {
            is_refused = true;
        }
        EXPECT_TRUE(is_refused);
        if (i == 0) {
            co_await weir::sleep(320ms);  // so that the existing file is tried
        }
    }
}

task<> make_backup(std::string path, std::size_t tasks) {
    std::unique_ptr<store> target = co_await open_quickly(path);
    std::vector<new_task> some(tasks, bench::make());
    co_await target->submit(std::move(some), start());
    co_await target->close();
}

WEIR_IO_TEST(StoreFile, AFileThatIsBackIsUsedAgain) {
    const place at;
    std::unique_ptr<store> kept = co_await open_quickly(at.path());
    std::string why = co_await refusal_of_submit(*kept);
    EXPECT_EQ(why, "");
    fs::rename(at.path(), at.path() + ".away");
    co_await expect_lost(*kept);
    fs::rename(at.path() + ".away", at.path());
    why = co_await refusal_of_submit(*kept);
    EXPECT_EQ(why, "");
    std::uint64_t pending = co_await pending_in(*kept);
    EXPECT_EQ(pending, 2U);

    // Without its log: that is written into the file, and a new one begun.
    fs::remove(at.path() + "-wal");
    why = co_await refusal_of_submit(*kept);
    EXPECT_NE(why, "");
    const bool is_back = co_await comes_back(*kept);
    EXPECT_TRUE(is_back);
    pending = co_await pending_in(*kept);
    EXPECT_EQ(pending, 3U);
    co_await kept->close();
    kept = nullptr;
    co_await inspect_sqlite(at.folder.path().string());
}

WEIR_IO_TEST(StoreFile, AFileThatWasDeletedIsNotWrittenTo) {
    const place at;
    const std::string backup = at.path() + ".backup";
    co_await make_backup(backup, 5);
    std::unique_ptr<store> kept = co_await open_quickly(at.path());
    std::string why = co_await refusal_of_submit(*kept);
    EXPECT_EQ(why, "");
    for (const char* const end : {"", "-wal", "-shm"}) {
        fs::remove(at.path() + end);
    }
    co_await expect_lost(*kept);
    EXPECT_FALSE(fs::exists(at.path()));  // nor is a new one made
    std::ofstream(at.path()).close();
    co_await expect_lost(*kept);
    std::ofstream(at.path()) << std::string(5000, 'x');
    co_await expect_lost(*kept);
    fs::remove(at.path());
    fs::copy_file(backup, at.path());
    const bool is_back = co_await comes_back(*kept);
    EXPECT_TRUE(is_back);
    const std::uint64_t pending = co_await pending_in(*kept);
    EXPECT_EQ(pending, 6U);
    co_await kept->close();
    kept = nullptr;
    co_await inspect_sqlite(at.folder.path().string());
}

// The log of the old file is still at the path, and must not be used for the new file.
WEIR_IO_TEST(StoreFile, ABackupMayBePutInTheOldOnesPlace) {
    const place at;
    const std::string backup = at.path() + ".backup";
    co_await make_backup(backup, 40);
    std::unique_ptr<store> kept = co_await open_quickly(at.path());
    for (int i = 0; i < 20; ++i) {
        const std::string why = co_await refusal_of_submit(*kept);
        EXPECT_EQ(why, "");
    }
    fs::rename(backup, at.path());
    const std::string why = co_await refusal_of_submit(*kept);
    EXPECT_NE(why, "");
    const bool is_back = co_await comes_back(*kept);
    EXPECT_TRUE(is_back);
    const std::uint64_t pending = co_await pending_in(*kept);
    EXPECT_EQ(pending, 41U);
    EXPECT_TRUE(fs::exists(at.path() + "-wal.replaced"));
    co_await kept->close();
    kept = nullptr;
    co_await inspect_sqlite(at.folder.path().string());
}

}  // namespace
