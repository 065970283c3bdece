// SPDX-License-Identifier: MIT
// What a database of SQLite promises.

#include "support.hpp"

namespace {

using namespace std::chrono_literals;
using namespace sqlite_test;
using weir::task;

WEIR_IO_TEST(Database, TransactionsAreAllOrNothing) {
    const place at;
    sqlite::database database = co_await open_with_table(at);
    auto commits = [](sqlite::transaction& inside) -> task<std::int64_t> {
        co_await inside.execute("INSERT INTO notes VALUES (1, 'a')");
        const sqlite::changed last = co_await inside.execute("INSERT INTO notes VALUES (2, 'b')");
        const sqlite::rows seen = co_await inside.query("SELECT count(*) FROM notes");
        EXPECT_EQ(seen.one<int>(), 2);
        co_return last.last_id;
    };
    const sqlite::database_stats before = database.stats();
    const std::int64_t result = co_await database.transaction(commits);
    EXPECT_EQ(result, 2);
    EXPECT_EQ(database.stats().writes - before.writes, 3U);
    EXPECT_EQ(database.stats().commits - before.commits, 1U);
    EXPECT_EQ(database.stats().reads, before.reads);
    auto throws = [](sqlite::transaction& inside) -> task<> {
        co_await inside.execute("INSERT INTO notes VALUES (3, 'c')");
        throw std::runtime_error("no");
    };
    const auto failed = co_await weir::settle(database.transaction(throws));
    EXPECT_TRUE(failed.has_error());
    EXPECT_EQ(database.stats().writes - before.writes, 3U);
    weir::event inserted;
    auto hangs = [&](sqlite::transaction& inside) -> task<> {
        co_await inside.execute("INSERT INTO notes VALUES (4, 'd')");
        inserted.set();
        co_await weir::sleep_forever();
    };
    auto running = weir::spawn(database.transaction(hangs));
    co_await inserted.wait();
    // Others wait meanwhile; readers do not.
    auto waits = weir::spawn([](sqlite::database& on) -> task<> {
        co_await on.execute("INSERT INTO notes VALUES (5, 'e')");
    }(database));
    const std::int64_t during = co_await count_notes(database);
    EXPECT_EQ(during, 2);
    EXPECT_FALSE(waits.done());
    running.cancel();
    (void)co_await weir::settle(running.wait());
    co_await waits;
    const sqlite::rows left = co_await database.query("SELECT number FROM notes ORDER BY number");
    EXPECT_EQ(left.as<int>(), (std::vector<int>{1, 2, 5}));
    // An error of one statement is the caller's to judge; SQLite undoes only that.
    auto continues = [](sqlite::transaction& inside) -> task<> {
        co_await inside.execute("INSERT INTO notes VALUES (6, 'f')");
        const auto twice =
            co_await weir::settle(inside.execute("INSERT INTO notes VALUES (1, 'x')"));
        EXPECT_TRUE(twice.has_error());
    };
    co_await database.transaction(continues);
    const std::int64_t all = co_await count_notes(database);
    EXPECT_EQ(all, 4);
}

WEIR_IO_TEST(Database, ExtremeOptionsAndTwoWhoClose) {
    const place at;
    constexpr auto most = std::numeric_limits<std::size_t>::max();
    sqlite::database database = co_await open_with_table(
        at, {.busy_timeout = weir::clock::duration::max(), .max_batch = most, .max_queue = most});
    co_await database.execute("INSERT INTO notes VALUES (1, 'x')");
    const std::int64_t one = co_await count_notes(database);
    EXPECT_EQ(one, 1);
    auto both = [&](weir::task_group& group) -> weir::task<> {
        group.spawn(database.close());
        group.spawn(database.close());
        co_return;
    };
    co_await weir::with_group(both);
}

WEIR_IO_TEST(Database, InMemoryThereIsOneConnection) {
    sqlite::database database = co_await sqlite::open(":memory:");
    co_await database.script("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)");
    const sqlite::rows found = co_await database.query("SELECT sum(a) FROM t");
    EXPECT_EQ(found.one<int>(), 3);
}

}  // namespace
