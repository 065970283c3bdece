// SPDX-License-Identifier: MIT
// What is outside goes wrong: the disk is full or broken, other processes hold the lock, the file
// is deleted, replaced, damaged or not to be written. Calls fail with words that say so, their
// neighbours do not, and the database continues when the cause is gone.

#include "faulty_disk.hpp"
#include "support.hpp"

#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>
#include <set>

namespace {

using namespace std::chrono_literals;
using namespace sqlite_test;
using weir::task;

// Nothing, where it has not failed.
std::optional<sqlite::error> error_of(const std::exception_ptr& failure) {
    if (failure != nullptr) {
        try {
            std::rethrow_exception(failure);
        } catch (const sqlite::error& error) {
            return error;
        }
    }
    return {};
}

// Inserts notes at once, of ever larger texts, and keeps a model of the stored notes.
class writers {
public:
    explicit writers(sqlite::database& on) : on_(on) {}

    task<> insert(int count, std::size_t text_size) {
        auto one = [&](int number) -> task<> {
            const std::string text(text_size, 'x');
            const auto ended =
                co_await weir::settle(on_.execute("INSERT INTO notes VALUES (?, ?)", number, text));
            ended.has_error() ? failures_.push_back(ended.error()) : note(number);
        };
        auto all = [&](weir::task_group& group) -> task<> {
            for (int i = 0; i < count; ++i) {
                group.spawn(one(next_++));
            }
            co_return;
        };
        co_await weir::with_group(all);
    }
    task<> check() {
        const sqlite::rows found = co_await on_.query("SELECT number FROM notes ORDER BY number");
        const std::vector<int> numbers = found.as<int>();
        EXPECT_EQ(numbers, std::vector<int>(done_.begin(), done_.end()));
    }
    const std::vector<std::exception_ptr>& failures() const { return failures_; }
    std::size_t done() const { return done_.size(); }

private:
    void note(int number) { done_.insert(number); }

    sqlite::database& on_;
    int next_ = 0;
    std::set<int> done_;
    std::vector<std::exception_ptr> failures_;
};

// Each write to the disk fails once, in a run of its own: full, then broken.
WEIR_IO_TEST(SqliteFaults, AnyWriteToTheDiskMayFail) {
    faulty_disk disk;
    for (const int code : {SQLITE_FULL, SQLITE_IOERR_WRITE}) {
        bool has_failed = true;
        int which = 0;
        for (; has_failed; ++which) {
            const place at;
            disk.fail(which, code);
            auto opened = co_await weir::settle(open_with_table(at, {.readers = 1}));
            if (opened.has_error()) {
                const auto error = error_of(opened.error());
                WEIR_ASSERT_TRUE(error.has_value());
                EXPECT_EQ(error->primary_code(), code & 0xff) << error->what();
                opened = co_await weir::settle(open_with_table(at, {.readers = 1}));
                WEIR_ASSERT_FALSE(opened.has_error());
            }
            sqlite::database database = std::move(opened).value();
            writers all(database);
            co_await all.insert(1, 10);
            co_await all.insert(5, 3000);
            for (const std::exception_ptr& each : all.failures()) {
                const auto error = error_of(each);
                WEIR_ASSERT_TRUE(error.has_value());
                EXPECT_EQ(error->primary_code(), code & 0xff) << error->what();
            }
            // The fault was brief: at most one call had no other calls to be retried with.
            EXPECT_LE(all.failures().size(), 1U);
            has_failed = disk.has_failed();
            disk.fail(-1, SQLITE_OK);
            co_await all.check();
            co_await all.insert(3, 10);
            co_await all.check();
            EXPECT_GE(all.done(), 8U);
            co_await database.close();
            // The file as another process opens it.
            database = co_await open_with_table(at, {.readers = 1});
            const std::int64_t found = co_await count_notes(database);
            EXPECT_EQ(found, static_cast<std::int64_t>(all.done()));
        }
        EXPECT_GT(which, 10);
    }
}

task<> fill_and_free(const std::string& path, std::function<void()> frees, int code) {
    sqlite::database database = co_await sqlite::open(path, {.readers = 1});
    co_await database.script("CREATE TABLE notes(number INTEGER PRIMARY KEY, text TEXT)");
    writers all(database);
    for (int i = 0; i < 100 && all.failures().empty(); ++i) {
        co_await all.insert(5, 40'000);
    }
    WEIR_ASSERT_FALSE(all.failures().empty());
    EXPECT_GT(all.done(), 0U);
    for (const std::exception_ptr& each : all.failures()) {
        const auto error = error_of(each);
        WEIR_ASSERT_TRUE(error.has_value());
        EXPECT_EQ(error->primary_code(), code) << error->what();
        EXPECT_NE(error->advice(), weir::db::retry_advice::no);
    }
    // The earlier rows can be read, and there are no others.
    co_await all.check();
    frees();
    const std::size_t before = all.failures().size();
    co_await all.insert(20, 40'000);
    EXPECT_EQ(all.failures().size(), before);
    co_await all.check();
    co_await database.close();
}

// Files may grow to one MiB, for as long as it lives.
class small_files {
public:
    small_files() {
        getrlimit(RLIMIT_FSIZE, &before_);
        former_ = std::signal(SIGXFSZ, SIG_IGN);
        rlimit small = before_;
        small.rlim_cur = 1 << 20;
        setrlimit(RLIMIT_FSIZE, &small);
    }
    small_files(const small_files&) = delete;
    small_files& operator=(const small_files&) = delete;
    ~small_files() { free(); }
    void free() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, former_);
    }

private:
    rlimit before_{};
    void (*former_)(int) = nullptr;
};

WEIR_IO_TEST(SqliteFaults, AFileThatMayNotGrow) {
    const place at;
    small_files limit;
    co_await fill_and_free(at.path(), [&] { limit.free(); }, SQLITE_IOERR);
}

// A file system of 3 MiB, of which a file holds one; where mounting is not permitted,
// max_page_count limits SQLite instead.
//
WEIR_IO_TEST(SqliteFaults, AFullDisk) {
    const place at;
    const std::string small = (at.folder / "small").string();
    std::filesystem::create_directory(small);
    if (::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=3m") == 0) {
        struct unmounted {
            const std::string& folder;
            ~unmounted() { ::umount2(folder.c_str(), MNT_DETACH); }
        };
        const unmounted at_the_end{small};
        at.folder.write("small/ballast", std::string(1 << 20, 'x'));
        co_await fill_and_free(
            small + "/full.db", [&] { std::filesystem::remove(small + "/ballast"); }, SQLITE_FULL);
        co_return;
    }
    sqlite::database database = co_await open_with_table(at);
    co_await database.execute_alone("PRAGMA max_page_count = 200");
    writers all(database);
    co_await all.insert(40, 40'000);
    EXPECT_FALSE(all.failures().empty());
    co_await all.check();
    co_await database.execute_alone("PRAGMA max_page_count = 2000");
    const std::size_t before = all.failures().size();
    co_await all.insert(20, 40'000);
    EXPECT_EQ(all.failures().size(), before);
    co_await all.check();
}

// Another process that does something to a database and then keeps it, until it is killed.
class holder {
public:
    holder(const place& at, const std::string& statements)
        : program_(folder_, {"/usr/bin/python3", "-c",
                             "import sqlite3, sys, time\n"
                             "on = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
                             "for each in sys.argv[2].split(';'): on.execute(each)\n"
                             "print('has it', flush=True)\n"
                             "time.sleep(1000)\n",
                             at.path(), statements}) {
        program_.wait_until([&] { return program_.out() == "has it\n"; });
    }
    void kill() { program_.stop(); }

private:
    weir_test::temporary_folder folder_;
    weir_test::running_program program_;
};

WEIR_IO_TEST(SqliteFaults, ALockOfAnotherProcessIsWaitedForByThoseWhoWant) {
    weir_test::need("/usr/bin/python3", "python3");
    const place at;
    sqlite::database database = co_await open_with_table(at, {.busy_timeout = 1h});
    holder other(at, "BEGIN IMMEDIATE;INSERT INTO notes VALUES (100, 'theirs')");
    std::vector<weir::handle<void>> inserts;
    int begun = 0;
    auto insert = [&](int number) -> task<> {
        ++begun;
        co_await database.execute("INSERT INTO notes VALUES (?, 'ours')", number);
    };
    for (int i = 0; i < 4; ++i) {
        inserts.push_back(weir::spawn(insert(i)));
        while (begun <= i || (i == 0 && database.stats().queued > 0)) {
            co_await weir::sleep(1ms);
        }
    }
    const auto stopped = [&](std::size_t which) -> task<> {
        inserts[which].cancel();
        co_await inserts[which].wait();
        EXPECT_TRUE(inserts[which].cancelled());
    };
    // The first waits alone, the others behind it, and then together.
    co_await stopped(0);
    while (database.stats().queued > 0) {
        co_await weir::sleep(1ms);
    }
    co_await stopped(2);
    EXPECT_FALSE(inserts[1].done());
    const std::int64_t readable = co_await count_notes(database);
    EXPECT_EQ(readable, 0);
    other.kill();
    co_await inserts[1];
    co_await inserts[3];
    const sqlite::rows found = co_await database.query("SELECT number FROM notes ORDER BY number");
    EXPECT_EQ(found.as<int>(), (std::vector<int>{1, 3}));
    // All stopped: no call is left, and the writer continues.
    holder again(at, "BEGIN IMMEDIATE");
    std::vector<weir::handle<void>> all;
    for (int i = 0; i < 3; ++i) {
        all.push_back(weir::spawn([](sqlite::database& on) -> task<> {
            co_await on.execute("INSERT INTO notes VALUES (4, 'ours')");
        }(database)));
    }
    co_await weir::sleep(5ms);
    for (auto& each : all) {
        each.cancel();
        co_await each.wait();
    }
    again.kill();
    co_await database.execute("INSERT INTO notes VALUES (4, 'ours')");
}

WEIR_IO_TEST(SqliteFaults, ADatabaseThatAnotherHasForItselfCannotBeOpened) {
    weir_test::need("/usr/bin/python3", "python3");
    const place at;
    {
        sqlite::database database = co_await open_with_table(at);
        co_await database.close();
    }
    holder other(at, "PRAGMA locking_mode=EXCLUSIVE;BEGIN EXCLUSIVE");
    const auto busy = co_await weir::settle(sqlite::open(at.path(), {.busy_timeout = 20ms}));
    WEIR_ASSERT_TRUE(busy.has_error());
    const auto error = error_of(busy.error());
    WEIR_ASSERT_TRUE(error.has_value());
    EXPECT_TRUE(error->is_busy()) << error->what();
    EXPECT_NE(std::string(error->what()).find(at.path()), std::string::npos) << error->what();
    weir::cancel_scope soon(20ms);
    const auto stopped = co_await soon.run(sqlite::open(at.path(), {.busy_timeout = 1h}));
    EXPECT_FALSE(stopped.has_value());
    other.kill();
    sqlite::database database = co_await open_with_table(at);
    co_await database.execute("INSERT INTO notes VALUES (1, 'x')");
}

// Its journal is to be changed while another process writes, as when several start at once on a new
// file: SQLite fails there without calling the busy handler.
WEIR_IO_TEST(SqliteFaults, ANewFileThatAnotherWritesIsWaitedFor) {
    weir_test::need("/usr/bin/python3", "python3");
    const place at;
    holder other(at, "CREATE TABLE theirs (number);BEGIN IMMEDIATE;INSERT INTO theirs VALUES (1)");
    weir::handle<sqlite::database> opening =
        weir::spawn(sqlite::open(at.path(), {.busy_timeout = 1h}));
    co_await weir::sleep(20ms);
    EXPECT_FALSE(opening.done());
    other.kill();
    sqlite::database database = co_await std::move(opening);
    const std::int64_t left =
        (co_await database.query("SELECT count(*) FROM theirs")).one<std::int64_t>();
    EXPECT_EQ(left, 0);
}

WEIR_IO_TEST(SqliteFaults, AFileThatIsGoneIsNotWrittenTo) {
    const place at;
    sqlite::database database = co_await open_with_table(at);
    co_await database.execute("INSERT INTO notes VALUES (1, 'x')");
    const auto refused = [&]() -> task<> {
        const auto written =
            co_await weir::settle(database.execute("INSERT INTO notes VALUES (2, 'x')"));
        const auto read = co_await weir::settle(database.query("SELECT * FROM notes"));
        auto nothing = [](sqlite::transaction&) -> task<> { co_return; };
        const auto begun = co_await weir::settle(database.transaction(nothing));
        for (const auto& each : {written.error(), read.error(), begun.error()}) {
            const auto error = error_of(each);
            WEIR_ASSERT_TRUE(error.has_value());
            EXPECT_EQ(error->code(), SQLITE_READONLY_DBMOVED);
            EXPECT_NE(std::string(error->what()).find("deleted, moved or replaced"),
                      std::string::npos);
        }
    };
    const std::string elsewhere = at.path() + ".away";
    std::filesystem::rename(at.path(), elsewhere);
    co_await refused();
    at.folder.write("test.db", "");
    co_await refused();
    std::filesystem::rename(elsewhere, at.path());
    co_await database.execute("INSERT INTO notes VALUES (2, 'x')");
    const std::int64_t both = co_await count_notes(database);
    EXPECT_EQ(both, 2);
    // Also if the file was moved during a write: the write succeeds, but in a file that may be
    // lost.
    auto loses = [&](sqlite::session& on) {
        on.execute("INSERT INTO notes VALUES (3, 'x')");
        std::filesystem::rename(at.path(), elsewhere);
    };
    const auto lost = co_await weir::settle(database.write(loses));
    const auto error = error_of(lost.error());
    WEIR_ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code(), SQLITE_READONLY_DBMOVED);
    std::filesystem::rename(elsewhere, at.path());
    const std::int64_t three = co_await count_notes(database);
    EXPECT_EQ(three, 3);
    for (const char* const end : {"", "-wal", "-shm"}) {
        std::filesystem::remove(at.path() + end);
    }
    co_await refused();
    sqlite::database fresh = co_await open_with_table(at);
    const std::int64_t none = co_await count_notes(fresh);
    EXPECT_EQ(none, 0);
}

// SQLite would continue with it, and only a clean end would bring what it has into the file.
WEIR_IO_TEST(SqliteFaults, ALogThatIsGoneIsNotWrittenTo) {
    const place at;
    {
        sqlite::database database = co_await open_with_table(at);
        co_await database.execute("INSERT INTO notes VALUES (1, 'x')");
        std::filesystem::remove(at.path() + "-wal");
        const auto written =
            co_await weir::settle(database.execute("INSERT INTO notes VALUES (2, 'x')"));
        const auto read = co_await weir::settle(database.query("SELECT * FROM notes"));
        for (const auto& each : {written.error(), read.error()}) {
            const auto error = error_of(each);
            WEIR_ASSERT_TRUE(error.has_value());
            EXPECT_EQ(error->code(), SQLITE_READONLY_DBMOVED);
            EXPECT_NE(std::string(error->what()).find("-wal was deleted"), std::string::npos);
        }
        co_await database.close();
    }
    sqlite::database again = co_await open_with_table(at);
    co_await again.execute("INSERT INTO notes VALUES (2, 'x')");
    const std::int64_t both = co_await count_notes(again);
    EXPECT_EQ(both, 2);
    // A database without a write-ahead log is not affected.
    const place other;
    sqlite::database plain = co_await open_with_table(other, {.readers = 0});
    co_await plain.execute_alone("PRAGMA journal_mode = DELETE");
    EXPECT_FALSE(std::filesystem::exists(other.path() + "-wal"));
    co_await plain.execute("INSERT INTO notes VALUES (1, 'x')");
    const std::int64_t one = co_await count_notes(plain);
    EXPECT_EQ(one, 1);
}

WEIR_IO_TEST(SqliteFaults, SomeWritesDoNotWaitForTheDisk) {
    faulty_disk disk;
    const place at;
    sqlite::database database = co_await open_with_table(at);
    const auto inserting = [](int number) {
        return [number](sqlite::session& on) {
            on.execute("INSERT INTO notes VALUES (?, 'x')", number);
        };
    };
    const auto unsynced = inserting(1);
    const auto synced = inserting(2);
    const auto fails = inserting(3);
    const auto after = inserting(4);
    int before = disk.syncs();
    co_await database.write_unsynced(unsynced);
    EXPECT_EQ(disk.syncs(), before);
    co_await database.write(synced);
    EXPECT_GT(disk.syncs(), before);
    // Together with others it waits as they do.
    before = disk.syncs();
    const auto writing = [&](int number) -> task<> {
        const auto writes = inserting(number);
        if (number % 2 == 0) {
            co_await database.write(writes);
        } else {
            co_await database.write_unsynced(writes);
        }
    };
    auto all = [&](weir::task_group& group) -> task<> {
        for (int i = 10; i < 20; ++i) {
            group.spawn(writing(i));
        }
        co_return;
    };
    co_await weir::with_group(all);
    EXPECT_GT(disk.syncs(), before);
    const std::int64_t many = co_await count_notes(database);
    EXPECT_EQ(many, 12);
    auto nothing = [](sqlite::transaction& inside) -> task<> {
        co_await inside.execute("INSERT INTO notes VALUES (30, 'x')");
    };
    const auto once_more = inserting(31);
    co_await database.write_unsynced(once_more);
    before = disk.syncs();
    co_await database.transaction(nothing);
    EXPECT_GT(disk.syncs(), before);

    // A sync that fails may have lost what was not synced before: it is brought into the file from
    // memory, and nothing follows it in the log.
    disk.fail_sync();
    const auto failed = co_await weir::settle(database.write(fails));
    const auto error = error_of(failed.error());
    WEIR_ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code(), SQLITE_IOERR_FSYNC);
    co_await database.write(after);
    const place copied;
    std::filesystem::copy_file(at.path(), copied.path());
    sqlite::database file_alone = co_await sqlite::open(copied.path());
    const std::int64_t kept = co_await count_notes(file_alone);
    EXPECT_EQ(kept, 14);
    const std::int64_t now = co_await count_notes(database);
    EXPECT_EQ(now, 15);
}

WEIR_IO_TEST(SqliteFaults, DamageIsReportedWhereItIs) {
    const place at;
    {
        sqlite::database database = co_await open_with_table(at);
        co_await database.script("CREATE TABLE healthy(number INTEGER PRIMARY KEY)");
        co_await database.execute("INSERT INTO notes VALUES (1, ?)", std::string(50'000, 'x'));
        co_await database.close();
    }
    const std::string whole = at.folder.read("test.db");
    WEIR_ASSERT_GT(whole.size(), 40'000U);
    std::string damaged = whole;
    // The first page says where tables begin; notes begin in the second.
    damaged.replace(4096, 4096, std::string(4096, '\x55'));
    at.folder.write("test.db", damaged);
    {
        sqlite::database database = co_await sqlite::open(at.path());
        auto broken = [&]() -> task<> {
            const auto ended =
                co_await weir::settle(database.execute("INSERT INTO notes VALUES (2, 'x')"));
            const auto error = error_of(ended.error());
            WEIR_ASSERT_TRUE(error.has_value());
            EXPECT_EQ(error->primary_code(), SQLITE_CORRUPT) << error->what();
            EXPECT_EQ(error->advice(), weir::db::retry_advice::no);
        };
        auto sound = [&](int number) -> task<> {
            co_await database.execute("INSERT INTO healthy VALUES (?)", number);
        };
        auto both = [&](weir::task_group& group) -> task<> {
            for (int i = 0; i < 20; ++i) {
                group.spawn(sound(i));
                group.spawn(broken());
            }
            co_return;
        };
        co_await weir::with_group(both);
        const sqlite::rows found = co_await database.query("SELECT count(*) FROM healthy");
        EXPECT_EQ(found.one<int>(), 20);
        const auto read = co_await weir::settle(database.query("SELECT * FROM notes"));
        EXPECT_TRUE(read.has_error());
        co_await database.close();
    }
    at.folder.write("test.db", whole);
    sqlite::database database = co_await sqlite::open(at.path());
    const std::int64_t one = co_await count_notes(database);
    EXPECT_EQ(one, 1);
}

WEIR_IO_TEST(SqliteFaults, AFileThatMayOnlyBeRead) {
    const place at;
    faulty_disk disk;
    sqlite::database keeps_it_open = co_await open_with_table(at);
    disk.refuse_writing(true);
    sqlite::database database = co_await sqlite::open(at.path());
    disk.refuse_writing(false);
    const auto written =
        co_await weir::settle(database.execute("INSERT INTO notes VALUES (1, 'x')"));
    const auto error = error_of(written.error());
    WEIR_ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->primary_code(), SQLITE_READONLY) << error->what();
    const std::int64_t none = co_await count_notes(database);
    EXPECT_EQ(none, 0);
}

// It would wait for its own end.
WEIR_IO_TEST(SqliteFaults, ADatabaseInsideItsOwnTransactionIsAnError) {
    const place at;
    const place elsewhere;
    sqlite::database database = co_await open_with_table(at);
    sqlite::database second = co_await open_with_table(elsewhere);
    sqlite::database memory = co_await sqlite::open(":memory:");
    const auto is_told = [](const std::exception_ptr& failure) {
        try {
            std::rethrow_exception(failure);
        } catch (const weir::invalid_state& error) {
            return std::string(error.what()).find("use the transaction") != std::string::npos;
        }
        return false;
    };
    auto write = [](sqlite::session& on) { on.execute("DELETE FROM notes"); };
    auto nothing = [](sqlite::transaction&) -> task<> { co_return; };
    auto tries_all = [&]() -> task<> {
        const auto one =
            co_await weir::settle(database.execute("INSERT INTO notes VALUES (1, 'x')"));
        const auto two = co_await weir::settle(database.write(write));
        const auto three = co_await weir::settle(database.transaction(nothing));
        const auto four = co_await weir::settle(database.execute_alone("VACUUM"));
        const auto five = co_await weir::settle(database.close());
        for (const auto& each :
             {one.error(), two.error(), three.error(), four.error(), five.error()}) {
            WEIR_ASSERT_TRUE(each != nullptr);
            EXPECT_TRUE(is_told(each));
        }
    };
    weir::event end;
    std::optional<weir::handle<void>> later;
    auto body = [&](sqlite::transaction& inside) -> task<> {
        co_await inside.execute("INSERT INTO notes VALUES (2, 'x')");
        co_await tries_all();
        auto child = [&](weir::task_group& group) -> task<> {
            group.spawn(tries_all());
            co_return;
        };
        co_await weir::with_group(child);
        const std::int64_t seen = co_await count_notes(database);  // readers do not wait
        EXPECT_EQ(seen, 0);
        auto others = [&](sqlite::transaction& there) -> task<> {
            co_await there.execute("INSERT INTO notes VALUES (2, 'x')");
            co_await tries_all();
            co_await inside.execute("INSERT INTO notes VALUES (3, 'x')");
        };
        co_await second.transaction(others);
        later = weir::spawn([&]() -> task<> {
            co_await end.wait();
            co_await database.execute("INSERT INTO notes VALUES (4, 'x')");
        });
    };
    co_await database.transaction(body);
    co_await database.execute("INSERT INTO notes VALUES (5, 'x')");
    end.set();
    co_await *later;
    const sqlite::rows found = co_await database.query("SELECT number FROM notes ORDER BY number");
    EXPECT_EQ(found.as<int>(), (std::vector<int>{2, 3, 4, 5}));
    // One connection does all there: even a query waits.
    auto reads = [&](sqlite::transaction&) -> task<> {
        const auto ended = co_await weir::settle(memory.query("SELECT 1"));
        WEIR_ASSERT_TRUE(ended.has_error());
        EXPECT_TRUE(is_told(ended.error()));
    };
    co_await memory.transaction(reads);
}

}  // namespace
