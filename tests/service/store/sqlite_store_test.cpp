// SPDX-License-Identifier: MIT
// Errors of the file: not a database of Weir, too new, locked, read-only, on a disk that is full or
// fails. Also several stores on one file, and calls that are stopped at any moment.

#include "db/sqlite/faulty_disk.hpp"
#include "stores.hpp"
#include <support/io.hpp>

#include <weir/cancel.hpp>
#include <weir/group.hpp>

#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <random>
#include <set>

namespace {

using namespace store_test;

struct place {
    weir_test::temporary_folder folder;
    std::string path() const { return (folder.path() / "tasks.db").string(); }
};

// Why it cannot be opened; empty if it can.
task<std::string> refusal(std::string path) {
    std::string why;
    try {
        std::unique_ptr<store> opened = co_await open_sqlite_store(path);
        co_await opened->close();
    } catch (const store_unavailable& error) {
        why = error.what();
    }
    co_return why;
}

task<std::string> refusal_of_submit(store& target) {
    std::string why;
    try {
        std::vector<new_task> one(1, bench::make());
        co_await target.submit(std::move(one), bench().now);
    } catch (const store_unavailable& error) {
        why = error.what();
    }
    co_return why;
}

WEIR_IO_TEST(SqliteStore, SaysWhatIsWrongWithAFile) {
    const place at;
    std::string why = co_await refusal(at.path());
    EXPECT_EQ(why, "");
    why = co_await refusal(at.path());  // again
    EXPECT_EQ(why, "");
    {
        weir::sqlite::database newer = co_await weir::sqlite::open(at.path());
        co_await newer.execute_alone("PRAGMA user_version = 99");
        co_await newer.close();
    }
    why = co_await refusal(at.path());
    EXPECT_NE(why.find("version 99"), std::string::npos) << why;
    EXPECT_NE(why.find(at.path()), std::string::npos) << why;

    const std::string text = (at.folder.path() / "text.db").string();
    std::ofstream(text) << std::string(5000, 'x');
    why = co_await refusal(text);
    EXPECT_NE(why.find("is not a SQLite database"), std::string::npos) << why;

    const std::string other = (at.folder.path() / "other.db").string();
    {
        weir::sqlite::database foreign = co_await weir::sqlite::open(other);
        co_await foreign.script("CREATE TABLE songs(title TEXT)");
        co_await foreign.close();
    }
    why = co_await refusal(other);
    EXPECT_NE(why.find("of another program"), std::string::npos) << why;

    why = co_await refusal((at.folder.path() / "nowhere" / "tasks.db").string());
    EXPECT_NE(why.find("cannot be opened"), std::string::npos) << why;
    why = co_await refusal(at.folder.path().string());
    EXPECT_NE(why, "");
    bool is_refused = false;
    try {
        sqlite_store_options none;
        none.cache_megabytes = 0;
        co_await open_sqlite_store(at.path(), none);
    } catch (const weir::invalid_argument&) {
        is_refused = true;
    }
    EXPECT_TRUE(is_refused);
}

WEIR_IO_TEST(SqliteStore, GoesOnWhenALockIsGone) {
    const place at;
    sqlite_store_options impatient;
    impatient.busy_timeout = 20ms;
    std::unique_ptr<store> kept = co_await open_sqlite_store(at.path(), impatient);
    std::string why = co_await refusal_of_submit(*kept);
    EXPECT_EQ(why, "");
    weir::sqlite::database other = co_await weir::sqlite::open(at.path());
    auto holds = [&](weir::sqlite::transaction& inside) -> task<> {
        co_await inside.execute("UPDATE meta SET value = value");
        why = co_await refusal_of_submit(*kept);
        EXPECT_NE(why.find("locked"), std::string::npos) << why;
        const std::vector<queue_record> readable = co_await kept->queues();
        EXPECT_EQ(readable.at(0).count(task_state::pending), 1U);
    };
    co_await other.transaction(holds);
    why = co_await refusal_of_submit(*kept);
    EXPECT_EQ(why, "");
    const std::vector<queue_record> queues = co_await kept->queues();
    EXPECT_EQ(queues.at(0).count(task_state::pending), 2U);
    co_await other.close();
    co_await kept->close();
    co_await inspect_sqlite(at.folder.path().string());
}

// Fills the disk with tasks of some size; then waits for room.
task<> fill_and_go_on(store& in, const std::string& expected, std::function<void()> make_room) {
    std::size_t count = 0;
    std::string why;
    for (int i = 0; i < 500 && why.empty(); ++i) {
        try {
            std::vector<new_task> one(1, new_task("work", "\"" + std::string(20'000, 'x') + "\""));
            co_await in.submit(std::move(one), bench().now);
            ++count;
        } catch (const store_unavailable& error) {
            why = error.what();
        }
    }
    EXPECT_NE(why.find(expected), std::string::npos) << why;
    const std::string again = co_await refusal_of_submit(in);
    static_cast<void>(again);  // a small one may still fit
    std::vector<queue_record> queues = co_await in.queues();
    const std::uint64_t before = queues.at(0).count(task_state::pending);
    EXPECT_EQ(before, count + (again.empty() ? 1 : 0));
    make_room();
    const std::string fits = co_await refusal_of_submit(in);
    EXPECT_EQ(fits, "");
    co_await in.probe({});
    queues = co_await in.queues();
    EXPECT_EQ(queues.at(0).count(task_state::pending), before + 1);
}

WEIR_IO_TEST(SqliteStore, GoesOnWhenADiskFailsNoMore) {
    const place at;
    std::unique_ptr<store> kept = co_await open_sqlite_store(at.path());
    // No file may grow beyond this: a write fails as on a broken disk.
    rlimit usual{};
    getrlimit(RLIMIT_FSIZE, &usual);
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    rlimit small = usual;
    small.rlim_cur = 1 << 20;
    setrlimit(RLIMIT_FSIZE, &small);
    const auto lift = [&] { setrlimit(RLIMIT_FSIZE, &usual); };
    try {
        co_await fill_and_go_on(*kept, "cannot be read or written", lift);
    } catch (...) {
        lift();
        throw;
    }
    std::signal(SIGXFSZ, before);
    co_await kept->close();
    co_await inspect_sqlite(at.folder.path().string());
}

struct mounted {
    explicit mounted(std::string at, const char* from, const char* kind, unsigned long flags,
                     const char* options)
        : folder(std::move(at)) {
        std::filesystem::create_directory(folder);
        is_there = ::mount(from, folder.c_str(), kind, flags, options) == 0;
    }
    mounted(const mounted&) = delete;
    mounted& operator=(const mounted&) = delete;
    ~mounted() {
        if (is_there) {
            ::umount2(folder.c_str(), MNT_DETACH);
        }
    }
    std::string folder;
    bool is_there = false;
};

WEIR_IO_TEST(SqliteStore, GoesOnWhenADiskHasRoomAgain) {
    const place at;
    const mounted small((at.folder.path() / "small").string(), "tmpfs", "tmpfs", 0, "size=2m");
    if (!small.is_there) {
        GTEST_LOG_(INFO) << "no file system can be mounted here: not tried";
        co_return;
    }
    std::unique_ptr<store> kept = co_await open_sqlite_store(small.folder + "/tasks.db");
    co_await fill_and_go_on(*kept, "the disk is full", [&] {
        EXPECT_EQ(::mount("tmpfs", small.folder.c_str(), "tmpfs", MS_REMOUNT, "size=20m"), 0);
    });
    co_await kept->close();
    kept = nullptr;
    co_await inspect_sqlite(small.folder);
}

WEIR_IO_TEST(SqliteStore, AReadOnlyFileIsRefusedAtOnce) {
    const place at;
    const std::string real = (at.folder.path() / "real").string();
    std::filesystem::create_directory(real);
    std::string why = co_await refusal(real + "/tasks.db");
    EXPECT_EQ(why, "");
    const mounted bound((at.folder.path() / "bound").string(), real.c_str(), nullptr, MS_BIND,
                        nullptr);
    if (!bound.is_there || ::mount(nullptr, bound.folder.c_str(), nullptr,
                                   MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
        GTEST_LOG_(INFO) << "nothing can be mounted here: not tried";
        co_return;
    }
    why = co_await refusal(bound.folder + "/tasks.db");
    EXPECT_NE(why.find(bound.folder), std::string::npos) << why;
    why = co_await refusal(real + "/tasks.db");
    EXPECT_EQ(why, "");
}

// The part of a claim that a machine crash may undo is the part that a rescue would undo.
WEIR_IO_TEST(SqliteStore, OnlyPromisesWaitForTheDisk) {
    sqlite_test::faulty_disk disk;
    const place at;
    std::unique_ptr<store> kept = co_await open_sqlite_store(at.path());
    const timestamp now = bench().now;
    int before = disk.syncs();
    const auto synced = [&] { return disk.syncs() - std::exchange(before, disk.syncs()) > 0; };
    const std::string why = co_await refusal_of_submit(*kept);
    EXPECT_EQ(why, "");
    EXPECT_TRUE(synced());
    co_await kept->heartbeat(bench::node("a", now + 1h), now);
    claim_request request;
    request.node = "a";
    request.now = now;
    const claimed claim = co_await kept->claim(request);
    WEIR_ASSERT_EQ(claim.tasks.size(), 1U);
    progress_note half;
    half.key = {claim.tasks[0].id, claim.tasks[0].run};
    half.progress = 0.5;
    std::vector<progress_note> notes(1, half);
    co_await kept->note_progress("a", std::move(notes), now);
    EXPECT_FALSE(synced());
    std::vector<settlement> ended(1, bench::ending(claim.tasks[0], task_state::completed));
    co_await kept->settle("a", std::move(ended), now);
    EXPECT_TRUE(synced());
    co_await kept->close();
    co_await inspect_sqlite(at.folder.path().string());
}

// Two stores on one file, as two processes have them: no task runs twice, and numbers are unique.
WEIR_IO_TEST(SqliteStore, SeveralMayShareAFile) {
    const place at;
    sqlite_store_options options;
    options.is_durable = false;
    std::unique_ptr<store> stores[2];
    for (auto& each : stores) {
        each = co_await open_sqlite_store(at.path(), options);
    }
    const timestamp now = bench().now;
    std::set<task_id> ids;
    std::set<task_id> run;
    auto works = [&](store& in, std::string node) -> task<> {
        co_await in.heartbeat(bench::node(node, now + 1h), now);
        for (int i = 0; i < 40; ++i) {
            std::vector<new_task> some(3, bench::make(std::to_string(i % 3)));
            const auto answers = co_await in.submit(std::move(some), now);
            for (const submit_result& each : answers) {
                EXPECT_TRUE(ids.insert(each.id).second);
            }
            claim_request request;
            request.node = node;
            request.now = now;
            request.limit = 3;
            const claimed claim = co_await in.claim(request);
            std::vector<settlement> ended;
            for (const task_record& each : claim.tasks) {
                EXPECT_TRUE(run.insert(each.id).second);
                ended.push_back(bench::ending(each, task_state::completed));
            }
            const auto written = co_await in.settle(node, std::move(ended), now);
            for (const bool each : written) {
                EXPECT_TRUE(each);
            }
        }
    };
    auto all = [&](weir::task_group& group) -> task<> {
        for (int i = 0; i < 4; ++i) {
            group.spawn(works(*stores[i % 2], "node " + std::to_string(i)));
        }
        co_return;
    };
    co_await weir::with_group(all);
    EXPECT_EQ(ids.size(), 480U);
    EXPECT_EQ(run, ids);
    for (auto& each : stores) {
        co_await each->close();
        each = nullptr;
    }
    co_await inspect_sqlite(at.folder.path().string());
}

// Submits wait for a step of a purge, so a step is small, whatever the tasks have with them: a
// payload of its own row, tags, attempts, a flow and a branch.
WEIR_IO_TEST(SqliteStore, AStepOfAPurgeIsSmall) {
    constexpr std::int64_t max_tasks = 50;
    constexpr std::int64_t rows_per_task = 8;  // one of each table, two attempts, two tags
    const place at;
    sqlite_store_options options;
    options.is_durable = false;
    std::unique_ptr<store> kept = co_await open_sqlite_store(at.path(), options);
    timestamp now = bench().now;
    co_await kept->heartbeat(bench::node("a", now + 24h), now);
    std::vector<new_task> all;
    for (int i = 0; i < 700; ++i) {
        const std::string name = std::to_string(i);
        new_task& each = all.emplace_back(bench::make_for("host" + name, "key" + name));
        each.tags = {"tag" + name, "all"};
        each.payload = '"' + std::string(20'000, 'x') + '"';
    }
    co_await kept->submit(std::move(all), now);
    for (const task_state state : {task_state::pending, task_state::failed}) {
        claim_request request;
        request.node = "a";
        request.now = now;
        request.limit = 1000;
        const claimed claim = co_await kept->claim(request);
        EXPECT_EQ(claim.tasks.size(), 700U);
        std::vector<settlement> ended;
        for (const task_record& each : claim.tasks) {
            ended.push_back(bench::ending(each, state));
            ended.back().due_at = now;
            ended.back().attempt = attempt_end::failed;
        }
        co_await kept->settle("a", std::move(ended), now);
    }
    weir::sqlite::database watcher = co_await weir::sqlite::open(at.path());
    const char* const count =
        "SELECT (SELECT count(*) FROM tasks), (SELECT count(*) FROM tasks) + (SELECT count(*) FROM "
        "payloads) + (SELECT count(*) FROM tags) + (SELECT count(*) FROM attempts) + (SELECT "
        "count(*) FROM flows) + (SELECT count(*) FROM branches) + (SELECT count(*) FROM "
        "destinations)";
    now += 24h * 365;
    std::int64_t tasks = 700;
    for (int step = 0; step < 40 && tasks > 0; ++step) {
        const weir::sqlite::rows before = co_await watcher.query(count);
        const std::size_t removed = co_await kept->purge({}, now);
        const weir::sqlite::rows after = co_await watcher.query(count);
        tasks = after[0].get<std::int64_t>(0);
        EXPECT_EQ(before[0].get<std::int64_t>(0) - tasks, static_cast<std::int64_t>(removed));
        EXPECT_LE(static_cast<std::int64_t>(removed), max_tasks);
        EXPECT_LE(before[0].get<std::int64_t>(1) - after[0].get<std::int64_t>(1),
                  max_tasks * rows_per_task + 3 * max_tasks);
    }
    EXPECT_EQ(tasks, 0);
    co_await watcher.close();
    co_await kept->close();
}

// Calls that are stopped at any moment are done, or not; the books are right in both cases.
WEIR_IO_TEST(SqliteStore, StopsAtAnyMomentDoNoHarm) {
    const place at;
    sqlite_store_options options;
    options.is_durable = false;
    std::unique_ptr<store> kept = co_await open_sqlite_store(at.path(), options);
    std::mt19937 random(3);
    const timestamp now = bench().now;
    co_await kept->heartbeat(bench::node("a", now + 1h), now);
    auto works = [&]() -> task<> {
        std::vector<new_task> some(5, bench::make(std::to_string(random() % 5)));
        co_await kept->submit(std::move(some), now);
        claim_request request;
        request.node = "a";
        request.now = now;
        request.limit = 4;
        const claimed claim = co_await kept->claim(request);
        std::vector<settlement> ended;
        for (const task_record& each : claim.tasks) {
            ended.push_back(bench::ending(
                each, random() % 2 == 0 ? task_state::completed : task_state::failed));
        }
        co_await kept->settle("a", std::move(ended), now);
        task_filter filter;
        co_await kept->redrive(filter, now);
        co_await kept->purge({0s, 0s, 0s}, now);
    };
    auto impatient = [&]() -> task<> {
        for (int i = 0; i < 20; ++i) {
            weir::cancel_scope limit(std::chrono::microseconds(random() % 5000));
            co_await limit.run(works());
        }
    };
    auto all = [&](weir::task_group& group) -> task<> {
        for (int i = 0; i < 8; ++i) {
            group.spawn(impatient());
        }
        co_return;
    };
    co_await weir::with_group(all);
    // The runs of a claim without an answer are still known.
    const std::vector<run_key> running = co_await kept->running_on("a");
    const std::vector<queue_record> queues = co_await kept->queues();
    EXPECT_EQ(running.size(), queues.at(0).count(task_state::running));
    co_await kept->close();
    co_await inspect_sqlite(at.folder.path().string());
}

}  // namespace
